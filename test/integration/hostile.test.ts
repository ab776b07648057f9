import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { oneLine } from "../../controller/diagnostics/printable.ts";
import { OwnConfigMap } from "../../controller/kube/config-map.ts";
import { paths } from "../../controller/kube/paths.ts";
import { ENTRIES } from "../../controller/record/record.ts";
import { STATUS } from "../../controller/record/status-board.ts";
import { OPTION_ROWS } from "../../controller/render/service/options/annotations.ts";
import { mergePatch } from "../../dev-env/cluster/api.ts";
import { loadBalancerUnit } from "../../stacks/units/names.ts";
import { runCommand } from "../support/command.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { HOSTILE, TERMINAL_OBEYS } from "../support/hostile.ts";
import { descendantsOf } from "../support/process-tree.ts";
import { startWorld, type World } from "../support/world.ts";

const PREFIX = "load-balancer.hetzner.cloud/";
const PLACE = { namespace: "kube-system", clusterName: "kubernetes" };
/** Without the last character, which command lines cannot contain. */
const TYPED = HOSTILE.replaceAll("\u0000", "");

/** Commands, and whether their output contains user input. */
const COMMANDS: readonly (readonly [readonly string[], boolean])[] = [
  [["status", "--once"], true],
  [["status", "--json"], true],
  [["preview"], true],
  [["preview", "--json"], true],
  [["preview", "--markdown"], true],
  [["render"], true],
  [["render", "--json"], true],
  [["adopt"], true],
  [["adopt", "--json"], true],
  [["adopt", TYPED, "--load-balancer", TYPED], true],
  [["audit"], true],
  [["audit", "--json"], true],
  [["approve"], true],
  [["approve", TYPED], true],
  [["pulumi", TYPED], true],
  [["undo", "default/plain"], true],
  [["undo", "default/plain", "--json"], true],
  [["undo", TYPED], true],
  [["release"], true],
  [["release", "--json"], true],
  [["destroy", "--yes"], true],
  [["completion", TYPED], true],
  [["completion", "bash"], false],
  [["version"], false],
];

describe("hostile user input", () => {
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
    HOSTILE,
  ];

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "lotse-hostile-"));
    world = await startWorld({ nodes: 1 });
    await mkdir(join(dir, "work"));
    controller = world.startController(["-v=9"], { TMPDIR: join(dir, "work") });
    for (const [index, value] of hostile().entries()) {
      const annotations = Object.fromEntries(OPTION_ROWS.map(([, { annotation }]) => [annotation, value]));
      await world.createService(`hostile-${index}`, annotations);
      const name = { name: "node-1" };
      const body = {
        metadata: { annotations: { "alpha.kubernetes.io/provided-node-ip": value, "example.com/x": value } },
      };
      await world.core.patchNode({ ...name, body }, mergePatch());
    }
    // The API accepts this name, which becomes part of a request and of the state.
    await world.createService("named", { name: `$(touch ${mark()})` });
    await world.createService("plain");
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  it("does not affect other Services", async () => {
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

  it("names no file", async () => {
    // Fails if a folder is removed while it is being listed.
    const files = await eventually(() => readdirSync(join(dir, "work"), { recursive: true }).map(String));
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => file.includes("owned"))).toEqual([]);
  });

  it("forges no log line, and sends no control characters to a terminal", () => {
    expect(controller.output).toContain("owned");
    expect(controller.output.replaceAll("\t", " ")).not.toMatch(TERMINAL_OBEYS);
    for (const line of controller.output.split("\n")) expect(line).toMatch(/^\{.*\}$/);
    expect(controller.records("owned")).toEqual([]);
  });

  it("appears in Events without control characters", async () => {
    const { items } = await world.core.listNamespacedEvent({ namespace: "default" });
    expect(items.map(({ message }) => message).join(" ")).toContain("owned");
    for (const { message = "" } of items) expect(message.replaceAll("\t", " ")).not.toMatch(TERMINAL_OBEYS);
  });

  describe("in what the controller has recorded", () => {
    beforeAll(async () => {
      await controller.stop();
      const differences = [
        { field: HOSTILE, have: HOSTILE, want: HOSTILE, from: HOSTILE, to: HOSTILE, reason: HOSTILE },
      ];
      const { metadata } = await world.core.readNamespacedService({ namespace: "default", name: "plain" });
      const unit = loadBalancerUnit({ namespace: "default", name: "plain", uid: metadata?.uid ?? "" });
      const common = { at: "2026-01-01T00:00:00.000Z", run: "owned", unit };
      const intent = { annotations: { [`${PREFIX}algorithm-type`]: HOSTILE, [HOSTILE]: HOSTILE }, ports: [] };
      const entries: readonly object[] = [
        { ...common, kind: "change", object: "Service default/plain", differences, intent },
        { ...common, kind: "write", method: HOSTILE, path: HOSTILE, status: 500, durationMs: 1 },
        { ...common, kind: "outcome", status: "applied", operations: [], failure: HOSTILE },
      ];
      const id = "0".repeat(32);
      const step = { id, object: HOSTILE, unit: HOSTILE, at: HOSTILE, summary: HOSTILE, text: [HOSTILE] };
      const lastRun = { run: HOSTILE, at: HOSTILE, units: 1, failed: { [HOSTILE]: HOSTILE }, durationMs: 1 };
      const notes = {
        audit: { [ENTRIES]: entries.map((entry) => JSON.stringify(entry)).join("\n") },
        plan: { [`step.${id}`]: JSON.stringify(step) },
        status: { [STATUS]: JSON.stringify({ at: HOSTILE, lastRun, refused: [], heldBack: HOSTILE }) },
      };
      for (const [kind, data] of Object.entries(notes))
        await new OwnConfigMap(world.observer, PLACE, kind).update(() => data);
      const renewTime = new Date().toISOString().replace("Z", "000Z");
      await world.observer.create(paths.lease("kube-system"), {
        metadata: { name: "cloud-controller-manager" },
        spec: { holderIdentity: HOSTILE, leaseDurationSeconds: 600, renewTime },
      });
    }, 60_000);

    const titled = COMMANDS.map(([args, isShown]) => ({ args, isShown, title: oneLine(args.join(" ")) }));
    it.each(titled)("lotse $title: prints no control characters and no forged lines", async ({ args, isShown }) => {
      const { stdout, stderr } = await runCommand(world, args);
      const printed = stdout + stderr;
      expect(printed).not.toBe("");
      if (isShown) expect(printed).toMatch(/owned\\+u001b/);
      expect(printed.replaceAll("\t", " ")).not.toMatch(TERMINAL_OBEYS);
      expect(printed).not.toMatch(/^\s*lotse: forged/m);
    });
  });
});
