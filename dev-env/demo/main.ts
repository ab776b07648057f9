/**
 * The demo that `npm start` runs: a simulated Hetzner Cloud, a real control plane with three nodes, the real controller
 * and engine, and an example Service. It prints each event, runs until Ctrl-C, and cleans up. With `--no-controller` it
 * leaves the controller to the user.
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
import { type Line, type LogRecord, MESSAGES, narrate } from "./narrate.ts";

/** The tools that the demo needs; tests need more. */
const TOOLS: readonly ToolName[] = ["pulumi", "pulumi-resource-hcloud", "etcd", "kube-apiserver", "kubectl"];
/** As slow as the real cloud feels, with load balancers that carry traffic. */
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
    const text = error instanceof ToolchainError ? error.message : error instanceof Error ? error.stack : error;
    process.stderr.write(`${text}\n`);
    process.exitCode = 1;
  }
}

async function demo(): Promise<void> {
  const tools = await setUp();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());
  await using parts = new AsyncDisposableStack();
  const local = await startLocal({ tools, envFile: ENV_FILE, cloud: CLOUD, say }, parts);
  if (options["no-controller"]) return await waitWithoutController();

  const controller = startController(local);
  parts.adopt(controller, (it) => it.stop());
  await kubectl(tools, local, "apply", "-f", EXAMPLE);
  say("service", "default/web applied: type LoadBalancer, ports 80 and 443");
  const first = await Promise.race([controller.logged(MESSAGES.serviceReady), aborted(), controller.ended]);
  if (first !== "logged") return stop.signal.aborted ? announceStop() : fail(controller.logFile);

  await controller.quiet();
  say("ready", `after ${elapsed()}\n`);
  process.stdout.write(await kubectl(tools, local, "get", "nodes,services", "--output=wide"));
  process.stdout.write(nextSteps(local, controller.logFile));
  await Promise.race([aborted(), controller.ended]);
  if (stop.signal.aborted) announceStop();
  else fail(controller.logFile);
}

/** Keeps the cluster up for a controller that the user starts. */
async function waitWithoutController(): Promise<void> {
  say("ready", `after ${elapsed()}, without a controller`);
  process.stdout.write(`
From another terminal:

  source ${shown(ENV_FILE)}
  kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints[*].key,PROVIDER:.spec.providerID
  lotse run --kubeconfig $KUBECONFIG ${CONTROLLER_FLAGS.join(" ")}

Ctrl-C stops everything and cleans up.

`);
  await aborted();
  announceStop();
}

async function setUp(): Promise<Toolchain> {
  const display = new ProgressDisplay(process.stdout);
  try {
    return await ensureToolchain(TOOLS, display.report);
  } finally {
    display.close();
  }
}

/** Starts the real controller as a separate process. Its whole log goes to a file, its main events to the terminal. */
function startController({ cluster, environment }: Local) {
  const logFile = join(cluster.dir, "controller.log");
  const flags = ["--kubeconfig", cluster.kubeconfig, ...CONTROLLER_FLAGS, "--logging-format=json"];
  const child = spawn(process.execPath, [CONTROLLER, "run", ...flags], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, ...environment },
    // In its own process group, so that Ctrl-C reaches only this process, which stops the parts in order.
    detached: true,
  });
  const log = createWriteStream(logFile);
  const waiting = new Map<string, () => void>(); // by log message
  let lastLine = performance.now();
  createInterface({ input: child.stderr }).on("line", (text) => {
    log.write(`${text}\n`);
    const record = parseRecord(text);
    const line = narrate(record);
    if (line) show(line);
    lastLine = performance.now();
    waiting.get(record.msg)?.();
  });
  const ended = once(child, "exit").then(() => "ended" as const);
  return {
    logFile,
    ended,
    logged: (message: string) => new Promise<"logged">((resolve) => waiting.set(message, () => resolve("logged"))),
    /** Resolves after a pause in the log, so that the summary does not split a burst of lines. */
    quiet: async () => {
      while (performance.now() - lastLine < 300) await new Promise((resolve) => setTimeout(resolve, 100));
    },
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
      log.end();
    },
  };
}

/** A line that is not JSON is an error message, printed before the controller has a log. */
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
    ...(address ? [[`curl http://${address}/`, "through the load balancer to a node"]] : []),
    ["lotse preview", "what the controller would change right now"],
    [`kubectl delete -f ${shown(EXAMPLE)}`, "deletes the load balancer, too"],
  ];
  return `
Try it from another terminal:

${commands.map(([command, comment]) => `  ${command?.padEnd(46)} # ${comment}`).join("\n")}

  the cloud:       curl -s -H "Authorization: Bearer $HCLOUD_TOKEN" $HCLOUD_ENDPOINT/load_balancers
  the controller:  tail -f ${logFile}

Ctrl-C stops everything and cleans up.

`;
}

function shown(file: string): string {
  return relative(process.cwd(), file);
}

function say(topic: string, text: string): void {
  show({ topic, text });
}

function show({ topic, text, isProblem }: Line): void {
  const isTerminal = process.stdout.isTTY;
  const colour = isProblem ? 33 : topic === "ready" ? 32 : 36;
  const label = isTerminal ? `\u001b[${colour}m${topic.padEnd(13)}\u001b[0m` : topic.padEnd(13);
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

function announceStop(): void {
  say("stopping", "controller, cluster and cloud …");
}

/** Prints the end of the log, because the file is deleted with everything else. */
function fail(logFile: string): void {
  process.exitCode = 1;
  const end = readFileSync(logFile, "utf8").trimEnd().split("\n").slice(-10);
  const text = `the controller exited unexpectedly. The end of its log:\n${end.join("\n")}`;
  show({ topic: "error", text, isProblem: true });
}
