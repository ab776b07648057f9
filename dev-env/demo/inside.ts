/** The demo with real nodes, inside the namespaces of its world: what happens before and after the controller starts. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { request } from "node:http";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { installChart } from "../nodes/chart.ts";
import { enclaveOf } from "../nodes/enclave.ts";
import { provideNodeTools } from "../nodes/tools.ts";
import { startWorld, type World } from "../nodes/world.ts";
import { type LogRecord, narrate } from "../terminal/narrate.ts";
import type { Toolchain } from "../toolchain/toolchain.ts";
import { environmentOf, shellSettings } from "./env-file.ts";
import { CONTROLLER_FLAGS } from "./local.ts";
import { elapsed, say, show } from "./screen.ts";

const APP = ["../nodes/echo.yaml", "../examples/web.yaml"].map((file) => fileURLToPath(new URL(file, import.meta.url)));
const TAINTS = "--output=jsonpath={.items[*].spec.taints[*].key}";
const UNINITIALISED = "node.cloudprovider.kubernetes.io/uninitialized";
const READY_REPLICAS = "--output=jsonpath={.status.readyReplicas}";
const REPLICAS = ["--namespace=kube-system", "--selector=app.kubernetes.io/name=lotse"];
const WITHOUT_CONTROLLER = "no-controller";
const WITH_INGRESS = "ingress";
const INGRESS = fileURLToPath(new URL("../nodes/ingress.yaml", import.meta.url));
/** The host name under which the ingress controller serves the example. */
const HOST = "web.example.com";
const POLL_MS = 200;
const READY_MS = 120_000;
const [script = ".lotse/world", mode] = process.argv.slice(2);
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());

try {
  await demo();
} catch (error) {
  if (!stop.signal.aborted) {
    process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
    process.exitCode = 1;
  }
}
// Ends everything in the world, because this is the first process in it.
process.exit();

async function demo(): Promise<void> {
  const tools = await provideNodeTools();
  say("world", "starting the simulated cloud, etcd, kube-apiserver and three machines …");
  const world = await startWorld({
    tools,
    say: (text) => say("machine", text),
    cloud: { latencyMs: 40, actionMs: 500 },
  });
  const settings = await shellSettings(environmentOf(world.cloud, world.cluster), tools, resolve(dirname(script)));
  await writeFile(join(enclaveOf(process.env).dir, "env"), settings);
  await until(async () => (await world.kubectl("get", "nodes")).split(" Ready ").length === 4);
  // Kubernetes removes the taint `not-ready` a moment later.
  await until(async () => (await world.kubectl("get", "nodes", TAINTS)) === Array(3).fill(UNINITIALISED).join(" "));
  say("node", "three Nodes are Ready, with the taint that a cloud controller must remove");
  if (mode === WITHOUT_CONTROLLER) return await waitWithoutController();

  await world.kubectl("apply", ...APP.map((file) => `--filename=${file}`));
  if (mode === WITH_INGRESS) await installIngress(world);
  await until(async () => (await failures(world)) !== "");
  say("pods", `default/web is Pending. FailedScheduling: ${await failures(world)}`);
  const following = await startController(world, tools);
  const url = await until(() => answeredUrl(world, 8080));
  const ingress = mode === WITH_INGRESS ? [await until(() => answeredUrl(world, 80, HOST))] : [];
  say("ready", `after ${elapsed()}\n`);
  process.stdout.write(await world.kubectl("get", "nodes,pods,services", "--output=wide"));
  process.stdout.write(nextSteps(url, ingress));
  await stopped();
  following.kill();
}

/** Leaves the controller to the user. */
async function waitWithoutController(): Promise<void> {
  say("ready", `after ${elapsed()}, without a controller`);
  const commands = [
    ["", "a shell in the world, with kubectl, helm and lotse"],
    [`lotse run ${CONTROLLER_FLAGS.join(" ")}`, "the controller"],
  ];
  process.stdout.write(inWords(commands));
  await stopped();
}

async function stopped(): Promise<void> {
  await once(stop.signal, "abort");
  say("stopping", "machines, cluster and cloud …");
}

