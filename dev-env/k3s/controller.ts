/** Runs the controller from the sources, on this machine, against the environment's cluster. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { narrate, parseRecord } from "../demo/narrate.ts";
import type { Environment } from "./environment.ts";

const [MAIN = "", ...SOURCES] = ["controller/main.ts", "controller", "stacks"].map((path) =>
  fileURLToPath(new URL(`../../${path}`, import.meta.url)),
);
const GRACE_MS = 15_000;
/** It runs alone, and this machine's ports may be in use. */
const FLAGS = ["--leader-elect=false", "--secure-port=0", "--logging-format=json"];

/** Starts the controller; `isWatched` restarts it when its sources change. The screen shows what it does. */
export function startController({ folder, name, settings, access, screen }: Environment, isWatched = false) {
  const watching = isWatched ? SOURCES.map((folder) => `--watch-path=${folder}`) : [];
  const where = ["--kubeconfig", folder.kubeconfig, "--cluster-cidr", settings.pods];
  const child = spawn(process.execPath, [...watching, MAIN, "run", ...where, ...FLAGS], {
    stdio: ["ignore", "pipe", "pipe"],
    detached: true, // the terminal's Ctrl-C does not reach it
    env: {
      ...process.env,
      HCLOUD_TOKEN: access.token,
      HCLOUD_ENDPOINT: access.endpoint,
      HCLOUD_NETWORK: `${name}-network`,
      // This machine is not a server in the network.
      HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: "true",
      HCLOUD_METRICS_ENABLED: "false",
    },
  });
  createInterface({ input: child.stdout }).on("line", (line) => screen.say("watch", line));
  createInterface({ input: child.stderr }).on("line", (text) => {
    const line = narrate(parseRecord(text));
    if (line) screen.say(line.topic, line.text);
  });
  const ended = once(child, "exit");
  const stop = async () => {
    child.kill("SIGTERM");
    const force = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
    await ended;
    clearTimeout(force);
  };
  return { ended, stop };
}
