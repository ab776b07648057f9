import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { aPair, aTlsSecret } from "../support/certificates.ts";
import { runCommand, startCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

const OWNER = "hcloud-ccm/service-uid";
const RELEASED = "lotse/released";
const FINALIZER = "service.kubernetes.io/load-balancer-cleanup";
const CIDR = "--cluster-cidr=10.244.0.0/16";
const SERVICES = ["managed", "uploaded", "bare"];
const PATIENT = { timeoutMs: 100_000 };
/** The rate limit recovers within a second. */
const CLOUD = { rateLimit: { perHour: 360_000 } };
/** When a Lease that is no longer renewed expires. */
const LEASE_MS = 15_000;

/** One cluster that is released, adopted again, and destroyed, with faults. The tests depend on their order. */
describe("release and destroy with faults", { timeout: 180_000 }, () => {
  let world: World;
  const lotse = (...args: readonly string[]) => runCommand(world, args);
  const service = (name: string) => world.core.readNamespacedService({ namespace: "default", name });
  const uids = () => Promise.all(SERVICES.map(async (name) => (await service(name)).metadata?.uid ?? ""));
  const claimed = async () => {
    const { items } = await world.core.listNamespacedService({ namespace: "default" });
    return items.flatMap(({ metadata }) => (metadata?.finalizers?.includes(FINALIZER) ? [metadata.name] : []));
  };
  const balancers = () => world.cloud.state.loadBalancers.values();
  const certificates = () => world.cloud.state.certificates.values();
  const labelsOf = (label: string) =>
    [...balancers(), ...certificates()].flatMap(({ labels }) => labels[label] ?? []).toSorted();
  const ids = () => [...balancers(), ...certificates()].map(({ id }) => id).toSorted();
  const balancerOf = (uid: string) => balancers().find(({ labels }) => labels[OWNER] === uid)?.id ?? 0;

  /** Runs a controller until it has nothing left to do. */
  async function startLeader() {
    const controller = world.startController(["--leader-elect=true"], { LOTSE_TLS_SECRETS: "true" });
    await eventually(async () => {
      for (const name of SERVICES) expect((await service(name)).status?.loadBalancer?.ingress).toHaveLength(3);
      expect(certificates().filter(({ used_by, labels }) => used_by.length > 0 && labels[OWNER])).toHaveLength(2);
      const owned = balancers().filter(({ labels }) => labels[OWNER]);
      expect(owned).toHaveLength(3);
      for (const { services, targets } of owned) expect([services.length, targets.length]).toEqual([1, 1]);
      expect(world.cloud.state.networks.get(world.networkId)?.routes).toHaveLength(1);
    }, PATIENT);
    return controller;
  }

  beforeAll(async () => {
    world = await startWorld({ nodes: 1, cloud: CLOUD, tlsSecrets: true, isQuick: true });
    const { type = "", data = {} } = aTlsSecret("tls", aPair());
    await world.core.createNamespacedSecret({ namespace: "default", body: { metadata: { name: "tls" }, type, data } });
    const managed = { "certificate-type": "managed", "http-managed-certificate-domains": "example.com" };
    await world.createService("managed", { protocol: "https", ...managed }, [443]);
    await world.createService("uploaded", { protocol: "https", "tls-secret": "tls" }, [443]);
    await world.createService("bare");
  });
  beforeEach(() => world.cloud.faults.clear());
  afterAll(() => world?.[Symbol.asyncDispose]());

  it("release and destroy refuse to run beside a leading controller", async () => {
    const controller = await startLeader();
    const writes = world.cloud.journal.writes.length;
    for (const command of ["release", "destroy"]) {
      const { code, stderr } = await lotse(command, CIDR, "--yes");
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(/^lotse: a controller is running \(\S+ holds the Lease .*\)\. Stop it first/),
      });
    }
    await controller.stop();
    expect(world.cloud.journal.writes.length).toBe(writes);
    expect(await claimed()).toEqual(expect.arrayContaining(SERVICES));
  });

  it("release keeps finalizers if a list lacks a load balancer, and leaves certificates without an owner", async () => {
    const [before, owners] = [ids(), await uids()];
    const missing = balancerOf(owners[2] ?? "");
    world.cloud.faults.add({ path: "/load_balancers", times: 3, effect: { kind: "short-list", ids: [missing] } });
    expect(await lotse("release", "--yes")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("checking again"),
    });
    expect(labelsOf(OWNER)).toEqual([]);
    expect(labelsOf(RELEASED)).toEqual([...owners, ...owners.slice(0, 2)].toSorted());
    expect([ids(), await claimed()]).toEqual([before, []]);
    expect(await lotse("release", "--yes")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Cluster kubernetes .*: nothing to release\n$/),
    });
  });

  it("a new controller adopts load balancers and certificates, and creates no others", async () => {
    const before = ids();
    const controller = await startLeader();
    expect([ids(), labelsOf(RELEASED)]).toEqual([before, []]);
    await controller.stop();
  });

  it("destroy reports failures, and does not trust a list that lacks what it could not delete", async () => {
    const [, , bare = ""] = await uids();
    const missing = balancerOf(bare);
    world.cloud.faults.add({
      method: "DELETE",
      path: `/load_balancers/${missing}`,
      effect: { kind: "error", code: "server_error", status: 500 },
    });
    // The command reads the first two lists before it changes anything.
    world.cloud.faults.add({ path: "/load_balancers", skip: 2, effect: { kind: "short-list", ids: [missing] } });
    const { code, stdout } = await lotse("destroy", CIDR, "--yes");
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringMatching(
        new RegExp(`! failed: Service default/bare: load balancer \\S+ \\(id ${missing}\\) still exists, but the API`),
      ),
    });
    expect(labelsOf(OWNER)).toEqual([bare]);
    expect(await claimed()).toEqual(["bare"]);
  });

  it("destroy can be repeated after a kill, despite 429 and 500, until nothing is left", async () => {
    const controller = await startLeader();
    await controller.stop();
    world.cloud.faults.add({
      method: "DELETE",
      path: "/load_balancers/*",
      skip: 1,
      effect: { kind: "latency", ms: 8_000 },
    });
    const before = balancers().length;
    const killed = startCommand(world, ["destroy", CIDR, "--yes"]);
    await eventually(() => expect(balancers().length).toBeLessThan(before), PATIENT);
    killed.child.kill("SIGKILL");
    await killed.ended;
    world.cloud.faults.clear();
    expect(balancers().length).toBeGreaterThan(0);
    for (const code of ["rate_limit_exceeded", "server_error"]) {
      world.cloud.faults.add({ method: "DELETE", times: 2, effect: { kind: "error", code } });
      world.cloud.faults.add({ method: "GET", times: 2, skip: 3, effect: { kind: "error", code } });
    }
    const { stdout } = await eventually(
      async () => {
        const again = await lotse("destroy", CIDR, "--yes");
        expect(again).toMatchObject({ code: 0 });
        return again;
      },
      { timeoutMs: LEASE_MS + 100_000 },
    );
    expect(stdout).toMatch(/^Cluster kubernetes .*: deleted its cloud resources/m);
    expect([ids(), await claimed()]).toEqual([[], []]);
    expect(world.cloud.state.networks.get(world.networkId)?.routes).toEqual([]);
    expect(await lotse("destroy", CIDR, "--yes")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Cluster kubernetes .*: nothing to destroy\n$/),
    });
  });
});
