/** Every place in the repository that states the version of Lotse. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A pattern matches the version alone, without a leading `v`. */
const PLACES: Readonly<Record<string, RegExp>> = {
  "package.json": /(?<=^ {2}"version": ")[^"]+/gm,
  "package-lock.json": /(?<=^ {2}"version": "|^ {6}"name": "lotse",\n {6}"version": ")[^"]+/gm,
  "controller/deploy/chart/Chart.yaml": /(?<=^(?:v|appV)ersion: |image: \S+:v)\S+/gm,
  "controller/deploy/manifests/lotse.yaml": /(?<=image: \S+:v|\/version: ")[^"\s]+/g,
  "controller/deploy/manifests/lotse-networks.yaml": /(?<=image: \S+:v|\/version: ")[^"\s]+/g,
  "docs/how-to/command-line.md": /(?<=lotse-)\d[\w.-]*(?=\.tgz)/g,
  "docs/how-to/operations.md": /(?<=image\.tag=v)\d[\w.-]*(?=@)/g,
  "docs/how-to/verify.md": /(?<=TAG=v|image\.tag=v|lotse[-:])\d[\w.-]*?(?=\n|@|\.tgz|\))/g,
  "README.md": /(?<=\$IMAGE:v|LOTSE_VERSION=v)\d[\w.-]*/g,
};

/** The versions stated in each file below `root`. */
export function statedVersions(root: string): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    Object.entries(PLACES).map(([file, pattern]) => [
      file,
      readFileSync(join(root, file), "utf8").match(pattern) ?? [],
    ]),
  );
}

/** Writes the version to all places. Returns the files. */
export function stateVersion(root: string, version: string): readonly string[] {
  for (const [file, pattern] of Object.entries(PLACES)) {
    const path = join(root, file);
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(pattern, version));
  }
  return Object.keys(PLACES);
}
