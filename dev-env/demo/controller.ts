/** The real controller as a separate process. Its whole log goes to a file, its main events to the terminal. */
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { spawnController } from "../terminal/controller.ts";
import { CONTROLLER_FLAGS, type Local } from "./local.ts";
import { show } from "./screen.ts";

const TAIL_LINES = 10;

/** Starts the controller. The flags come last and override the demo's own. */
export function startController({ cluster, environment }: Local, flags: readonly string[]) {
  const logFile = join(cluster.dir, "controller.log");
  const log = createWriteStream(logFile);
  const seen = new Set<string>(); // log messages
  let tail: readonly string[] = [];
  let lastLine = performance.now();
  const controller = spawnController({
    flags: ["--kubeconfig", cluster.kubeconfig, ...CONTROLLER_FLAGS, ...flags],
    env: { ...process.env, ...environment },
    show,
    onLog: (text, { msg }) => {
      log.write(`${text}\n`);
      tail = [...tail, text].slice(-TAIL_LINES);
      lastLine = performance.now();
      seen.add(msg);
    },
  });
  let hasEnded = false;
  const ended = controller.ended.then(() => {
    hasEnded = true;
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
      await controller.stop();
      log.end();
    },
  };
}
