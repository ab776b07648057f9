import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AuditEntry, parseEntries } from "../../controller/record/entry.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

const run = promisify(execFile);
const MAIN = fileURLToPath(new URL("../../controller/main.ts", import.meta.url));

describe("a controller whose changes need approval", () => {
  let world: World;
  let controller: ControllerProcess;
  let auditFile: string;
  const lotse = (...args: readonly string[]) =>
    run(process.execPath, [MAIN, ...args], { env: { ...process.env, KUBECONFIG: world.cluster.kubeconfig } }).then(
      ({ stdout }) => ({ code: 0, stdout, stderr: "" }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
  const balancers = () => world.cloud.state.loadBalancers.values();
  const waitingPlan = async (): Promise<string> => {
    const { stdout } = await lotse("approve");
    const id = /^plan (\w+) waits/.exec(stdout)?.[1];
    if (id === undefined) throw new Error(stdout);
    return id;
  };

  beforeAll(async () => {
    world = await startWorld({ nodes: 1 });
    auditFile = join(world.cluster.dir, "audit.jsonl");
    controller = world.startController(["--approval=manual", `--audit-file=${auditFile}`]);
    await world.createService("web");
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  it("initialises nodes without asking, and holds everything else back", async () => {
    await eventually(
      async () => {
        expect((await world.core.readNode({ name: "node-1" })).spec?.providerID).toMatch(/^hcloud:/);
        const events = await world.eventsAbout("web");
        expect(events.join("\n")).toMatch(/PlanPending: A change waits for approval, run "lotse approve \w{10}"/);
      },
      { timeoutMs: 90_000 },
    );
    expect(world.cloud.journal.writes).toEqual([]);
    const { finalizers } =
      (await world.core.readNamespacedService({ namespace: "default", name: "web" })).metadata ?? {};
    expect(finalizers).toContain("service.kubernetes.io/load-balancer-cleanup");
  });

  it("refuses a plan that does not fit any more, and carries out the one that does within seconds", async () => {
    const first = await waitingPlan();
    await world.createService("other");
    const second = await eventually(async () => {
      const id = await waitingPlan();
      expect(id).not.toBe(first);
      return id;
    });
    expect(await lotse("approve", first)).toMatchObject({ code: 1, stderr: expect.stringContaining(second) });
    expect(world.cloud.journal.writes).toEqual([]);

    const { stdout } = await lotse("approve", second);
    expect(stdout).toMatch(/^plan \w+ is approved by \S+; the controller carries it out now\n$/);
    await eventually(() => expect(balancers()).toHaveLength(2));
    await eventually(async () => expect((await lotse("approve")).stdout).toBe("nothing waits for approval\n"));
  });

  it("asks again when the same happens another day", async () => {
    const [balancer] = balancers();
    await world.changeCloud("POST", `/load_balancers/${balancer?.id}/actions/change_algorithm`, {
      type: "least_connections",
    });
    await eventually(() => waitingPlan());
    const { stdout } = await lotse("approve");
    expect(stdout).toContain("algorithm: least_connections → round_robin");
    expect(balancers()[0]?.algorithm.type).toBe("least_connections");
    await lotse("approve", await waitingPlan());
    await eventually(() => expect(balancers()[0]?.algorithm.type).toBe("round_robin"));
  });

  it("has written down every write: for whom, why, and how it ended", async () => {
    await controller.stop();
    const { stdout } = await lotse("audit", "--since=1h", "--json");
    const entries = parseEntries(stdout);
    const writes = entries.filter((entry) => entry.kind === "write");
    const ours = world.cloud.journal.writes.filter(({ run: name }) => name !== undefined);
    expect(writes.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(
      ours.map(({ method, path }) => `${method} ${path.replace(/^\/v1/, "")}`).toSorted(),
    );
    expect(writes.every(({ unit, status }) => unit !== undefined && status === 201)).toBe(true);
    const change = (field: string) => (entry: AuditEntry) =>
      entry.kind === "change" && entry.differences.some((difference) => difference.field === field);
    const repaired = entries.findLast(change("algorithm"));
    expect(repaired).toMatchObject({
      object: expect.stringMatching(/^Service default\/(web|other)$/),
      differences: [{ field: "algorithm", from: "least_connections", to: "round_robin" }],
    });
    expect(entries.filter((entry) => entry.kind === "outcome").every(({ status }) => status === "applied")).toBe(true);
    expect(parseEntries(await readFile(auditFile, "utf8"))).toEqual(entries);
    expect((await lotse("audit", "default/web")).stdout).toMatch(/Service default\/web {2}applied/);
  });

  it("holds back deletions alone, when they alone need approval", async () => {
    controller = world.startController(["--approval=deletions"]);
    await world.createService("free");
    await eventually(() => expect(balancers()).toHaveLength(3));
    await world.core.deleteNamespacedService({ namespace: "default", name: "free" });
    const id = await eventually(() => waitingPlan());
    expect(balancers()).toHaveLength(3);
    await lotse("approve", id);
    await eventually(() => expect(balancers()).toHaveLength(2));
  });
});
