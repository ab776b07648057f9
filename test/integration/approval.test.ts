import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AuditEntry, parseEntries } from "../../controller/record/entry.ts";
import { runCommand } from "../support/command.ts";
import { type Command, commandsOf, isExpected } from "../support/console.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { sectionOf } from "../support/readme.ts";
import { startWorld, type World } from "../support/world.ts";

const PAGE = readFileSync("docs/how-to/preview.md", "utf8");

/** Replaces ids and times in a text by placeholders. */
function general(text: string): string {
  return text
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/\b[0-9a-f]{10}\b/g, "PLAN")
    .replaceAll(/@[0-9a-f]{12}\b/g, "@HASH")
    .replaceAll(/\(run [\w-]+\)/g, "(run RUN)")
    .replaceAll(/\b1000\d{3}\b/g, "ID")
    .replaceAll(/node port \d+/g, "node port PORT")
    .replaceAll(/\d+ ms$/gm, "TIME ms")
    .replaceAll(/by \S+;/g, "by SOMEBODY;");
}

describe("a controller whose changes need approval", () => {
  let world: World;
  let controller: ControllerProcess;
  const lotse = (...args: readonly string[]) => runCommand(world, args);
  const balancers = () => world.cloud.state.loadBalancers.values();
  const waitingPlan = async (): Promise<string> => {
    const { stdout } = await lotse("approve");
    const id = /^plan (\w+) pending/.exec(stdout)?.[1];
    if (id === undefined) throw new Error(stdout);
    return id;
  };

  /** Whether the output of a command matches the page, with the ids and times of this world. */
  async function shows(command: Command | undefined, plan = ""): Promise<void> {
    if (!command) throw new Error("the page has no such command");
    const { stdout, stderr } = await lotse(
      ...command.text
        .replace(/\b[0-9a-f]{10}\b/, plan)
        .split(" ")
        .slice(1),
    );
    const expected = general(command.output.join("\n")).split("\n");
    if (!isExpected(expected, general(stdout))) {
      throw new Error(`$ ${command.text}\n\nprints\n\n${stdout}${stderr}\nnot\n\n${command.output.join("\n")}`);
    }
  }

  beforeAll(async () => {
    world = await startWorld({ nodes: 1 });
    controller = world.startController(["--approval=manual"]);
    await world.createService("web");
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  it("initialises nodes without approval, and holds back everything else", async () => {
    await eventually(
      async () => {
        expect((await world.core.readNode({ name: "node-1" })).spec?.providerID).toMatch(/^hcloud:/);
        const events = await world.eventsAbout("web");
        expect(events.join("\n")).toMatch(/PlanPending: Waiting for approval: .* Approve with: lotse approve \w{10}/);
      },
      { timeoutMs: 90_000 },
    );
    expect(world.cloud.journal.writes).toEqual([]);
    const { finalizers } =
      (await world.core.readNamespacedService({ namespace: "default", name: "web" })).metadata ?? {};
    expect(finalizers).toContain("service.kubernetes.io/load-balancer-cleanup");
  });

  it("previews as docs/how-to/preview.md says", async () => {
    const [preview] = commandsOf(sectionOf(PAGE, "What would change right now"));
    await shows(preview);
  });

  it("rejects an outdated plan, and applies the current one within seconds", async () => {
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
    expect(stdout).toMatch(/^plan \w+ approved by \S+; the controller applies it now\n$/);
    await eventually(() => expect(balancers()).toHaveLength(2));
    await eventually(async () => expect((await lotse("approve")).stdout).toBe("no plan is pending\n"));
  });

  it("requires a new approval when the same change is needed again", async () => {
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

  it("approves, records and undoes as docs/how-to/preview.md says", async () => {
    const changed = { op: "add", path: "/metadata/annotations/load-balancer.hetzner.cloud~1algorithm-type" };
    const body = [{ ...changed, value: "least_connections" }];
    await world.core.patchNamespacedService({ namespace: "default", name: "web", body });
    const [waits, approve] = commandsOf(sectionOf(PAGE, "Approval"));
    await eventually(() => shows(waits));
    await shows(approve, await waitingPlan());
    const [audit] = commandsOf(sectionOf(PAGE, "The record"));
    await eventually(() => shows(audit));
    const [undo] = commandsOf(sectionOf(PAGE, "Undo"));
    await shows(undo);
  });

  it("records every write with its object, reason and result", async () => {
    await controller.stop();
    const { stdout } = await lotse("audit", "--since=1h", "--json");
    const entries = parseEntries(stdout);
    const writes = entries.filter((entry) => entry.kind === "write");
    const ours = world.cloud.journal.writes.filter(({ run: name }) => name !== undefined);
    expect(writes.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(
      ours.map(({ method, path }) => `${method} ${path.replace(/^\/v1/, "")}`).toSorted(),
    );
    expect(writes.every(({ unit, status }) => unit !== undefined && status === 201)).toBe(true);
    const isAbout = (field: string) => (entry: AuditEntry) =>
      entry.kind === "change" && entry.differences.some((difference) => difference.field === field);
    // The two entries before are creations.
    expect(entries.filter(isAbout("algorithm")).slice(2)).toMatchObject([
      {
        object: expect.stringMatching(/^Service default\/(web|other)$/),
        differences: [{ field: "algorithm", from: "least_connections", to: "round_robin" }],
      },
      {
        object: "Service default/web",
        differences: [{ field: "algorithm", from: "round_robin", to: "least_connections" }],
      },
    ]);
    expect(entries.filter((entry) => entry.kind === "outcome").every(({ status }) => status === "applied")).toBe(true);
    expect((await lotse("audit", "default/web")).stdout).toMatch(/Service default\/web {2}applied/);
  });

  it("holds back only deletions, if only they need approval", async () => {
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
