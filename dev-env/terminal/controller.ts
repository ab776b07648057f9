/** The controller from the sources, as a separate process whose main events a person can follow. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Watchdog } from "../cluster/watchdog.ts";
import { type LogRecord, narrate, parseRecord } from "./narrate.ts";
import type { Line } from "./screen.ts";

/** How to run the controller, and who follows it. */
export interface ControllerOptions {
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether it restarts when its sources change. */
  readonly isWatched?: boolean;
  readonly show: (line: Line) => void;
  /** Receives every line of the log. */
  readonly onLog?: (text: string, record: LogRecord) => void;
}

const [MAIN = "", ...SOURCES] = ["controller/main.ts", "controller", "stacks"].map((path) =>
  fileURLToPath(new URL(`../../${path}`, import.meta.url)),
);
/** How long it may take to stop. */
const GRACE_MS = 15_000;

/** A single replica needs no lease, and port 0 avoids conflicts with other programs on this machine. */
export const FLAGS_OUTSIDE = ["--leader-elect=false", "--secure-port=0"];

/** Variables of a controller outside of the cluster. */
export const VARIABLES_OUTSIDE = {
  // The check asks the metadata service, which only servers at Hetzner have.
  HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: "true",
  HCLOUD_METRICS_ENABLED: "false",
};

/** Starts the controller. It ends with this process, even if this one is killed, and its temporary files are deleted. */
export function spawnController({ flags, env, isWatched = false, show, onLog }: ControllerOptions) {
  const watching = isWatched ? SOURCES.map((folder) => `--watch-path=${folder}`) : [];
  const scratch = mkdtempSync(join(tmpdir(), "lotse-controller-"));
  const watchdog = new Watchdog(scratch);
  const child = spawn(process.execPath, [...watching, MAIN, "run", "--logging-format=json", ...flags], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...env, TMPDIR: scratch },
    // In its own process group, so that Ctrl-C reaches only this process, which stops the parts in order.
    detached: true,
  });
  createInterface({ input: child.stdout }).on("line", (text) => show({ topic: "controller", text }));
  createInterface({ input: child.stderr }).on("line", (text) => {
    const record = parseRecord(text);
    onLog?.(text, record);
    const line = narrate(record);
    if (line) show(line);
  });
  const { pid = 0 } = child;
  watchdog.watch(-pid); // its group: Node's watch mode has a child
  const ended = once(child, "close").then(() => {
    watchdog.forget(-pid);
    return watchdog.stop();
  });
  const stop = async () => {
    child.kill("SIGTERM");
    const force = setTimeout(() => killGroup(pid), GRACE_MS);
    await ended;
    clearTimeout(force);
  };
  return { pid, ended, stop };
}

/** Kills a process and its children: Node's watch mode has one, which would keep the output open. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All of them have exited meanwhile.
  }
}
