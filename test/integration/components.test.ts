import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openStack } from "../../dev-env/k3s/environment.ts";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import { StoredStack } from "../../stacks/engine/stack.ts";
import { backendFile } from "../../stacks/state/workspace.ts";
import { aBalancerSpec, aListener } from "../support/builders.ts";
import { startDevEnv } from "../support/dev-env.ts";
import { startEngineWorld } from "../support/engine.ts";

const PATIENT = { timeout: 300_000 };
const LOAD_BALANCER = "lotse:index:LoadBalancer";

/** Types of the components in a state, and of the children of its load balancer. */
function typesIn(resources: readonly { readonly urn: string; readonly type: string; readonly parent?: string }[]) {
  const balancer = resources.find(({ type }) => type === LOAD_BALANCER);
  const children = resources.filter(({ parent }) => parent !== undefined && parent === balancer?.urn);
  return new Set(children.map(({ type }) => type));
}

test("the controller and the environment build a load balancer from the same class", PATIENT, async () => {
  await using controller = await startEngineWorld();
  const spec = aBalancerSpec({
    network: { networkId: controller.networkId, publicInterface: true },
    listeners: [aListener(6443)],
    targets: [{ kind: "ip", ip: "203.0.113.7" }],
  });
  await controller.run({ units: [spec] });
  expect(controller.cloud.state.loadBalancers.find(spec.name)?.services).toHaveLength(1);
  const { checkpoint } = JSON.parse(await readFile(backendFile(controller.home), "utf8"));

  await using env = await startDevEnv();
  await env.up({ controlPlanes: "3", workers: "0" });
  expect(env.cloud.state.loadBalancers.find("dev-api")?.services).toHaveLength(1);
  const stack = await openStack(await env.environment(), "lotse-dev-env");
  const { resources = [] } = await stack.deployment();

  const types = [
    "loadBalancer:LoadBalancer",
    "loadBalancerNetwork:LoadBalancerNetwork",
    "loadBalancerService:LoadBalancerService",
    "loadBalancerTarget:LoadBalancerTarget",
  ];
  const expected = new Set(types.map((type) => `hcloud:index/${type}`));
  expect(typesIn(checkpoint.latest.resources)).toEqual(expected);
  expect(typesIn(resources)).toEqual(expected);
});

test("every component works in a program of another project, and is left alone afterwards", PATIENT, async () => {
  await using env = await startDevEnv();
  const directory = await mkdtemp(join(tmpdir(), "lotse-components-"));
  await using ends = new AsyncDisposableStack();
  ends.defer(() => rm(directory, { recursive: true, force: true }));
  await writeFile(join(directory, "passphrase"), "secret");
  const { binDir, pulumiHome } = await ensureToolchain(["pulumi", "pulumi-language-nodejs", "pulumi-resource-hcloud"]);
  const stack = await StoredStack.open({
    name: "production",
    program: fileURLToPath(new URL("../support/components-program", import.meta.url)),
    pulumi: join(binDir, "pulumi"),
    plugins: join(pulumiHome, "plugins"),
    directory,
    configFile: join(directory, "config.yaml"),
    env: { ...process.env, HCLOUD_TOKEN: env.cloud.token, HCLOUD_ENDPOINT: env.cloud.url },
  });
  const outputs = await stack.up();
  const { state } = env.cloud;
  const network = state.networks.find("production");
  const balancer = state.loadBalancers.find("web");
  expect(outputs).toEqual({
    ipv4: balancer?.public_net.ipv4.ip,
    privateIp: balancer?.private_net[0]?.ip,
    routeId: `${network?.id}-10.244.1.0/24`,
  });
  expect(network?.routes).toEqual([{ destination: "10.244.1.0/24", gateway: "10.0.0.11" }]);
  expect(balancer?.targets).toHaveLength(2);
  expect(balancer?.public_net.ipv4.dns_ptr).toBe("www.example.com");
  expect(balancer?.services[0]?.http?.certificates).toEqual([state.certificates.find("www-2026")?.id]);
  expect(state.firewalls.find("production")?.applied_to).toHaveLength(2);
  expect(state.servers.find("web-1")?.private_net[0]?.ip).toBe("10.0.0.11");

  expect(await stack.preview({ refresh: true })).toEqual([]);
  await stack.destroy();
  expect(Object.values(env.counts())).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
});
