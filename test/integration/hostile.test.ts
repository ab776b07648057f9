import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OPTION_ROWS } from "../../controller/service/annotations.ts";
import { mergePatch } from "../../dev-env/cluster/api.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { descendantsOf } from "../support/process-tree.ts";
import { startWorld, type World } from "../support/world.ts";

/** Escape, bell, carriage return and the like: whoever prints them hands the terminal over. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028]/;

describe("what users write into objects", () => {
  let world: World;
  let dir: string;
  let controller: ControllerProcess;
  const commands = new Set<string>();
  const mark = () => join(dir, "owned");
  const hostile = (): readonly string[] => [
    `$(touch ${mark()})`,
    `\`touch ${mark()}\``,
    `'"; touch ${mark()} #`,
    "\u001b]0;owned\u0007\u001b[2J\u001b[31mowned",
    'x\n{"level":50,"time":"2026-01-01T00:00:00Z","msg":"owned"}',
    "../../../../../../owned",
    "%s%n%d owned",
    "__proto__ owned",
    "owned\u2028\u009b31m",
  ];

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "lotse-hostile-"));
    world = await startWorld({ nodes: 1 });
    controller = world.startController(["-v=9", `--work-dir=${join(dir, "work")}`]);
    for (const [index, value] of hostile().entries()) {
      const annotations = Object.fromEntries(OPTION_ROWS.map(([, { annotation }]) => [annotation, value]));
      await world.createService(`hostile-${index}`, annotations);
      const name = { name: "node-1" };
      const body = {
        metadata: { annotations: { "alpha.kubernetes.io/provided-node-ip": value, "example.com/x": value } },
      };
      await world.core.patchNode({ ...name, body }, mergePatch());
    }
    // A name that the API takes as it is, and that becomes part of a request and of the state.
    await world.createService("named", { name: `$(touch ${mark()})` });
    await world.createService("plain");
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  it("keeps nobody else from being served", async () => {
    await eventually(
      async () => {
        for (const { command } of descendantsOf(controller.pid)) commands.add(command);
        const { status } = await world.core.readNamespacedService({ namespace: "default", name: "plain" });
        expect(status?.loadBalancer?.ingress?.length).toBeGreaterThan(0);
      },
      { intervalMs: 20, timeoutMs: 90_000 },
    );
    await eventually(async () => {
      for (const index of hostile().keys()) expect(await world.eventsAbout(`hostile-${index}`)).not.toEqual([]);
    });
  });

  it("reaches no shell and no command line", () => {
    expect(existsSync(mark())).toBe(false);
    expect([...commands].join("\n")).toMatch(/pulumi/);
    for (const command of commands) expect(command).not.toContain("owned");
  });

  it("names no file", () => {
    const files = readdirSync(join(dir, "work"), { recursive: true }).map(String);
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => file.includes("owned"))).toEqual([]);
  });

  it("forges no line of the log, and sends nothing to the terminal of who reads it", () => {
    expect(controller.output).toContain("owned");
    expect(controller.output.replaceAll("\t", " ")).not.toMatch(CONTROL);
    for (const line of controller.output.split("\n")) expect(line).toMatch(/^\{.*\}$/);
    expect(controller.records("owned")).toEqual([]);
  });

  it("comes back in Events without control characters", async () => {
    const { items } = await world.core.listNamespacedEvent({ namespace: "default" });
    expect(items.map(({ message }) => message).join(" ")).toContain("owned");
    for (const { message = "" } of items) expect(message).not.toMatch(CONTROL);
  });
});
