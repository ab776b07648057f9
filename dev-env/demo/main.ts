/**
 * What `npm start` runs: a Hetzner Cloud on loopback, a real control plane, three nodes, the real controller with the
 * real engine, and an example Service, told as it happens. Stays up until Ctrl-C, and leaves nothing behind. With
 * `--no-controller` it stops before the controller: to see a cluster without one, and to start it by hand.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { ProgressDisplay } from "../toolchain/progress.ts";
import { ensureToolchain, type Toolchain, ToolchainError, type ToolName } from "../toolchain/toolchain.ts";
import { CONTROLLER_FLAGS, type Local, startLocal } from "./local.ts";
import { type Line, type LogRecord, narrate } from "./narrate.ts";

/** What it takes; the rest is for tests. */
const TOOLS: readonly ToolName[] = ["pulumi", "pulumi-resource-hcloud", "etcd", "kube-apiserver", "kubectl"];
/** A cloud that feels like the real one, where things take a moment, and whose balancers carry traffic. */
const CLOUD = { latencyMs: 40, actionMs: 500, dataPlane: { timeScale: 0.1 } };
const CONTROLLER = fileURLToPath(new URL("../../controller/main.ts", import.meta.url));
const EXAMPLE = fileURLToPath(new URL("../examples/web.yaml", import.meta.url));
const ENV_FILE = fileURLToPath(new URL("../../.lotse/env", import.meta.url));

const run = promisify(execFile);
const { values: options } = parseArgs({ options: { "no-controller": { type: "boolean", default: false } } });
const started = performance.now();
const stop = new AbortController();

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
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());
  await using parts = new AsyncDisposableStack();
  const local = await startLocal({ tools, envFile: ENV_FILE, cloud: CLOUD, say }, parts);
  if (options["no-controller"]) return await waitWithout();

  const controller = startController(local);
  parts.adopt(controller, (it) => it.stop());
  await kubectl(tools, local, "apply", "-f", EXAMPLE);
  say("service", "default/web applied: type LoadBalancer, ports 80 and 443");
  const isReady = await Promise.race([controller.seen("service has its load balancer"), aborted(), controller.ended]);
  if (isReady !== "seen") return stop.signal.aborted ? farewell() : fail(controller.logFile);

  await controller.quiet();
  say("ready", `in ${elapsed()}\n`);
  process.stdout.write(await kubectl(tools, local, "get", "nodes,services", "--output=wide"));
  process.stdout.write(nextSteps(local, controller.logFile));
  await Promise.race([aborted(), controller.ended]);
  if (stop.signal.aborted) farewell();
  else fail(controller.logFile);
}

/** The cluster as it is without a controller. */
async function waitWithout(): Promise<void> {
  say("ready", `in ${elapsed()}, without a controller`);
  process.stdout.write(`
From another terminal:

  source ${shown(ENV_FILE)}
  kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints[*].key,PROVIDER:.spec.providerID
  lotse run --kubeconfig $KUBECONFIG ${CONTROLLER_FLAGS.join(" ")}

Ctrl-C ends everything and leaves nothing behind.

`);
  await aborted();
  farewell();
}

async function setUp(): Promise<Toolchain> {
  const display = new ProgressDisplay(process.stdout);
  try {
    return await ensureToolchain(TOOLS, display.report);
  } finally {
    display.close();
  }
}

/** The real controller, as a process of its own; its log is kept in full and told in short. */
function startController({ cluster, environment }: Local) {
  const logFile = join(cluster.dir, "controller.log");
  const flags = ["--kubeconfig", cluster.kubeconfig, ...CONTROLLER_FLAGS, "--logging-format=json"];
  const child = spawn(process.execPath, [CONTROLLER, "run", ...flags], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, ...environment },
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

async function kubectl(tools: Toolchain, { cluster }: Local, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run(tools.paths.kubectl, ["--kubeconfig", cluster.kubeconfig, ...args]);
  return stdout;
}

function nextSteps({ cloud }: Local, logFile: string): string {
  const [balancer] = cloud.state.loadBalancers.values();
  const address = cloud.problems().length === 0 ? balancer?.public_net.ipv4.ip : undefined;
  const commands = [
    [`source ${shown(ENV_FILE)}`, "KUBECONFIG, HCLOUD_*, kubectl and lotse"],
    ...(address ? [[`curl http://${address}/`, "through the balancer to a node"]] : []),
    ["lotse preview", "what the controller would change right now"],
    [`kubectl delete -f ${shown(EXAMPLE)}`, "and the balancer goes"],
  ];
  return `
Try it from another terminal:

${commands.map(([command, comment]) => `  ${command?.padEnd(46)} # ${comment}`).join("\n")}

  the cloud's side:   curl -s -H "Authorization: Bearer $HCLOUD_TOKEN" $HCLOUD_ENDPOINT/load_balancers
  the controller's:   tail -f ${logFile}

Ctrl-C ends everything and leaves nothing behind.

`;
}

function shown(file: string): string {
  return relative(process.cwd(), file);
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
