import { get as getPlain } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { RbacAuthorizationV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../dev-env/cluster/cluster.ts";
import { findFreePort } from "../../dev-env/cluster/loopback.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { askSecurePort } from "../support/secure-port.ts";
import { startWorld, type World } from "../support/world.ts";

/** Flags of HCCM's chart with networking and one replica (HCCM F1 to F7). */
const OFFICIAL_ARGS = [
  "--allow-untagged-cloud",
  "--cloud-provider=hcloud",
  "--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=true",
  "--route-reconciliation-period=30s",
  "--webhook-secure-port=0",
  "--leader-elect=false",
  "--allocate-node-cidrs=true",
  "--cluster-cidr=10.244.0.0/16",
];

describe("a controller in place of HCCM", () => {
  let world: World;
  let controller: ControllerProcess;
  let securePort: number;
  let metricsPort: number;

  beforeAll(async () => {
    world = await startWorld({ nodes: 2 });
    [securePort, metricsPort] = [await findFreePort(), await findFreePort()];
    await world.createService("web", { "use-private-ip": "true" });
    controller = world.startController([...OFFICIAL_ARGS, `--secure-port=${securePort}`, "--bind-address=127.0.0.1"], {
      HCLOUD_METRICS_ENABLED: "true",
      HCLOUD_METRICS_ADDRESS: `127.0.0.1:${metricsPort}`,
    });
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  const plain = (path: string) =>
    new Promise<{ status: number; body: string }>((resolve, reject) => {
      getPlain({ host: "127.0.0.1", port: metricsPort, path, agent: false }, async (response) =>
        resolve({ status: response.statusCode ?? 0, body: await text(response) }),
      ).on("error", reject);
    });
  const secure = (path: string, token?: string) => askSecurePort(securePort, path, token);
  const ingress = async () =>
    (await world.core.readNamespacedService({ namespace: "default", name: "web" })).status?.loadBalancer?.ingress ?? [];

  it("HCCM F1 to F7, D3: starts with HCCM's flags and environment, and reports once which have no effect", async () => {
    await eventually(async () => expect((await ingress()).length).toBeGreaterThan(0), { timeoutMs: 90_000 });
    const warnings = controller.records().filter(({ msg }) => / has no effect: /.test(msg));
    expect(warnings.map(({ msg }) => msg.split(" ")[0]).toSorted()).toEqual([
      "--allocate-node-cidrs",
      "--allow-untagged-cloud",
      "--feature-gates",
      "--route-reconciliation-period",
      "--webhook-secure-port",
    ]);
  });

  it("serves probes to everyone, and other paths to users whom the API server authorises", async () => {
    for (const path of ["/healthz", "/livez", "/readyz"])
      expect(await secure(path)).toEqual({ status: 200, body: "ok" });
    expect((await secure("/readyz?verbose")).body).toContain("[+]caches ok\n[+]cloud ok\n[+]engine ok\n");
    for (const path of ["/metrics", "/metrics/slis", "/configz"]) expect((await secure(path)).status).toBe(403);
    expect((await secure("/metrics", "not-a-token")).status).toBe(401);
    const token = await tokenOf("scraper");
    expect((await secure("/metrics", token)).status).toBe(403);
    await letScrape("system:serviceaccount:default:scraper");
    // Denials are cached for ten seconds.
    await eventually(async () => expect((await secure("/metrics", token)).status).toBe(200), { timeoutMs: 30_000 });
    expect((await secure("/metrics/slis", token)).body).toMatch(
      /^kubernetes_healthcheck\{name="caches",type="readyz"\} 1$/m,
    );
    const configz = await secure("/configz", token);
    expect(JSON.parse(configz.body)["cloudcontrollermanager.config.k8s.io"]).toMatchObject({
      clusterCidrs: ["10.244.0.0/16"],
      endpoint: world.cloud.url,
    });
    expect(configz.body).not.toContain(world.cloud.token);
  });

  it("HCCM O1 to O4: serves metrics without names of objects", async () => {
    // Nodes are initialised by a loop of their own, whatever the Services wait for.
    const { status, body } = await eventually(async () => {
      const answer = await plain("/metrics");
      expect(answer.body).toMatch(/^node_controller_initial_node_sync_delay_seconds_count 2$/m);
      return answer;
    });
    expect(status).toBe(200);
    expect(body).toMatch(/^hcloud_api_requests_total\{code="201",method="post",api_endpoint="\/load_balancers"\} 1$/m);
    expect(body).toMatch(
      /^cloud_controller_manager_operations_total\{op="hcloud\/loadBalancers.EnsureLoadBalancer"\} \d/m,
    );
    expect(body).toMatch(/^lotse_engine_worker_starts_total [1-9]/m);
    expect(body).toMatch(/^lotse_runs_total\{result="applied"\} \d/m);
    expect(body).not.toMatch(/node-1|default\/web/);
  });

  it("logs one line for each change in the cloud, with its Service, run and reason", () => {
    const creations = controller.records("cloud changed").filter(({ part }) => part === "balancer");
    expect(creations).toEqual([
      expect.objectContaining({
        object: "Service default/web",
        operation: "create",
        run: expect.stringMatching(/-\d+$/),
        reason: "Service default/web is of type LoadBalancer",
      }),
    ]);
  });

  it("logs nothing at level info while the cluster is at rest", async () => {
    const calls = () => world.cloud.journal.count({ method: "GET", path: "**/load_balancers" });
    await eventually(() => expect(controller.records("run finished").length).toBeGreaterThan(0));
    const settled = calls();
    await eventually(() => expect(calls()).toBeGreaterThan(settled + 2));
    const [lines, seen] = [controller.records().length, calls()];
    await eventually(() => expect(calls()).toBeGreaterThan(seen + 3), { timeoutMs: 60_000 });
    await setTimeout(100);
    expect(controller.records().slice(lines)).toEqual([]);
  });

  it("never writes the token anywhere", () => {
    expect(controller.output).not.toContain(world.cloud.token);
  });

  async function tokenOf(name: string): Promise<string> {
    const namespace = "default";
    await world.core.createNamespacedServiceAccount({ namespace, body: { metadata: { name } } });
    const body = { spec: { audiences: [], expirationSeconds: 600 } };
    return (await world.core.createNamespacedServiceAccountToken({ name, namespace, body })).status?.token ?? "";
  }

  async function letScrape(user: string): Promise<void> {
    const rbac = connect(world.cluster.kubeconfig, RbacAuthorizationV1Api);
    const name = "scrape";
    await rbac.createClusterRole({
      body: {
        metadata: { name },
        rules: [{ nonResourceURLs: ["/metrics", "/metrics/slis", "/configz"], verbs: ["get"] }],
      },
    });
    await rbac.createClusterRoleBinding({
      body: {
        metadata: { name },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
      },
    });
  }
});
