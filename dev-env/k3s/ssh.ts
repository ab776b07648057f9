/** SSH to the machines: a shell for the user, and the cluster's kubeconfig. Uses the `ssh` command of this machine. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import type { V1Namespace } from "@kubernetes/client-node";
import { messageOf } from "../../controller/diagnostics/errors.ts";
import { type Patience, retry } from "../cluster/repeat.ts";
import { type Environment, type Folder, openCluster } from "./environment.ts";
import { DevEnvError } from "./errors.ts";
import { listOwn } from "./inventory.ts";

type SshNeeds = Pick<Environment, "folder" | "name" | "screen" | "signal">;

/** A first boot takes two to four minutes. */
const PATIENCE = { deadlineMs: 15 * 60_000, intervalMs: 5_000 };
const ATTEMPT_MS = 15_000;
/** Prints the kubeconfig, or how far the first boot is. */
const COMMAND = `cat /etc/rancher/k3s/k3s.yaml || { cloud-init status --long >&2; tail -n 5 /var/log/cloud-init-output.log >&2; exit 1; }`;
const execute = promisify(execFile);

/** `dev-env ssh [server]`: opens a shell on a server, by default the first control plane. */
export async function ssh(env: Environment, server = "control-plane-1"): Promise<void> {
  const { name, api, signal } = env;
  const servers = (await listOwn(api.list, name)).filter(({ collection }) => collection === "servers");
  const found = servers.find((it) => it.name === server || it.name === `${name}-${server}`);
  const address = found?.public_net?.ipv4?.ip;
  const names = servers.map((it) => it.name).join(", ") || "none";
  if (!address) throw new DevEnvError(`${name} has no server ${server}; it has ${names}`);
  const isPinned = found.name.startsWith(`${name}-control-plane-`);
  const child = spawn("ssh", await sshArguments(env, address, { isPinned }), { stdio: "inherit" });
  signal.addEventListener("abort", () => child.kill(), { once: true });
  const [code] = await once(child, "exit");
  process.exitCode = Number(code ?? 1);
}

/** Arguments of `ssh`. Control planes must have the host key that they were created with: it is pinned. */
async function sshArguments({ folder, name }: SshNeeds, host: string, { isPinned = true, port = 22 }) {
  const { hostKey } = await folder.secrets(name);
  const hosts = isPinned ? "known-hosts" : "known-workers";
  if (isPinned) await folder.write(hosts, `control-plane ${hostKey.publicKey}\n`);
  const options = {
    UserKnownHostsFile: `"${join(folder.path, hosts)}"`,
    // One line for all control planes, because other commands use the file at the same time.
    ...(isPinned && { HostKeyAlias: "control-plane" }),
    StrictHostKeyChecking: isPinned ? "yes" : "accept-new",
    IdentitiesOnly: "yes",
    LogLevel: "ERROR",
  };
  const flags = Object.entries(options).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
  return ["-F", "none", "-i", join(folder.path, "ssh-key"), "-p", String(port), ...flags, `root@${host}`];
}

/**
 * Writes the kubeconfig for the API at an address, fetched from a control plane, and waits for the API server. Returns the
 * UID of the cluster: control planes that were all replaced are another cluster, whatever their addresses are.
 */
export async function obtainKubeconfig(env: SshNeeds, api: string, host: string, port = 22): Promise<string> {
  const { folder, name, screen, signal } = env;
  const text = await screen.during("k3s", `waiting for k3s on ${host}`, (onWait) =>
    fetchKubeconfig(env, host, { port, onWait }),
  );
  await folder.write("kubeconfig", adaptKubeconfig(text, name, api));
  using client = await openCluster(env);
  const read = async () => client?.get<V1Namespace>("/api/v1/namespaces/kube-system");
  const system = await screen.during("k3s", "waiting for the API server", (onWait) =>
    retry(read, { ...PATIENCE, signal, onWait, what: "no answer" }),
  );
  screen.say("k3s", `API server ready, kubeconfig in ${folder.kubeconfig}`);
  return system?.metadata?.uid ?? "";
}

type FetchOptions = Partial<Patience> & { readonly port?: number; readonly attemptMs?: number };

/** Retries until k3s has written its kubeconfig. Another host key is never retried: it is another machine. */
export async function fetchKubeconfig(env: SshNeeds, host: string, options: FetchOptions = {}): Promise<string> {
  const { port = 22, attemptMs: timeout = ATTEMPT_MS, ...patience } = options;
  const { signal } = env;
  const args = await sshArguments(env, host, { port });
  const attempt = async () => {
    try {
      return (await execute("ssh", [...args, "-o", "BatchMode=yes", COMMAND], { timeout, signal })).stdout;
    } catch (error) {
      throw explainFailure(error, host, env.folder);
    }
  };
  const isFinal = (error: unknown) => error instanceof DevEnvError;
  return retry(attempt, { ...PATIENCE, signal, isFinal, what: `no kubeconfig from ${host}`, ...patience });
}

function explainFailure(error: unknown, host: string, folder: Folder): Error {
  if (error instanceof Error && "code" in error && error.code === "ENOENT")
    return new DevEnvError("the command ssh was not found: install OpenSSH's client, and run the same command again");
  const reason = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : messageOf(error);
  // Retried, because a machine that is still being set up does not know the key yet.
  if (/permission denied \(/i.test(reason))
    return new Error(
      `${reason}\nThe server does not accept the SSH key in ${folder.path}: restore that folder, ` +
        `or run "npm run dev-env down" and "npm run dev-env up"`,
      { cause: error },
    );
  if (!/host key verification failed/i.test(reason)) return new Error(reason || "no answer in time", { cause: error });
  return new DevEnvError(
    `${host} has an unexpected host key: it may be another machine, and nothing was sent to it. ` +
      `If it was reinstalled by hand, run "dev-env down" and "dev-env up"`,
  );
}

/** The kubeconfig of k3s for use on this machine: with the public address, and the environment's name for everything. */
export function adaptKubeconfig(text: string, environment: string, host: string): string {
  const isAsExpected = /^ +server: https:\/\/127\.0\.0\.1:\d+$/m.test(text) && /^current-context: default$/m.test(text);
  if (!isAsExpected) throw new DevEnvError("k3s has written a kubeconfig in an unknown format");
  return text.replace("https://127.0.0.1:", `https://${host}:`).replaceAll(/: default$/gm, `: ${environment}`);
}
