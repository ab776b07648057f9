import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DepartureReport } from "../../controller/commands/departure/departure-text.ts";
import { paths } from "../../controller/kube/paths.ts";
import { runCommand, startInTerminal } from "../support/command.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

const PREFIX = "load-balancer.hetzner.cloud/";
const FINALIZER = "service.kubernetes.io/load-balancer-cleanup";
const OWNER = "hcloud-ccm/service-uid";
const CIDR = "--cluster-cidr=10.244.0.0/16";
const NO_TERMINAL = spawnSync("script", ["--version"]).status !== 0;
if (NO_TERMINAL) process.stderr.write("status in a terminal is not tested: there is no program script\n");
const PATIENT = { timeoutMs: 100_000 };

/** One cluster from its first load balancer to its last. The tests depend on their order. */
describe("commands that change a cluster", { timeout: 150_000 }, () => {
  let world: World;
  let controller: ControllerProcess;
  const lotse = (...args: readonly string[]) => runCommand(world, args);
  const service = (name: string) => world.core.readNamespacedService({ namespace: "default", name });
  const balancerOf = async (name: string) => {
    const uid = (await service(name)).metadata?.uid;
    return world.cloud.state.loadBalancers.values().find(({ labels }) => labels[OWNER] === uid);
  };
  const annotate = (name: string, key: string, value: string) =>
    world.core.patchNamespacedService({
      namespace: "default",
      name,
      body: [{ op: "add", path: `/metadata/annotations/${PREFIX.replace("/", "~1")}${key}`, value }],
    });
  const hasAddress = async (name: string) =>
    expect((await service(name)).status?.loadBalancer?.ingress).not.toBeUndefined();

  const stateSecrets = async () =>
    (await world.core.listNamespacedSecret({ namespace: "kube-system" })).items.filter(
      ({ type }) => type === "lotse/state",
    );

  /** Adds pod ranges to the controller's status. */
  const publishRanges = async (...clusterCidrs: readonly string[]) => {
    const place = { namespace: "kube-system", name: "lotse-status-kubernetes" };
    const { data } = await world.core.readNamespacedConfigMap(place);
    const value = JSON.stringify({ ...JSON.parse(data?.status ?? "{}"), clusterCidrs });
    await world.core.patchNamespacedConfigMap({ ...place, body: [{ op: "replace", path: "/data/status", value }] });
  };

  beforeAll(async () => {
    world = await startWorld({ nodes: 1 });
    controller = world.startController();
    await world.createService("web");
    await eventually(() => hasAddress("web"), PATIENT);
    // The route follows once the node is initialised.
    const routes = () => world.cloud.state.networks.get(world.networkId)?.routes;
    await eventually(() => expect(routes()).toHaveLength(1), PATIENT);
  }, 150_000);
  afterAll(() => world?.[Symbol.asyncDispose]());

  it.skipIf(NO_TERMINAL).each([
    ["Ctrl-C", "\u0003"],
    ["q", "q"],
  ])("status refreshes in a terminal, fits the window, and stops with %s", async (_, key) => {
    const frames = (text: string) => text.split("\u001b[H").slice(1);
    const terminal = startInTerminal(world, ["status"], "rows 9 cols 60");
    await eventually(() => expect(frames(terminal.printed.stdout).length).toBeGreaterThan(2), PATIENT);
    terminal.child.stdin.write(key);
    const { code, stdout } = await terminal.ended;
    const [drawn = ""] = frames(stdout);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
    const lines = drawn.replaceAll(/\u001b\[[?\d]*[A-Za-z]/g, "").split("\r\n");
    expect(lines[0]).toMatch(/^Cluster kubernetes: in sync/);
    expect(lines[1]).toMatch(/^\d{4}-.*Z; q or Ctrl-C quits; context lotse/);
    expect(lines.filter((line) => line.length > 60)).toEqual([]);
    expect(lines.length, "with the cursor's").toBe(9);
    expect(lines.at(-2)).toMatch(/^… \d+ more lines/);
    expect([code, stdout.split("\u001b[?25l").length, stdout.split("\u001b[?25h").length]).toEqual([0, 2, 2]);
    expect(stdout.endsWith("\u001b[?25h\r\n")).toBe(true);
  });

  it("undo shows what it would restore, restores it, and the cloud follows", async () => {
    await annotate("web", "algorithm-type", "least_connections");
    await eventually(async () => expect((await balancerOf("web"))?.algorithm.type).toBe("least_connections"), PATIENT);
    const shown = await eventually(async () => {
      const looked = await lotse("undo", "default/web");
      expect(looked.code).toBe(2);
      return looked.stdout;
    }, PATIENT);
    expect(shown).toContain(`${PREFIX}algorithm-type: least_connections → (not set)`);
    expect((await balancerOf("web"))?.algorithm.type).toBe("least_connections");
    expect((await lotse("undo", "default/web", "--yes")).code).toBe(0);
    expect((await service("web")).metadata?.annotations).not.toHaveProperty(`${PREFIX}algorithm-type`);
    await eventually(async () => expect((await balancerOf("web"))?.algorithm.type).toBe("round_robin"), PATIENT);
  });

  it("undo rejects a Service that does not exist, and a name without a namespace", async () => {
    expect(await lotse("undo", "default/gone", "--yes")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        "Service default/gone does not exist: a deleted load balancer and its address cannot be restored",
      ),
    });
    expect(await lotse("undo", "web")).toMatchObject({ code: 1, stderr: expect.stringContaining("default/web") });
  });

  it("release and destroy refuse to run beside a leading controller, and change nothing without --yes", async () => {
    await controller.stop();
    const writes = world.cloud.journal.writes.length;
    expect(await lotse("release")).toMatchObject({
      code: 2,
      stdout: expect.stringMatching(/< Service default\/web: kept, no longer managed/),
    });
    expect(await lotse("destroy", CIDR)).toMatchObject({
      code: 2,
      stdout: expect.stringMatching(
        /- Service default\/web: deleted, load balancer[\s\S]*- route 10\.244\.1\.0\/24: deleted[\s\S]*\nto proceed: lotse destroy --cluster-cidr 10\.244\.0\.0\/16 --yes\n$/,
      ),
    });
    expect((await lotse("destroy")).stdout).toContain("\nnote: no Lease found: ");
    // The controller has left the ranges beside its status (B10).
    expect((await lotse("destroy")).stdout).toContain("- route 10.244.1.0/24: deleted");
    await publishRanges();
    expect((await lotse("destroy")).stdout).toContain("= route 10.244.1.0/24: kept");
    expect((await lotse("destroy", "--configure-cloud-routes=false")).stdout).toContain("= route 10.244.1.0/24: kept");
    const settled = await lotse("adopt", CIDR);
    expect(settled).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Service default\/web has load balancer .*: no changes$/m),
    });
    expect(settled.stdout.match(/^Cluster /gm)).toHaveLength(1);
    const name = "cloud-controller-manager";
    await world.observer.create(paths.lease("kube-system"), {
      metadata: { name },
      spec: {
        holderIdentity: "pod-7",
        leaseDurationSeconds: 600,
        renewTime: new Date().toISOString().replace("Z", "000Z"),
      },
    });
    for (const command of ["release", "destroy"]) {
      const stderr = `lotse: a controller is running (pod-7 holds the Lease ${name}). Stop it first. If it crashed, retry in 15 s.\n`;
      expect(await lotse(command, CIDR, "--yes")).toMatchObject({ code: 1, stderr });
    }
    await world.observer.delete(paths.lease("kube-system", name));
    expect(world.cloud.journal.writes.length).toBe(writes);
    expect((await service("web")).metadata?.finalizers).toContain(FINALIZER);
  });

  it.skipIf(NO_TERMINAL).each([
    ["another name", "kubernete\r"],
    ["Ctrl-C", "\u0003"],
    ["Ctrl-D", "\u0004"],
  ])("release changes nothing when its question is answered with %s", async (_, keys) => {
    const terminal = startInTerminal(world, ["release"], "rows 40 cols 200");
    await eventually(() => expect(terminal.printed.stdout).toContain("Type the cluster's name, kubernetes"), PATIENT);
    terminal.child.stdin.write(keys);
    const { code, stdout } = await terminal.ended;
    expect(code).toBe(2);
    expect(stdout).toMatch(/^Cluster kubernetes \(context lotse, https:.*\): would keep its load balancers/);
    expect(stdout).toContain("nothing was changed");
    expect((await service("web")).metadata?.finalizers).toContain(FINALIZER);
  });

  it.skipIf(NO_TERMINAL)("release changes nothing when the cloud has changed while it asked", async () => {
    const terminal = startInTerminal(world, ["release"], "rows 40 cols 200");
    await eventually(() => expect(terminal.printed.stdout).toContain("Type the cluster's name"), PATIENT);
    const { id, name } = (await balancerOf("web")) ?? {};
    await world.changeCloud("PUT", `/load_balancers/${id}`, { name: "renamed" });
    terminal.child.stdin.write("kubernetes\r");
    expect(await terminal.ended).toMatchObject({ code: 1, stdout: expect.stringContaining("nothing was changed") });
    expect((await service("web")).metadata?.finalizers).toContain(FINALIZER);
    await world.changeCloud("PUT", `/load_balancers/${id}`, { name });
  });

  it("release leaves load balancers unchanged, and they outlive their Services", async () => {
    const before = await balancerOf("web");
    const addresses = (await service("web")).status?.loadBalancer?.ingress;
    if (NO_TERMINAL) expect(await lotse("release", "--yes")).toMatchObject({ code: 0 });
    else {
      const terminal = startInTerminal(world, ["release"], "rows 40 cols 200");
      await eventually(() => expect(terminal.printed.stdout).toContain("Type the cluster's name"), PATIENT);
      terminal.child.stdin.write("kubernetes\r");
      expect(await terminal.ended).toMatchObject({ code: 0 });
    }
    const after = world.cloud.state.loadBalancers.get(before?.id ?? 0);
    expect(after?.labels).not.toHaveProperty(OWNER);
    expect(after).toMatchObject({ name: before?.name, services: before?.services, targets: before?.targets });
    expect(world.cloud.state.networks.get(world.networkId)?.routes).toHaveLength(1);
    const { metadata, status } = await service("web");
    expect(metadata?.finalizers ?? []).not.toContain(FINALIZER);
    expect(status?.loadBalancer?.ingress).toEqual(addresses);
    expect(await stateSecrets()).toEqual([]);
    expect(await lotse("release")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Cluster kubernetes \(context lotse, .*\): nothing to release\n$/),
    });
    const again = /^Service default\/web would take over load balancer .*: 1 resource to change$/m;
    expect(await lotse("adopt", CIDR)).toMatchObject({ code: 2, stdout: expect.stringMatching(again) });
    await world.core.deleteNamespacedService({ namespace: "default", name: "web" });
    expect(world.cloud.state.loadBalancers.get(before?.id ?? 0)).toBeDefined();
  });

  it("destroy deletes the cluster's resources that may be deleted, and nothing else", async () => {
    await world.changeCloud("POST", "/load_balancers", {
      name: "theirs",
      load_balancer_type: "lb11",
      location: "fsn1",
    });
    await world.createService("shop");
    await world.createService("held", { name: "held", "delete-protection": "true" });
    await world.createService("kept", { name: "kept", "on-delete": "keep" });
    controller = world.startController();
    for (const name of ["shop", "held", "kept"]) await eventually(() => hasAddress(name), PATIENT);
    await controller.stop();
    const shop = await balancerOf("shop");
    const effect = { kind: "slow-action", ms: 3_000 } as const;
    world.cloud.faults.add({ method: "POST", path: "/networks/*/actions/delete_route", effect });
    const { code, stdout, stderr } = await lotse("destroy", CIDR, "--yes", "--json");
    expect(stderr, "it waits for slow actions").toBe("");
    const { dispositions, isDone } = JSON.parse(stdout) as DepartureReport;
    expect({
      code,
      isDone,
      dispositions: dispositions.map(({ object, disposition }) => `${object} ${disposition}`).toSorted(),
    }).toEqual({
      code: 0,
      isDone: true,
      dispositions: [
        "Service default/held stays",
        "Service default/kept left behind",
        "Service default/shop deleted",
        "route 10.244.1.0/24 deleted",
      ],
    });
    const names = world.cloud.state.loadBalancers.values().map((balancer) => balancer.name);
    expect(names).toEqual(expect.arrayContaining(["held", "kept", "theirs"]));
    expect(names).not.toContain(shop?.name);
    expect(names).toHaveLength(4); // including the released one
    expect(world.cloud.state.networks.get(world.networkId)?.routes).toEqual([]);
    for (const name of ["shop", "held", "kept"]) {
      const { metadata, status } = await service(name);
      expect([metadata?.finalizers ?? [], status?.loadBalancer?.ingress]).toEqual([[], undefined]);
    }
    expect(await stateSecrets()).toEqual([]);
    const { stdout: record } = await lotse("audit", "default/shop", "--verbose");
    expect(record).toMatch(
      /existence: present → \(not set\) {3}\(lotse destroy\)\n[\s\S]*DELETE \/load_balancers\/\d+ {2}20\d/,
    );
    expect(await lotse("destroy", CIDR, "--yes")).toMatchObject({ code: 0 });
  });
});
