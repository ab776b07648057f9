/** The controller from the sources, on this machine, against the environment's cluster. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type LogRecord, narrate } from "../demo/narrate.ts";
import { type Environment, networkSettings } from "./environment.ts";
import { cloudName, POD_CIDR } from "./layout.ts";

/** A process that somebody started. */
export interface Running {
  /** Resolves when it has ended, by itself or because it was stopped. */
  readonly ended: Promise<unknown>;
  /** Ends it in good order, and with force when that takes too long. */
  stop(): Promise<void>;
}

const MAIN = fileURLToPath(new URL("../../controller/main.ts", import.meta.url));
const GRACE_MS = 15_000;
/** It is the only one, and this machine's ports may be in use. */
const FLAGS = ["--leader-elect=false", "--secure-port=0", "--logging-format=json"];

/** Starts the controller; what it does is told on the screen. */
export function startController({ folder, config, access, screen }: Environment): Running {
  const where = ["--kubeconfig", folder.kubeconfig, "--cluster-cidr", POD_CIDR];
  const { PATH = "", HOME = "", XDG_CACHE_HOME } = process.env;
  return startProcess([MAIN, "run", ...where, ...FLAGS], {
    env: {
      PATH,
      HOME,
      ...networkSettings(process.env),
      ...(XDG_CACHE_HOME && { XDG_CACHE_HOME }),
      HCLOUD_TOKEN: access.token,
      HCLOUD_ENDPOINT: access.endpoint,
      HCLOUD_NETWORK: cloudName(config.name, "network"),
      // This machine is in no network of the cloud, or in another.
      HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: "true",
      HCLOUD_METRICS_ENABLED: "false",
    },
    onLine: (text) => {
      const line = narrate(parseRecord(text));
      if (line) screen.say(line.topic, line.text);
    },
  });
}

/** Starts a program of ours with this Node, in a group of its own: Ctrl-C reaches it through us, in order. */
export function startProcess(
  args: readonly string[],
  { env, onLine }: { readonly env: Readonly<Record<string, string>>; readonly onLine: (line: string) => void },
): Running {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"], env, detached: true });
  createInterface({ input: child.stderr }).on("line", onLine);
  const ended = once(child, "exit");
  return {
    ended,
    stop: async () => {
      child.kill("SIGTERM");
      const force = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
      await ended;
      clearTimeout(force);
    },
  };
}

/** Anything that is no record is an error message. */
function parseRecord(text: string): LogRecord {
  try {
    return JSON.parse(text) as LogRecord;
  } catch {
    return { msg: text, level: 50 };
  }
}
