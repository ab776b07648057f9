import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { commandConfig } from "../../controller/commands/open.ts";
import type { Forecast } from "../../controller/commands/preview/forecast.ts";
import { forecastChanges } from "../../controller/commands/preview/preview.ts";
import { writeStack } from "../../controller/commands/preview/stack.ts";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import type { StackOutputs } from "../../stacks/units/outputs.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PREFIX = "load-balancer.hetzner.cloud/";
/** The pod ranges are those that the controller has published. */
const FLAGS = { "cluster-name": "kubernetes" };

/** Changes in a preview, such as `load-balancer/default/web#listener-80 update`, without UIDs. */
type Resources = readonly string[];

/** A name, the changes it adds to the preview, and how to cause them. */
type Situation = readonly [string, Resources, () => Promise<unknown>];

/** A cluster whose controller has stopped after everything was in sync. Changes from now on can be previewed. */
describe("previews of a cluster", () => {
  let world: World;
  let dir: string;
  let env: Readonly<Record<string, string>>;
  const services = { namespace: "default" };

  beforeAll(async () => {
    await ensureToolchain(["pulumi", "pulumi-language-nodejs", "pulumi-resource-hcloud"]);
    dir = await mkdtemp(join(tmpdir(), "lotse-preview-"));
    world = await startWorld({ nodes: 2 });
    env = {
      HCLOUD_TOKEN: world.cloud.token,
      HCLOUD_ENDPOINT: world.cloud.url,
      HCLOUD_NETWORK: String(world.networkId),
      KUBECONFIG: world.cluster.kubeconfig,
    };
    await Promise.all(["web", "old", "drift"].map((name) => world.createService(name)));
    const controller = world.startController();
    await eventually(
      async () => {
        const { items } = await world.core.listNamespacedService(services);
        const waiting = items.filter(
          ({ spec, status }) => spec?.type === "LoadBalancer" && !status?.loadBalancer?.ingress,
        );
        expect(waiting).toEqual([]);
        expect(world.cloud.state.networks.get(world.networkId)?.routes).toHaveLength(2);
      },
      { timeoutMs: 100_000 },
    );
    await controller.stop();
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  const look = async (...from: readonly string[]): Promise<Forecast> =>
    (await forecastChanges(commandConfig(FLAGS, env), from)).forecast;
  const annotate = (name: string, annotations: Record<string, string>) =>
    world.core.patchNamespacedService({
      name,
      ...services,
      body: Object.entries(annotations).map(([key, value]) => ({
        op: "add",
        path: `/metadata/annotations/${PREFIX.replace("/", "~1")}${key}`,
        value,
      })),
    });
  const balancerOf = async (name: string): Promise<number> => {
    const uid = (await world.core.readNamespacedService({ name, ...services })).metadata?.uid;
    const found = world.cloud.state.loadBalancers
      .values()
      .find(({ labels }) => labels["hcloud-ccm/service-uid"] === uid);
    return found?.id ?? 0;
  };

  /**
   * Each adds a change to the previous ones, and the second column has what it adds to the preview. Those in a row are
   * made together, because a plain preview takes seconds to start; they concern different resources.
   */
  const situations: readonly (readonly Situation[])[] = [
    [["nothing to do", [], async () => {}]],
    [
      [
        "a new Service",
        ["load-balancer/default/new#balancer create", "load-balancer/default/new#listener-80 create"],
        () => world.createService("new"),
      ],
      [
        "a changed port",
        ["load-balancer/default/web#listener-80 delete", "load-balancer/default/web#listener-81 create"],
        () =>
          world.core.patchNamespacedService({
            name: "web",
            ...services,
            body: [{ op: "replace", path: "/spec/ports/0/port", value: 81 }],
          }),
      ],
      [
        "a changed annotation",
        ["load-balancer/default/web#balancer update"],
        () => annotate("web", { "algorithm-type": "least_connections" }),
      ],
    ],
    [
      [
        "a listener changed by hand",
        ["load-balancer/default/drift#listener-80 update"],
        async () =>
          world.changeCloud("POST", `/load_balancers/${await balancerOf("drift")}/actions/update_service`, {
            listen_port: 80,
            proxyprotocol: true,
          }),
      ],
      [
        "a target removed by hand",
        ["load-balancer/default/drift#server-1 create"],
        async () =>
          world.changeCloud("POST", `/load_balancers/${await balancerOf("drift")}/actions/remove_target`, {
            type: "server",
            server: { id: world.cloud.state.servers.find("node-1")?.id },
          }),
      ],
      [
        "a deleted Service",
        ["load-balancer/default/old#balancer delete"],
        () => world.core.deleteNamespacedService({ name: "old", ...services }),
      ],
    ],
    [
      [
        "a new node",
        ["route/10.244.3.0/24#route create", "load-balancer/default/web#server-3 create"],
        () => world.addNode(3),
      ],
      [
        "a route through the wrong gateway",
        ["route/10.244.1.0/24#route replace"],
        async () => {
          const path = `/networks/${world.networkId}/actions`;
          const gateway = world.cloud.state.servers.find("node-1")?.private_net[0]?.ip;
          const wrong = world.cloud.state.servers.find("node-2")?.private_net[0]?.ip;
          await world.changeCloud("POST", `${path}/delete_route`, { destination: "10.244.1.0/24", gateway });
          await world.changeCloud("POST", `${path}/add_route`, { destination: "10.244.1.0/24", gateway: wrong });
        },
      ],
      [
        "a node that is gone",
        ["route/10.244.2.0/24#route delete", "load-balancer/default/web#server-2 delete"],
        () => world.core.deleteNode({ name: "node-2" }),
      ],
    ],
    [
      ["a refused Service", [], () => world.createService("bad", { protocol: "tpc" })],
      [
        "the adoption of a balancer by its name",
        ["load-balancer/default/adopter#balancer update"],
        async () => {
          const body = { name: "ownerless", load_balancer_type: "lb11", location: "fsn1" };
          await world.changeCloud("POST", "/load_balancers", body);
          await world.createService("adopter", { name: "ownerless" });
        },
      ],
    ],
    [
      [
        "two at once: another type, and a balancer removed by hand",
        ["load-balancer/default/adopter#balancer update", "load-balancer/default/drift#balancer create"],
        async () => {
          const id = await balancerOf("drift");
          await annotate("adopter", { type: "lb21" });
          await world.changeCloud("DELETE", `/load_balancers/${id}`);
        },
      ],
    ],
  ];

  it.each(situations.map((row) => ({ title: row.map(([name]) => name).join("; "), row })))(
    "agree, and change nothing: $title",
    async ({ row }) => {
      for (const [, , change] of row) await change();
      const writes = world.cloud.journal.writes.length;
      const [forecast, theirs] = await Promise.all([look(), plainPreview()]);
      const ours = fromForecast(forecast);
      expect(theirs).toEqual(ours);
      const expected = row.flatMap(([, resources]) => resources);
      expect(ours.map((line) => withoutIds(line))).toEqual(expect.arrayContaining(expected));
      if (expected.length === 0) expect(ours).toEqual([]);
      expect(world.cloud.journal.writes.length).toBe(writes);
    },
  );

  it("give the object and field of each change, and report invalid objects", async () => {
    const { units, refused, cost } = await look();
    const web = units.find(({ object }) => object === "Service default/web");
    expect(web?.parts.find(({ part }) => part === "balancer")?.fields).toEqual([
      {
        field: "algorithm",
        from: "round_robin",
        to: "least_connections",
        reason: `Service default/web, annotation ${PREFIX}algorithm-type`,
      },
    ]);
    expect(refused).toMatchObject([{ object: "Service default/bad" }]);
    expect(units.find(({ object }) => object === "Service default/adopter")).toMatchObject({
      action: "adopt",
      cost: { before: 5.39, after: 16.4 },
    });
    // Load balancers of web, old and the one to adopt; then web, new, drift and the larger one.
    expect(cost).toEqual({ currency: "EUR", before: 16.17, after: 32.57 });
  });

  it("of a larger cluster name every load balancer and route that would change", async () => {
    // Free ranges: one was never used, and one still has the route of the deleted node.
    const ranges = { "new-1": "10.244.0.0/24", "new-2": "10.244.2.0/24" };
    for (const name of Object.keys(ranges)) world.cloud.addServer({ name, network: world.networkId });
    const from = join(dir, "nodes.yaml");
    const items = Object.entries(ranges).map(([name, range]) => ({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name },
      spec: { podCIDRs: [range] },
    }));
    await writeFile(from, stringify({ apiVersion: "v1", kind: "List", items }));
    const lines = fromForecast(await look(from)).map(withoutIds);
    const targets = ["load-balancer/default/web#new-1 create", "load-balancer/default/web#new-2 create"];
    const routes = ["route/10.244.0.0/24#route create", "route/10.244.2.0/24#route replace"];
    expect(lines).toEqual(expect.arrayContaining([...targets, ...routes]));
  });

  it("have exit codes and several output formats", async () => {
    const lotse = async (args: readonly string[], input = "") => {
      const child = run(
        process.execPath,
        ["controller/main.ts", args[0] ?? "", "--cluster-cidr=10.244.0.0/16", ...args.slice(1)],
        {
          cwd: ROOT,
          env: { ...process.env, ...env },
        },
      );
      child.child.stdin?.end(input);
      return child.then(
        ({ stdout }) => ({ code: 0, stdout, stderr: "" }),
        (error: { code: number; stdout: string; stderr: string }) => error,
      );
    };
    const manifest = (name: string, port: string, annotations = `{${PREFIX}location: fsn1}`) =>
      `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}, annotations: ${annotations}}\nspec: {type: LoadBalancer, ports: [{port: ${port}}]}\n`;
    const [one, two, bad] = ["one.yaml", "two.yaml", "bad.yaml"].map((name) => join(dir, name)) as [
      string,
      string,
      string,
    ];
    await writeFile(one, manifest("one", "80"));
    await writeFile(two, manifest("two", "80"));
    await writeFile(bad, manifest("three", '"80"'));

    // A Service of this cluster is refused already (B5).
    const text = await lotse(["preview"]);
    expect(text).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/^Cluster kubernetes \(context lotse, https:.+\): \d+ to create.* 1 refused/),
    });
    expect(text.stdout).not.toContain("\u001b");
    const json = await lotse(["preview", "--json", "--from", one, `--from=${two}`, bad, "-"], manifest("four", "80"));
    const { units, refused } = JSON.parse(json.stdout) as Forecast;
    const objects = units.filter(({ action }) => action === "create").map(({ object }) => object);
    expect(objects).toEqual(expect.arrayContaining(["one", "two", "four"].map((name) => `Service default/${name}`)));
    expect(refused[0]).toEqual({
      object: `${bad}: Service default/three`,
      mistakes: ['spec.ports[0].port: "80" is not a whole number: remove the quotes'],
    });
    expect((await lotse(["render", bad])).code).toBe(3);
    const inStack = ["stack", `--dir=${join(dir, "own")}`, "--", process.execPath, "-e"];
    expect(await lotse([...inStack, "console.log(process.env.PULUMI_BACKEND_URL); process.exit(7)"])).toMatchObject({
      code: 7,
      stdout: expect.stringContaining(join(dir, "own")),
    });
    expect(await lotse(["preview", "nowhere"])).toMatchObject({
      code: 1,
      stderr: "lotse: nowhere: no such file or folder\n",
    });
    expect(await lotse(["preview", "--json", "--markdown"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("'--markdown' cannot be used with option '--json'"),
    });
    await world.core.deleteNamespacedService({ name: "bad", ...services });
    expect((await lotse(["preview"])).code).toBe(2);
    await world.createService("bad", { protocol: "tpc" });
  });

  it("without pod ranges say that routes are missing, except in JSON", async () => {
    // No controller has published them in this namespace.
    const printed = async (...args: readonly string[]) =>
      (await runCommand(world, args, { POD_NAMESPACE: "default" })).stdout;
    const note = "note: routes are not shown: pass --cluster-cidr as for the controller\n";
    expect(await printed("preview")).toContain(note);
    expect(await printed("status", "--once")).toContain(note);
    const json = await printed("status", "--json");
    expect(JSON.parse(json)).toMatchObject({ notes: expect.not.arrayContaining([expect.stringContaining("routes")]) });
  });

  it("come from Pulumi itself, whose commands run on a fresh stack unless they would change something", async () => {
    const pulumi = (...args: readonly string[]) =>
      runCommand(world, ["pulumi", "--cluster-cidr=10.244.0.0/16", ...args]);
    const before = JSON.stringify(world.cloud.snapshot());
    const outputs = JSON.parse((await pulumi("stack", "output", "--json")).stdout) as StackOutputs;
    expect(Object.keys(outputs.services)).toContain("default/web");
    const shown = await pulumi("preview", "--diff", "--non-interactive");
    expect(shown.stdout, shown.stderr).toMatch(/Resources:\n/);
    expect(await pulumi("destroy", "--yes")).toMatchObject({
      code: 1,
      stderr: "lotse: pulumi destroy is refused: `lotse destroy` deletes what the cluster has in the cloud\n",
    });
    expect(JSON.stringify(world.cloud.snapshot())).toBe(before);
  });

  it("continue in a dry run, which writes nothing to cloud or cluster and takes no lease", async () => {
    const writes = world.cloud.journal.writes.length;
    const events = (await world.events()).length;
    const controller = world.startController(["--dry-run", "--leader-elect=true"]);
    await eventually(() => expect(controller.records("would change").length).toBeGreaterThan(2), { timeoutMs: 90_000 });
    await eventually(() =>
      expect(controller.records("would be refused")).toMatchObject([{ object: "Service default/bad" }]),
    );
    await controller.stop();
    expect(world.cloud.journal.writes.length).toBe(writes);
    expect(await world.events()).toHaveLength(events);
  });

  it("leave no files except the requested ones", async () => {
    expect((await readdir(ROOT)).filter((name) => /^Pulumi\..+\.yaml$/.test(name))).toEqual(["Pulumi.kubernetes.yaml"]);
    await rm(join(ROOT, "Pulumi.kubernetes.yaml"));
  });

  /** The output of the plain command line in a checkout, with the stack that `lotse stack` wrote. */
  async function plainPreview(): Promise<Resources> {
    const directory = await mkdtemp(join(dir, "stack-"));
    const exported = await writeStack(commandConfig(FLAGS, env), FLAGS, directory);
    const args = ["preview", "--stack", "kubernetes", "--json", "--non-interactive"];
    const { stdout } = await run("pulumi", args, {
      cwd: ROOT,
      env: { HOME: directory, ...env, ...exported },
      maxBuffer: 64 * 1024 * 1024,
    });
    const { steps } = JSON.parse(stdout) as { steps: readonly { op: string; urn: string }[] };
    return steps
      .filter(({ op, urn }) => urn.includes("#") && ["create", "update", "replace", "delete"].includes(op))
      .map(({ op, urn }) => `${urn.split("::").slice(3).join("::")} ${op}`)
      .toSorted();
  }

  /** Replaces UIDs and server ids by numbers of nodes. */
  function withoutIds(line: string): string {
    const name = (id: string) =>
      world.cloud.state.servers.values().find((server) => String(server.id) === id)?.name ?? "";
    return line
      .replace(/@[0-9a-f]+/, "")
      .replace(/server-(\d+)/, (_, id: string) => name(id).replace("node", "server"));
  }
});

function fromForecast({ units }: Forecast): Resources {
  return units
    .flatMap(({ unit, parts }) => parts.map(({ part, operation }) => `${unit}#${part} ${operation}`))
    .toSorted();
}
