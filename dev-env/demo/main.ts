/**
 * The demo that `npm start` runs: a simulated Hetzner Cloud, a real control plane with three nodes, the real controller
 * and engine, and an example Service. It prints each event, runs until Ctrl-C, and cleans up. With `--no-controller` it
 * leaves the controller to the user.
 */
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { MESSAGES } from "../terminal/narrate.ts";
import { provideTools } from "../toolchain/progress.ts";
import { run } from "../toolchain/run.ts";
import { type Toolchain, ToolchainError, type ToolName } from "../toolchain/toolchain.ts";
import { startController } from "./controller.ts";
import { type Local, startLocal } from "./local.ts";
import { runReal } from "./real.ts";
import { elapsed, nextSteps, say, show, stepsWithoutController } from "./screen.ts";

/** The tools that the demo needs; tests need more. */
const TOOLS: readonly ToolName[] = ["pulumi", "pulumi-resource-hcloud", "etcd", "kube-apiserver", "kubectl"];
/** As slow as the real cloud feels, with load balancers that carry traffic. */
const CLOUD = { latencyMs: 40, actionMs: 500, dataPlane: { timeScale: 0.1 } };
const EXAMPLE = fileURLToPath(new URL("../examples/web.yaml", import.meta.url));
const FOLDER = fileURLToPath(new URL("../../.lotse", import.meta.url));
/** Flags such as --dry-run keep the example from becoming ready; the demo is ready when the log pauses for this long. */
const QUIET_MS = 5_000;
const FLAGS_HINT = 'Flags of the controller follow a second "--": npm start -- -- --approval=manual';

const program = new Command("npm start --")
  .description("A simulated Hetzner Cloud, a real API server and the real controller, until Ctrl-C")
  .option("--no-controller", "start no controller: run it yourself with lotse run")
  .option("--real", "three real nodes with pods, two of which run the controller; needs Linux and root")
  .option("--ingress", "with --real: Traefik behind a load balancer of its own; takes 10 minutes to build, once")
  .usage("[--real [--ingress]] [--no-controller] [-- <flags of the controller>]")
  .argument("[flags...]", "flags of the controller, such as --approval=manual; lotse run --help lists them")
  .addHelpText("after", `\n${FLAGS_HINT}`)
  .showHelpAfterError(FLAGS_HINT)
  .parse();
const {
  controller: hasController,
  real: isReal,
  ingress: hasIngress = false,
} = program.opts<{ readonly controller: boolean; readonly real?: true; readonly ingress?: true }>();
if (isReal && hasController && program.args.length > 0) {
  program.error(
    "--real installs the controller from its chart, without flags: use --no-controller and start it yourself",
  );
}
if (hasIngress && !(isReal && hasController)) program.error("--ingress needs --real, and the controller");
if (!hasController && program.args.length > 0)
  program.error("--no-controller starts no controller that could take flags");
const stop = new AbortController();

try {
  if (isReal) process.exitCode = await runReal(FOLDER, { hasController, hasIngress });
  else await demo(program.args);
} catch (error) {
  if (!stop.signal.aborted) {
    const text = error instanceof ToolchainError ? error.message : error instanceof Error ? error.stack : error;
    process.stderr.write(`${text}\n`);
    process.exitCode = 1;
  }
}

async function demo(flags: readonly string[]): Promise<void> {
  const tools = await provideTools(process.stdout, TOOLS);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());
  await using parts = new AsyncDisposableStack();
  const local = await startLocal({ tools, folder: FOLDER, cloud: CLOUD, say }, parts);
  if (!hasController) return await waitWithoutController(local);

  const controller = startController(local, flags);
  parts.adopt(controller, (it) => it.stop());
  await kubectl(tools, local, "apply", "-f", EXAMPLE);
  say("service", "default/web applied: type LoadBalancer, ports 8080 and 8443");
  const settled = controller.settled([MESSAGES.serviceReady, MESSAGES.waitsForApproval], MESSAGES.running, QUIET_MS);
  const first = await Promise.race([settled, aborted()]);
  if (first !== "settled") return stop.signal.aborted ? announceStop() : fail(controller.tail());

  say("ready", `after ${elapsed()}\n`);
  process.stdout.write(await kubectl(tools, local, "get", "nodes,services", "--output=wide"));
  process.stdout.write(nextSteps(local, EXAMPLE, controller.logFile));
  await Promise.race([aborted(), controller.ended]);
  if (stop.signal.aborted) announceStop();
  else fail(controller.tail());
}

/** Keeps the cluster up for a controller that the user starts. */
async function waitWithoutController(local: Local): Promise<void> {
  say("ready", `after ${elapsed()}, without a controller`);
  process.stdout.write(stepsWithoutController(local));
  await aborted();
  announceStop();
}

function kubectl(tools: Toolchain, { cluster }: Local, ...args: readonly string[]): Promise<string> {
  return run(tools.paths.kubectl, ["--kubeconfig", cluster.kubeconfig, ...args]);
}

async function aborted(): Promise<"aborted"> {
  if (!stop.signal.aborted) await once(stop.signal, "abort");
  return "aborted";
}

function announceStop(): void {
  say("stopping", "controller, cluster and cloud …");
}

/** Prints the end of the log, because the file is deleted with everything else. */
function fail(logTail: string): void {
  process.exitCode = 1;
  const text = `the controller exited unexpectedly. The end of its log:\n${logTail}`;
  show({ topic: "error", text, isProblem: true });
}
