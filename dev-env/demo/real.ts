/** `npm start -- --real`, seen from outside: checks this computer, provides binaries and images, and enters the world. */
import { writeFile } from "node:fs/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Watchdog } from "../cluster/watchdog.ts";
import { runInEnclave } from "../nodes/enclave.ts";
import { provideImages } from "../nodes/images/images.ts";
import { missingFor, thisComputer } from "../nodes/requirements.ts";
import { provideNodeTools } from "../nodes/tools.ts";
import { writeEnvFile } from "./env-file.ts";
import { say } from "./screen.ts";

const INSIDE = fileURLToPath(new URL("inside.ts", import.meta.url));

/** Runs the demo with real nodes until Ctrl-C. Returns the exit code. */
export async function runReal(folder: string, { hasController = true, hasIngress = false }): Promise<number> {
  const missing = missingFor(thisComputer());
  if (missing.length > 0) {
    process.stderr.write(`npm start -- --real cannot run here:\n${missing.map((it) => `  ${it}\n`).join("")}`);
    return 1;
  }
  const tools = await provideNodeTools({ hasIngress });
  const others = hasIngress ? "CoreDNS, Traefik" : "CoreDNS";
  say("images", `pause, http-echo, ${others} and the controller of this checkout …`);
  // Inside another world, as in tests, its images are there already.
  const store = process.env.LOTSE_WORLD_IMAGES ?? (await provideImages(tools, { hasIngress }));
  // The name is taken first, and the script follows when the id of the process is known.
  const script = await writeEnvFile(folder, "", process.pid, "world");
  const watchdog = new Watchdog(script);
  try {
    // Ctrl-C reaches the program inside, too, which ends by itself.
    process.on("SIGINT", () => {});
    const args = [
      INSIDE,
      relative(process.cwd(), script),
      hasController ? (hasIngress ? "ingress" : "") : "no-controller",
    ];
    const code = await runInEnclave(process.execPath, args, {
      store,
      onStart: (child, dir) => {
        process.on("SIGTERM", () => child.kill("SIGKILL"));
        void writeFile(script, launcher(child.pid ?? 0, dir));
      },
    });
    return code ?? 1;
  } finally {
    await watchdog.stop();
  }
}

/** A shell script that runs a command in the world, or opens a shell there. */
function launcher(pid: number, dir: string): string {
  return `# process ${process.pid}
# Runs a command in the world of npm start -- --real; without one, opens a shell there.
first=$(cat /proc/${pid}/task/${pid}/children) || exit
run='cd "$1"; . "$2"; shift 2; [ $# -gt 0 ] || set -- "\${SHELL:-sh}"; exec "$@"'
exec nsenter --target $first --net --mount --pid -- sh -c "$run" world "$PWD" '${dir}/env' "$@"
`;
}
