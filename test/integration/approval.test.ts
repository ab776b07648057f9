import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withApprovals } from "../../controller/guard/approval.ts";
import { OwnConfigMap } from "../../controller/kube/config-map.ts";
import { type AuditEntry, parseEntries } from "../../controller/record/entry.ts";
import { runCommand } from "../support/command.ts";
import { type Command, commandsOf, isExpected } from "../support/console.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { sectionOf } from "../support/readme.ts";
import { startWorld, type World } from "../support/world.ts";

const PAGE = readFileSync("docs/how-to/preview.md", "utf8");

/** Replaces the cluster's address, ids and times in a text by placeholders. */
function general(text: string): string {
  return text
    .replaceAll(/\(context \w+, https:\S+\)/g, "(PLACE)")
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/\b[0-9a-f]{32}\b/g, "CHANGE")
    .replaceAll(/@[0-9a-f]{12}\b/g, "@HASH")
    .replaceAll(/\(run [\w-]+\)/g, "(run RUN)")
    .replaceAll(/\b1000\d{3}\b/g, "ID")
    .replaceAll(/node port \d+/g, "node port PORT")
    .replaceAll(/\d+ ms$/gm, "TIME ms")
    .replaceAll(/ by \S+?(;|$)/gm, " by APPROVER$1");
}

describe("a controller whose changes need approval", () => {
  let world: World;
  let controller: ControllerProcess;
  const lotse = (...args: readonly string[]) => runCommand(world, args);
  const balancers = () => world.cloud.state.loadBalancers.values();
  /** The ids of the changes that wait, of all or of one object. */
  const waiting = async (...object: readonly string[]): Promise<readonly string[]> => {
    const { stdout } = await lotse("approve", ...object);
    const ids = [...stdout.matchAll(/lotse approve ([0-9a-f]{32})/g)].map(([, id = ""]) => id);
    if (ids.length === 0) throw new Error(stdout);
    return ids;
  };

  /** Whether the output of a command matches the page, with the ids and times of this world. */
  async function shows(command: Command | undefined, plan = ""): Promise<void> {
    if (!command) throw new Error("the page has no such command");
    const { stdout, stderr } = await lotse(
      ...command.text
        .replace(/\b[0-9a-f]{32}\b/, plan)
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
        expect(events.join("\n")).toMatch(
          /PlanPending: Waiting for approval: create load balancer lb11 in fsn1 \(\+5\.39 EUR a month\)\. Approve with: lotse approve \w{32}/,
        );
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

  it("accepts an approval only in the name of the person who gives it", async () => {
    const [id = ""] = await waiting("default/web");
    const map = new OwnConfigMap(world.observer, { namespace: "kube-system", clusterName: "kubernetes" }, "plan");
    const forged = map.update((data) => withApprovals(data, [id], "another-user"));
    await expect(forged).rejects.toThrow("approvals must be given in the name of");
  });

  it("applies what is approved within seconds, and nothing else; a new change voids no approval", async () => {
    const [first = ""] = await waiting("default/web");
    await world.createService("other");
    const [second = ""] = await eventually(() => waiting("default/other"));
    expect(await lotse("approve", "0".repeat(32))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`no change with the id ${"0".repeat(32)} waits for approval: `),
    });
    const { stdout } = await lotse("approve", first);
    expect(stdout).toMatch(
      /: Service default\/web approved by \S+; a running controller makes the changes within seconds\n$/,
    );
    await eventually(() => expect(balancers()).toHaveLength(1));
    expect(await waiting("default/other")).toEqual([second]);
    // The route of the node waits as well.
    await lotse("approve", ...(await waiting()));
    await eventually(() => expect(balancers()).toHaveLength(2));
    await eventually(async () => expect((await lotse("approve")).stdout).toMatch(/: no changes wait for approval\n$/));
  });

  it("requires a new approval when the same change is needed again", async () => {
    const [balancer] = balancers();
    await world.changeCloud("POST", `/load_balancers/${balancer?.id}/actions/change_algorithm`, {
      type: "least_connections",
    });
    const ids = await eventually(() => waiting());
    const { stdout } = await lotse("approve");
    expect(stdout).toContain("algorithm: least_connections → round_robin");
    expect(balancers()[0]?.algorithm.type).toBe("least_connections");
    await lotse("approve", ...ids);
    await eventually(() => expect(balancers()[0]?.algorithm.type).toBe("round_robin"));
  });

  it("shows replacements where people approve: another subnet replaces the attachment and private targets", async () => {
    const subnet = { type: "cloud", ip_range: "10.0.9.0/24", network_zone: "eu-central" };
    await world.changeCloud("POST", `/networks/${world.networkId}/actions/add_subnet`, subnet);
    const annotate = (key: string, value: string) =>
      world.core.patchNamespacedService({
        namespace: "default",
        name: "other",
        body: [{ op: "add", path: `/metadata/annotations/load-balancer.hetzner.cloud~1${key}`, value }],
      });
    await annotate("use-private-ip", "true");
    await lotse("approve", ...(await eventually(() => waiting("default/other"))));
    const isPrivate = () =>
      balancers().some(({ targets }) => targets.some((it) => it.type === "server" && it.use_private_ip));
    await eventually(() => expect(isPrivate()).toBe(true));
    await annotate("private-subnet-ip-range", "10.0.9.0/24");
    const ids = await eventually(async () => {
      const { stdout } = await lotse("approve", "default/other");
      expect(stdout).toContain("± network");
      expect(stdout).toMatch(/± server-\d+/);
      expect(stdout).toMatch(/subnet: \S+ → 10\.0\.9\.0\/24/);
      return waiting("default/other");
    });
    await lotse("approve", ...ids);
    await eventually(() =>
      expect(balancers().some(({ private_net }) => private_net[0]?.ip.startsWith("10.0.9."))).toBe(true),
    );
    // The record has what the engine did.
    await eventually(async () => {
      const { stdout } = await lotse("audit", "default/other", "--since=1h", "--json");
      const operations = parseEntries(stdout).flatMap((entry) => (entry.kind === "outcome" ? entry.operations : []));
      expect(operations).toContain("replace network");
      expect(operations).toContainEqual(expect.stringMatching(/^replace server-\d+$/));
    });
  });

  it("approves, records and undoes as docs/how-to/preview.md says", async () => {
    const changed = { op: "add", path: "/metadata/annotations/load-balancer.hetzner.cloud~1algorithm-type" };
    const body = [{ ...changed, value: "least_connections" }];
    await world.core.patchNamespacedService({ namespace: "default", name: "web", body });
    const [waits, approve] = commandsOf(sectionOf(PAGE, "Approval"));
    await eventually(() => shows(waits));
    await shows(approve, (await waiting())[0]);
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
    const ids = await eventually(() => waiting());
    expect(balancers()).toHaveLength(3);
    await lotse("approve", ...ids);
    await eventually(() => expect(balancers()).toHaveLength(2));
  });
});
