/** SSH to the machines: a shell for the user, and the cluster's kubeconfig. Uses the `ssh` command of this machine. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { messageOf } from "../../controller/diagnostics/errors.ts";
import { type Environment, openCluster } from "./environment.ts";
import { DevEnvError } from "./errors.ts";
import { listOwn, openProject } from "./inventory.ts";

type SshNeeds = Pick<Environment, "folder" | "name" | "screen" | "signal">;

/** How long and how often to retry. A first boot takes two to four minutes. */
const PATIENCE = { deadlineMs: 15 * 60_000, intervalMs: 5_000, attemptMs: 15_000 };
/** Prints the kubeconfig, or how far the first boot is. */
const COMMAND = `cat /etc/rancher/k3s/k3s.yaml || { cloud-init status --long >&2; tail -n 5 /var/log/cloud-init-output.log >&2; exit 1; }`;

/** `dev-env ssh [server]`: opens a shell on a server, by default the first control plane. */
export async function ssh(env: Environment, server = "control-plane-1"): Promise<void> {
  const { name, access, signal } = env;
  using api = openProject(access);
  const servers = (await listOwn(api.list, name)).filter(({ type }) => type.endsWith(":Server"));
  const found = servers.find((it) => it.name === server || it.name === `${name}-${server}`);
  const address = found?.listed.public_net?.ipv4?.ip;
  const names = servers.map((it) => it.name).join(", ") || "none";
  if (!address) throw new DevEnvError(`${name} has no server ${server}; it has ${names}`);
  const isPinned = found.name.startsWith(`${name}-control-plane-`);
  const child = spawn("ssh", await sshArguments(env, address, { isPinned }), { stdio: "inherit" });
  signal.addEventListener("abort", () => child.kill(), { once: true });
  const [code] = await once(child, "exit");
  process.exitCode = Number(code ?? 1);
}

/** Arguments of `ssh`. Control planes must have the host key that they were created with. */
async function sshArguments(
  { folder, name }: SshNeeds,
  host: string,
  { isPinned = true, port = 22 }: { readonly isPinned?: boolean; readonly port?: number } = {},
): Promise<readonly string[]> {
  const { hostKey } = await folder.secrets(name);
  const hosts = isPinned ? "known-hosts" : "known-workers";
  if (isPinned) await folder.write(hosts, `${port === 22 ? host : `[${host}]:${port}`} ${hostKey.publicKey}\n`);
  const options = {
    UserKnownHostsFile: join(folder.path, hosts),
    StrictHostKeyChecking: isPinned ? "yes" : "accept-new",
    IdentitiesOnly: "yes",
    LogLevel: "ERROR",
  };
  const flags = Object.entries(options).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
  return ["-F", "none", "-i", join(folder.path, "ssh-key"), "-p", String(port), ...flags, `root@${host}`];
}

/** Writes the kubeconfig for the API at an address, fetched from a control plane, and waits for the API server. */
export async function obtainKubeconfig(env: SshNeeds, api: string, host: string, port = 22): Promise<void> {
  const { folder, name, screen } = env;
  const text = await screen.during("k3s", `waiting for k3s on ${host}`, (onWait) =>
    fetchKubeconfig(env, host, { port, onWait }),
  );
  await folder.write("kubeconfig", adaptKubeconfig(text, name, api));
  const client = await openCluster(env);
  try {
    const isUp = () => client?.get("/version");
    await screen.during("k3s", "waiting for the API server", (onWait) => retry(isUp, { signal: env.signal, onWait }));
  } finally {
    client?.close();
  }
  screen.say("k3s", `API server ready, kubeconfig in ${folder.kubeconfig}`);
}

/** What a retry may take, and who is notified of the reason. */
interface Patience extends Partial<typeof PATIENCE> {
  readonly port?: number;
  readonly onWait?: (reason: string) => void;
  readonly signal?: AbortSignal;
}

/** Retries until k3s has written its kubeconfig. Another host key is never retried: it is another machine. */
export async function fetchKubeconfig(env: SshNeeds, host: string, given: Patience = {}): Promise<string> {
  const { port = 22, attemptMs = PATIENCE.attemptMs } = given;
  const args = await sshArguments(env, host, { port });
  const run = async () => {
    try {
      const options = { timeout: attemptMs, signal: env.signal };
      return (await promisify(execFile)("ssh", [...args, "-o", "BatchMode=yes", COMMAND], options)).stdout;
    } catch (error) {
      const reason = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : messageOf(error);
      if (/host key verification failed/i.test(reason))
        throw new DevEnvError(
          `${host} has an unexpected host key: it may be another machine, and nothing was sent to it. ` +
            `If it was reinstalled by hand, run "dev-env down" and "dev-env up"`,
        );
      throw new Error(reason || "no answer in time", { cause: error });
    }
  };
  return retry(run, { ...given, signal: env.signal, what: `no kubeconfig from ${host}` });
}

async function retry<T>(
  work: () => Promise<T> | undefined,
  given: Patience & { readonly what?: string },
): Promise<T | (undefined & T)> {
  const { deadlineMs, intervalMs, onWait, signal, what } = { ...PATIENCE, ...given };
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    try {
      return (await work()) as T;
    } catch (error) {
      if (error instanceof DevEnvError) throw error;
      signal?.throwIfAborted();
      const reason = messageOf(error);
      if (performance.now() + intervalMs > deadline)
        throw new DevEnvError(`${what ?? "no answer"} after ${Math.round(deadlineMs / 1000)} s: ${reason}`, {
          cause: error,
        });
      onWait?.(reason.split("\n", 1)[0] ?? reason);
      await delay(intervalMs, undefined, signal && { signal });
    }
  }
}

/** The kubeconfig of k3s for use on this machine: with the public address, and the environment's name for everything. */
export function adaptKubeconfig(text: string, environment: string, host: string): string {
  const isAsExpected = /^ +server: https:\/\/127\.0\.0\.1:\d+$/m.test(text) && /^current-context: default$/m.test(text);
  if (!isAsExpected) throw new DevEnvError("k3s has written a kubeconfig of an unknown form");
  return text.replace("https://127.0.0.1:", `https://${host}:`).replaceAll(/: default$/gm, `: ${environment}`);
}
