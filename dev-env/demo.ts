/**
 * What `npm start` runs: a Hetzner Cloud on loopback, a real control plane, three nodes, the real controller with the
 * real engine, and an example Service, told as it happens. Stays up until Ctrl-C, and leaves nothing behind.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Cloud, startCloud } from "./cloud/cloud.ts";
import { type Cluster, startCluster } from "./cluster/cluster.ts";
import { type Line, type LogRecord, narrate } from "./narrate.ts";
import { ProgressDisplay } from "./toolchain/progress.ts";
import { ensureToolchain, type Toolchain, ToolchainError, type ToolName } from "./toolchain/toolchain.ts";

const NODES = ["node-1", "node-2", "node-3"];
const CLUSTER_CIDR = "10.244.0.0/16";
/** What it takes; the rest is for tests. */
const TOOLS: readonly ToolName[] = ["pulumi", "pulumi-resource-hcloud", "etcd", "kube-apiserver", "kubectl"];
/** A cloud that feels like the real one, where things take a moment. */
const CLOUD_PACE = { latencyMs: 40, actionMs: 500 };
const CONTROLLER = fileURLToPath(new URL("../controller/main.ts", import.meta.url));
const EXAMPLE = fileURLToPath(new URL("examples/web.yaml", import.meta.url));

const started = performance.now();
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());

try {
  await demo();
} catch (error) {
  if (!stop.signal.aborted) {
    const isForPeople = error instanceof ToolchainError;
    process.stderr.write(`${isForPeople ? error.message : error instanceof Error ? error.stack : error}\n`);
    process.exitCode = 1;
  }
}

async function demo(): Promise<void> {
  const tools = await setUp();
  await using parts = new AsyncDisposableStack();
  const cloud = parts.adopt(await startCloud(CLOUD_PACE), (it) => it.stop());
  const network = cloud.addNetwork({ name: "cluster" });
  const servers = NODES.map((name) => cloud.addServer({ name, network: network.id }));
  say("cloud", `a Hetzner Cloud on ${cloud.url} with ${servers.length} servers and network ${network.ip_range}`);

  say("cluster", "starting etcd and kube-apiserver …");
  const cluster = parts.adopt(await startCluster(), (it) => it.stop());
  say("cluster", `API server ready on ${cluster.url}`);
  for (const [index, server] of servers.entries()) {
    const podCidr = `10.244.${index + 1}.0/24`;
    const nodeIp = server.private_net[0]?.ip;
    await cluster.registerNode({ name: server.name, podCidrs: [podCidr], ...(nodeIp && { nodeIp }) });
    say("node", `${server.name} registered as a kubelet would, tainted uninitialized, pods in ${podCidr}`);
  }

  const controller = startController(cluster, cloud, network.id);
  parts.adopt(controller, (it) => it.stop());
  await kubectl(tools, cluster, "apply", "-f", EXAMPLE);
  say("service", "default/web applied: type LoadBalancer, ports 80 and 443");
  const isReady = await Promise.race([controller.seen("service has its balancer"), aborted(), controller.ended]);
  if (isReady !== "seen") return stop.signal.aborted ? farewell() : fail(controller.logFile);

  await controller.quiet();
  say("ready", `in ${elapsed()}\n`);
  process.stdout.write(await kubectl(tools, cluster, "get", "nodes,services", "--output=wide"));
  process.stdout.write(nextSteps(tools, cluster, cloud, controller.logFile));
  await Promise.race([aborted(), controller.ended]);
  if (stop.signal.aborted) farewell();
  else fail(controller.logFile);
}

async function setUp(): Promise<Toolchain> {
  const display = new ProgressDisplay(process.stdout, true);
  try {
    return await ensureToolchain(TOOLS, display.report);
  } finally {
    display.close();
  }
}

