import { globSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { otherApiServers } from "../../../dev-env/toolchain/toolchain.ts";
import packageJson from "../../../package.json" with { type: "json" };
import { SCRIPTS, WORKFLOWS } from "../../support/workflows.ts";

/** Scripts that tests run, by name. */
const RUN_BY_TEST: Readonly<Record<string, string>> = {
  "Release notes": "test/integration/workflows.test.ts",
  "Name the image by digest in chart and manifests": "test/integration/workflows.test.ts",
  "Package the chart": "test/integration/workflows.test.ts",
  Checksums: "test/integration/workflows.test.ts",
  "Build crane from its pin": "test/integration/workflows.test.ts",
  "Publish the image": "test/release/image.test.ts",
  "Publish the chart": "test/release/image.test.ts",
  Sign: "test/release/image.test.ts",
  "Attest provenance and bills of materials": "test/release/image.test.ts",
};

/** Why scripts cannot run here, by name or by their beginning. */
const NOT_RUN: Readonly<Record<string, string>> = {
  "sudo apt-get": "installs packages on the runner",
  "Real nodes need root": "npm run test:nodes, as root",
  "Log in": "needs a registry with accounts",
  "Create the release": "needs GitHub",
};

/** Jobs that may write, and what. All others may read the repository at most. */
const WRITERS: Readonly<Record<string, readonly string[]>> = {
  ".github/workflows/release.yml # publish": ["contents", "packages", "id-token", "attestations"],
  ".github/workflows/scorecard.yml # analysis": ["security-events", "id-token"],
};

const USES = WORKFLOWS.flatMap(({ file, text }) =>
  [...text.matchAll(/uses: (?<action>[^@\s]+)(?<pin>.*)$/gm)].map(({ groups }) => ({
    file,
    action: groups?.action ?? "",
    pin: groups?.pin ?? "",
  })),
);

it("there are workflows", () => {
  expect(WORKFLOWS.map(({ file }) => file)).toHaveLength(6);
  expect([USES.length > 15, SCRIPTS.length > 15]).toEqual([true, true]);
});

describe("actions", () => {
  it.each(USES.filter(({ action }) => !action.startsWith("./")))(
    "$file: $action is pinned by a commit, with its version",
    ({ pin }) => expect(pin).toMatch(/^@[0-9a-f]{40} # v\d+\.\d+\.\d+$/),
  );

  it("have the same version everywhere", () => {
    const pins = Map.groupBy(USES, ({ action }) => action);
    for (const [action, uses] of pins) expect([action, new Set(uses.map(({ pin }) => pin)).size]).toEqual([action, 1]);
  });
});

describe.each(WORKFLOWS.filter(({ file }) => file.includes("/workflows/")))(
  "$file",
  ({ file, text, permissions, jobs }) => {
    it("grants nothing by default, and each job only what the table names", () => {
      expect(permissions).toEqual({});
      for (const [job, { permissions: granted = {} }] of Object.entries(jobs)) {
        const writes = Object.keys(granted).filter((name) => granted[name] !== "read");
        expect([job, writes]).toEqual([job, WRITERS[`${file} # ${job}`] ?? []]);
      }
    });

    it("leaves no credentials in the checkout, and does not run code of a pull request with rights", () => {
      expect(text.match(/actions\/checkout@/g)?.length).toBe(text.match(/persist-credentials: false/g)?.length);
      expect(text).not.toMatch(/pull_request_target|workflow_run/);
    });
  },
);

describe("scripts", () => {
  it.each(SCRIPTS)("$where: $run: takes values from variables, never as text of the script", ({ run }) => {
    expect(run).not.toContain("${{");
  });

  it.each(SCRIPTS)("$where: $run: can run, is run by a test, or a reason says why not", ({ name = "", run }) => {
    const scripts = [...run.matchAll(/\bnpm (?:run )?([a-z:]+)/g)].map(([, script = ""]) => script);
    for (const script of scripts) expect(Object.keys(packageJson.scripts)).toContain(script);
    const files = [...run.matchAll(/[\w./-]+\.ts\b|test\/unit\/[\w/-]+/g)];
    for (const [file] of files) expect(globSync(file)).toEqual([file]);
    const isKnown = [...Object.keys(RUN_BY_TEST), ...Object.keys(NOT_RUN)].some(
      (key) => key === name || run.startsWith(key),
    );
    expect(isKnown || scripts.length + files.length > 0).toBe(true);
  });

  it.each([...Object.keys(RUN_BY_TEST), ...Object.keys(NOT_RUN)])("the entry %s is needed", (key) => {
    expect(SCRIPTS.some(({ name, run }) => name === key || run.startsWith(key))).toBe(true);
  });

  it.each(Object.entries(RUN_BY_TEST))("%s is run by %s", (name, test) => {
    expect(readFileSync(test, "utf8")).toContain(`("${name}"`);
  });
});

it("the weekly matrix has every other version of Kubernetes", () => {
  const weekly = WORKFLOWS.find(({ file }) => file.endsWith("versions.yml"));
  expect(weekly?.jobs.versions?.strategy?.matrix.kubernetes).toEqual([...otherApiServers]);
});

it("updates are proposed for every kind of dependency, and for every Go module", () => {
  const { updates } = parse(readFileSync(".github/dependabot.yml", "utf8"));
  const folders = (ecosystem: string): readonly string[] =>
    updates.flatMap((update: Record<string, string | readonly string[]>) =>
      update["package-ecosystem"] === ecosystem ? [update.directories ?? update.directory].flat() : [],
    );
  expect(folders("npm")).toEqual(["/"]);
  expect(folders("github-actions")).toEqual(["/", "/.github/actions/*"]);
  expect(folders("docker")).toEqual(["/controller/deploy"]);
  const covered = folders("gomod").flatMap((folder) => globSync(`${folder.slice(1)}/go.mod`));
  const modules = globSync("{controller,stacks,dev-env,test}/**/go.mod").filter(
    (file) => !file.includes("node_modules"),
  );
  expect(covered.map(dirname).toSorted()).toEqual(modules.map(dirname).toSorted());
});
