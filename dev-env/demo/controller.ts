/** The real controller as a separate process. Its whole log goes to a file, its main events to the terminal. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { CONTROLLER_FLAGS, type Local } from "./local.ts";
import { narrate, parseRecord } from "./narrate.ts";
import { show } from "./screen.ts";

const CONTROLLER = fileURLToPath(new URL("../../controller/main.ts", import.meta.url));
const TAIL_LINES = 10;

/** Starts the controller. The flags come last and override the demo's own. */
export function startController({ cluster, environment, watchdog }: Local, flags: readonly string[]) {
  const logFile = join(cluster.dir, "controller.log");
  const own = ["--kubeconfig", cluster.kubeconfig, ...CONTROLLER_FLAGS, "--logging-format=json"];
  const child = spawn(process.execPath, [CONTROLLER, "run", ...own, ...flags], {
    stdio: ["ignore", "ignore", "pipe"],
    // In the cluster's folder, what a killed controller leaves behind is deleted, too.
    env: { ...process.env, ...environment, TMPDIR: cluster.dir },
    // In its own process group, so that Ctrl-C reaches only this process, which stops the parts in order.
    detached: true,
  });
  const { pid = 0 } = child;
  watchdog.watch(pid);
  const log = createWriteStream(logFile);
  const seen = new Set<string>(); // log messages
  let tail: readonly string[] = [];
  let lastLine = performance.now();
  createInterface({ input: child.stderr }).on("line", (text) => {
    log.write(`${text}\n`);
    tail = [...tail, text].slice(-TAIL_LINES);
    const record = parseRecord(text);
    const line = narrate(record);
    if (line) show(line);
    lastLine = performance.now();
    seen.add(record.msg);
  });
  let hasEnded = false;
  const ended = once(child, "close").then(() => {
    hasEnded = true;
    watchdog.forget(pid);
  });
  const isQuietFor = (ms: number) => performance.now() - lastLine >= ms;
  return {
    logFile,
    ended,
    /** The last lines of the log. */
    tail: () => tail.join("\n"),
    /**
     * Resolves when one of the messages was logged, when the controller runs and has logged nothing for this long, or
     * when it has exited.
     */
    settled: async (messages: readonly string[], running: string, quietMs: number) => {
      const hasLogged = () => messages.some((message) => seen.has(message));
      while (!hasEnded && !hasLogged() && !(seen.has(running) && isQuietFor(quietMs))) await delay(100);
      // Not in the middle of a burst of lines.
      while (!hasEnded && !isQuietFor(300)) await delay(100);
      return hasEnded ? "ended" : "settled";
    },
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
      log.end();
    },
  };
}