/** The real controller, as a process of its own; its log is kept in full and told in short. */
function startController(cluster: Cluster, cloud: Cloud, networkId: number) {
  const logFile = join(cluster.dir, "controller.log");
  const flags = [
    "--kubeconfig",
    cluster.kubeconfig,
    "--cluster-cidr",
    CLUSTER_CIDR,
    "--leader-elect=false",
    "--secure-port=0",
    "--logging-format=json",
  ];
  const child = spawn(process.execPath, [CONTROLLER, "run", ...flags], {
    stdio: ["ignore", "ignore", "pipe"],
    env: {
      ...process.env,
      HCLOUD_TOKEN: cloud.token,
      HCLOUD_ENDPOINT: cloud.url,
      HCLOUD_NETWORK: String(networkId),
      HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: "true",
      HCLOUD_METRICS_ENABLED: "false",
    },
    // Not in our group: a Ctrl-C reaches it through us, in order.
    detached: true,
  });
  const log = createWriteStream(logFile);
  const waiting = new Map<string, () => void>();
  let lastChange = performance.now();
  createInterface({ input: child.stderr }).on("line", (text) => {
    log.write(`${text}\n`);
    const record = parseRecord(text);
    const line = narrate(record);
    if (line) show(line);
    lastChange = performance.now();
    waiting.get(record.msg)?.();
  });
  const ended = once(child, "exit").then(() => "ended" as const);
  return {
    logFile,
    ended,
    seen: (message: string) => new Promise<"seen">((resolve) => waiting.set(message, () => resolve("seen"))),
    /** Resolves when the log has said nothing for a moment: what belongs together is told together. */
    quiet: async () => {
      while (performance.now() - lastChange < 300) await new Promise((resolve) => setTimeout(resolve, 100));
    },
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
      log.end();
    },
  };
}

/** Anything that is no record is an error message of the controller's. */
function parseRecord(text: string): LogRecord {
  try {
    return JSON.parse(text) as LogRecord;
  } catch {
    return { msg: text, level: 50 };
  }
}

async function kubectl(tools: Toolchain, cluster: Cluster, ...args: readonly string[]): Promise<string> {
  const child = spawn(tools.paths.kubectl, ["--kubeconfig", cluster.kubeconfig, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${output}`);
  return output;
}

function nextSteps(tools: Toolchain, cluster: Cluster, cloud: Cloud, logFile: string): string {
  const example = EXAMPLE.startsWith(process.cwd()) ? EXAMPLE.slice(process.cwd().length + 1) : EXAMPLE;
  return `
Try it from another terminal:

  export KUBECONFIG=${cluster.kubeconfig} PATH=${tools.binDir}:$PATH
  kubectl delete -f ${example}      # and the balancer goes

  the cloud's side:   curl -s -H "Authorization: Bearer ${cloud.token}" ${cloud.url}/load_balancers
  the controller's:   tail -f ${logFile}

Ctrl-C ends everything and leaves nothing behind.

`;
}

function say(topic: string, text: string): void {
  show({ topic, text });
}

function show({ topic, text, isTrouble }: Line): void {
  const isTerminal = process.stdout.isTTY;
  const colour = isTrouble ? 33 : topic === "ready" ? 32 : 36;
  const label = isTerminal ? `\u001b[${colour}m${topic.padEnd(10)}\u001b[0m` : topic.padEnd(10);
  process.stdout.write(`${elapsed().padStart(7)}  ${label} ${text}\n`);
}

function elapsed(): string {
  return `${((performance.now() - started) / 1000).toFixed(1)} s`;
}

function aborted(): Promise<"aborted"> {
  return new Promise((resolve) => {
    if (stop.signal.aborted) resolve("aborted");
    else stop.signal.addEventListener("abort", () => resolve("aborted"), { once: true });
  });
}

function farewell(): void {
  say("stopping", "controller, cluster and cloud are being taken down …");
}

/** The log goes with everything else, so its end is shown here. */
function fail(logFile: string): void {
  process.exitCode = 1;
  const end = readFileSync(logFile, "utf8").trimEnd().split("\n").slice(-10);
  say("trouble", `the controller ended by itself; its last words:\n${end.join("\n")}`);
}
