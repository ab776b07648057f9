/** Reads Services and Nodes from manifests: files, folders, glob patterns and standard input. */
import { globSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { parseAllDocuments, type Tags, YAMLParseError } from "yaml";
import { ConfigError, messageOf } from "../../diagnostics/errors.ts";
import type { Refusal } from "../../render/refusals.ts";
import { loadValidator, type ManifestObject, type Validator, withoutNulls } from "./validation.ts";

/** Objects found in manifests. */
export interface Manifests {
  readonly services: readonly V1Service[];
  readonly nodes: readonly V1Node[];
  /** Files that cannot be parsed, and objects that the API server would reject. */
  readonly refused: readonly Refusal[];
}

/** Standard input, as in kubectl. */
const STDIN = "-";

/**
 * Reads files, glob patterns, all `.yaml`, `.yml` and `.json` files below folders, and standard input (`-`). An invalid
 * file or object is refused and does not affect the others. Throws a ConfigError when a path does not exist.
 */
export async function readManifests(paths: readonly string[]): Promise<Manifests> {
  const files = filesIn(paths);
  const validate = await loadValidator();
  const read = await Promise.all(files.map((file) => readManifest(file, validate)));
  const objects = read.flatMap((manifest) => manifest.objects);
  return {
    services: objects.filter(isKind<V1Service>("Service")),
    nodes: objects.filter(isKind<V1Node>("Node")),
    refused: read.flatMap(({ refused }) => refused),
  };
}

interface Checked {
  readonly objects: readonly ManifestObject[];
  readonly refused: readonly Refusal[];
}

async function readManifest(path: string, validate: Validator): Promise<Checked> {
  const file = path === STDIN ? "standard input" : path;
  try {
    return checkManifest(file, await (path === STDIN ? text(process.stdin) : readFile(path, "utf8")), validate);
  } catch (error) {
    return { objects: [], refused: [{ object: file, mistakes: [messageOf(error)] }] };
  }
}

/** The valid Services and Nodes of one file, and what is wrong with the others. Objects of other kinds are ignored. */
export function checkManifest(file: string, content: string, validate: Validator): Checked {
  try {
    const found = parseManifests(content).filter((object) => isKind("Service")(object) || isKind("Node")(object));
    const checked = found.map((object) => ({ object, mistakes: validate(object) }));
    return {
      objects: checked.filter(({ mistakes }) => mistakes.length === 0).map(({ object }) => withoutNulls(object)),
      refused: checked
        .filter(({ mistakes }) => mistakes.length > 0)
        .map(({ object, mistakes }) => ({ object: `${file}: ${nameOf(object)}`, mistakes })),
    };
  } catch (error) {
    return { objects: [], refused: [{ object: file, mistakes: [yamlMessage(error)] }] };
  }
}

/** One line, without the excerpt of the file. */
function yamlMessage(error: unknown): string {
  if (!(error instanceof YAMLParseError)) return messageOf(error);
  const [what = ""] = error.message.split(/ at line \d+, column \d+/);
  const [at] = error.linePos ?? [];
  return `${at ? `line ${at.line}, column ${at.col}: ` : ""}${what}`;
}

function nameOf({ kind, metadata }: ManifestObject): string {
  const { namespace, name } = metadata ?? {};
  const shown = typeof name === "string" ? name : "without a name";
  return `${kind} ${kind === "Service" ? `${namespace ?? "default"}/` : ""}${shown}`;
}

/** kubectl reads YAML 1.1, where `yes` is a boolean, but without its times and dates. */
const withoutTimes = (tags: Tags): Tags =>
  tags.filter((tag) => typeof tag === "string" || (tag.tag !== "tag:yaml.org,2002:timestamp" && tag.format !== "TIME"));

/** All objects of a manifest; Lists are replaced by their items. */
export function parseManifests(content: string): readonly ManifestObject[] {
  return parseAllDocuments(content, { version: "1.1", customTags: withoutTimes }).flatMap((document) => {
    const [error] = document.errors;
    if (error) throw error;
    return objectsOf(document.toJS());
  });
}

function objectsOf(value: unknown): readonly ManifestObject[] {
  if (value === null || value === undefined) return [];
  const object = value as Partial<ManifestObject> & { readonly items?: unknown };
  if (typeof object !== "object" || typeof object.kind !== "string" || typeof object.apiVersion !== "string")
    throw new Error("not a Kubernetes manifest: apiVersion or kind is missing");
  if (object.kind.endsWith("List") && Array.isArray(object.items)) return object.items.flatMap(objectsOf);
  return [object as ManifestObject];
}

function isKind<T>(kind: string) {
  return (object: ManifestObject): object is ManifestObject & T => object.kind === kind && object.apiVersion === "v1";
}

/** The files behind paths, each once, in the order given. */
function filesIn(paths: readonly string[]): readonly string[] {
  const mistakes: string[] = [];
  const files = paths.flatMap((path) => {
    try {
      return path === STDIN ? [path] : expand(path);
    } catch (error) {
      mistakes.push(`${path}: ${messageOf(error)}`);
      return [];
    }
  });
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return [...new Set(files)];
}

/** Folders are searched without hidden ones, such as `.github`. */
function expand(path: string): readonly string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found && !found.isDirectory()) return [path];
  const names = found
    ? globSync("**/*.{yaml,yml,json}", { cwd: path }).map((name) => join(path, name))
    : globSync(path);
  if (!found && names.length === 0) throw new Error("no such file or folder");
  return names.filter((name) => statSync(name).isFile()).toSorted();
}