/** Installs the controller, and waits until it has let the pods start. Returns the process that shows its log. */
async function startController(world: World, tools: Toolchain): Promise<ChildProcess> {
  await installChart(world);
  say("controller", "helm install lotse controller/deploy/chart: two replicas, in the cluster they serve");
  const phases = "--output=jsonpath={.items[*].status.phase}";
  await until(async () => (await world.kubectl("get", "pods", ...REPLICAS, phases)) === "Running Running");
  const following = followLog(world, tools);
  await until(async () => (await world.kubectl("get", "deployment", "web", READY_REPLICAS)) === "3");
  say("pods", "default/web: three pods are Running, one on each node");
  return following;
}

/** Repeats a question until the answer is neither false nor undefined. Throws after two minutes, and at Ctrl-C. */
async function until<T>(ask: () => Promise<T>): Promise<Exclude<T, false | undefined>> {
  const deadline = performance.now() + READY_MS;
  for (;;) {
    stop.signal.throwIfAborted();
    const answer = await ask();
    // Only these two values mean "not yet".
    if (answer !== false && answer !== undefined) return answer as Exclude<T, false | undefined>;
    if (performance.now() > deadline) throw new Error(`not ready after ${READY_MS / 1000} s: ${ask}`);
    await delay(POLL_MS);
  }
}

/** The scheduler's reason; empty if it has not tried yet. */
async function failures(world: World): Promise<string> {
  const message = "--output=jsonpath={.items[0].message}";
  const text = await world
    .kubectl("get", "events", "--field-selector=reason=FailedScheduling", message)
    .catch(() => "");
  return text.split(". ")[0] ?? "";
}

/** Shows the main events in the logs of both replicas, from their beginning. */
function followLog(world: World, tools: Toolchain): ChildProcess {
  const logs = ["logs", "--follow", "--tail=-1", "--ignore-errors", ...REPLICAS];
  const child = spawn(tools.paths.kubectl, ["--kubeconfig", world.cluster.kubeconfig, ...logs], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (!line.startsWith("{")) return;
    const record: LogRecord = JSON.parse(line);
    const shown = narrate(record);
    if (shown) show(shown);
  });
  return child;
}

/** Traefik, with the example as one of its sites. */
async function installIngress(world: World): Promise<void> {
  await world.kubectl("apply", `--filename=${INGRESS}`);
  const backend = { service: { name: "web", port: { number: 8080 } } };
  await world.apply({
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "web" },
    spec: {
      ingressClassName: "traefik",
      rules: [{ host: HOST, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }],
    },
  });
  say("ingress", `Traefik applied, with an Ingress for ${HOST}`);
}

/** The URL of the load balancer with this port, once it answers requests for the host. */
async function answeredUrl({ cloud }: World, port: number, host?: string): Promise<string | undefined> {
  const hasPort = ({ listen_port }: { readonly listen_port: number }) => listen_port === port;
  const balancer = cloud.state.loadBalancers.values().find(({ services }) => services.some(hasPort));
  if (!balancer) return undefined;
  const url = `http://${balancer.public_net.ipv4.ip}:${port}/`;
  const status = await new Promise<number | undefined>((resolve) => {
    const headers = host === undefined ? {} : { host };
    const sent = request(url, { agent: false, headers, signal: AbortSignal.timeout(1_000) }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", () => resolve(undefined)).end();
  });
  return status === 200 ? url : undefined;
}

function nextSteps(url: string, ingress: readonly string[]): string {
  return inWords([
    [`curl ${url}`, "through the load balancer to a pod, which describes the request"],
    ...ingress.map((it) => [`curl --header 'Host: ${HOST}' ${it}`, "the same pods through Traefik's load balancer"]),
    ["kubectl get pods --all-namespaces --output=wide", "Lotse itself is one of them"],
    ["ip -netns private-network route", "Hetzner's routes to the pods of each node"],
    ["", "a shell in the world, with kubectl, helm and lotse"],
  ]);
}

function inWords(commands: readonly (readonly string[])[]): string {
  return `
Try it from another terminal, as root:

${commands.map(([command, comment]) => `  ${`sh ${script} ${command}`.trimEnd().padEnd(70)} # ${comment}`).join("\n")}

Ctrl-C stops everything and cleans up.

`;
}
