/** The cluster's kubeconfig: fetched over SSH from a machine whose host key is known before the first connection. */
import { setTimeout as delay } from "node:timers/promises";
import ssh2 from "ssh2";
import { parse, stringify } from "yaml";
import { messageOf } from "../../controller/diagnostics/errors.ts";
import { DevEnvError } from "./errors.ts";
import type { KeyPair } from "./secrets.ts";

/** How to reach the control plane. */
export interface SshTarget {
  readonly host: string;
  readonly port: number;
  /** The key that opens it. */
  readonly privateKey: string;
  /** The only host key that is believed. */
  readonly hostKey: Pick<KeyPair, "publicKey">;
}

/** How long and how often to try. */
export interface Patience {
  readonly deadlineMs: number;
  readonly intervalMs: number;
  /** How long one attempt may take; the last one may pass the deadline by this much. */
  readonly attemptMs: number;
  /** Told why it is not there yet. */
  readonly onWait?: (reason: string) => void;
  readonly signal?: AbortSignal;
}

/** The machine answered with another key than the one it was given: somebody else sits at that address. Never retried. */
export class HostKeyError extends DevEnvError {
  constructor(host: string) {
    super(
      `${host} has another host key than the one it was made with: this is not our server, and nothing was sent to it. ` +
        `If it was reinstalled by hand, run "dev-env down" and "dev-env up"`,
    );
  }
}

/** Prints the kubeconfig, or says on which step the first boot is or failed. */
const COMMAND = `cat /etc/rancher/k3s/k3s.yaml || { cloud-init status --long >&2; tail -n 5 /var/log/cloud-init-output.log >&2; exit 1; }`;

/** Tries until k3s has written its kubeconfig; gives it as k3s wrote it. Rejects at the deadline with the last reason. */
export async function fetchKubeconfig(target: SshTarget, patience: Patience): Promise<string> {
  const { deadlineMs, intervalMs, attemptMs, onWait, signal } = patience;
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    try {
      return await runOverSsh(target, COMMAND, attemptMs);
    } catch (error) {
      if (error instanceof HostKeyError) throw error;
      const reason = describe(error);
      if (performance.now() + intervalMs > deadline) {
        const waited = Math.round(deadlineMs / 1000);
        throw new DevEnvError(`no kubeconfig from ${target.host} after ${waited} s: ${reason}`, { cause: error });
      }
      onWait?.(reason.split("\n", 1)[0] ?? reason);
      await delay(intervalMs, undefined, signal && { signal });
    }
  }
}

/** The kubeconfig for use from here: another address, and names that say which cluster it is. */
export function adaptKubeconfig(text: string, environment: string, host: string): string {
  const config = parse(text) as Kubeconfig;
  const [cluster, user] = [config.clusters?.[0]?.cluster, config.users?.[0]?.user];
  if (!cluster?.server || !user) throw new DevEnvError("k3s gave a kubeconfig without a cluster or a user");
  const server = new URL(cluster.server);
  server.hostname = host;
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: environment, cluster: { ...cluster, server: server.origin } }],
    users: [{ name: environment, user }],
    contexts: [{ name: environment, context: { cluster: environment, user: environment } }],
    "current-context": environment,
  });
}

interface Kubeconfig {
  readonly clusters?: readonly { readonly cluster?: { readonly server?: string } }[];
  readonly users?: readonly { readonly user?: object }[];
}

/** Runs one command and gives what it printed. Rejects when it fails, with what it complained about. */
async function runOverSsh(target: SshTarget, command: string, timeoutMs: number): Promise<string> {
  const client = new ssh2.Client();
  const expected = keyOf(target.hostKey.publicKey);
  let isStranger = false;
  try {
    return await new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("no answer in time")), timeoutMs);
      client
        .on("error", reject)
        .on("close", () => {
          clearTimeout(timer);
          reject(new Error("the connection was closed"));
        })
        .on("ready", () => execute(client, command).then(resolve, reject))
        .connect({
          host: target.host,
          port: target.port,
          username: "root",
          privateKey: target.privateKey,
          readyTimeout: timeoutMs,
          // No other kind of key is ours: a server that has more must not offer one we cannot know.
          algorithms: { serverHostKey: ["ssh-ed25519"] },
          hostVerifier: (key: Buffer) => {
            isStranger = !key.equals(expected);
            return !isStranger;
          },
        });
    });
  } catch (error) {
    throw isStranger ? new HostKeyError(target.host) : error;
  } finally {
    client.end().destroy();
  }
}

function execute(client: ssh2.Client, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    client.exec(command, (error, channel) => {
      if (error) return reject(error);
      const output = { stdout: "", stderr: "" };
      let code: number | null = null;
      channel.setEncoding("utf8").on("data", (text: string) => {
        output.stdout += text;
      });
      channel.stderr.setEncoding("utf8").on("data", (text: string) => {
        output.stderr += text;
      });
      channel
        .on("exit", (status: number | null) => {
          code = status;
        })
        .on("close", () => {
          if (code === 0) resolve(output.stdout);
          else reject(new Error(output.stderr.trim() || `the command ended with ${code}`));
        });
    });
  });
}

/** The key itself, from a line such as `ssh-ed25519 AAAA… comment`. */
function keyOf(publicKey: string): Buffer {
  return Buffer.from(publicKey.split(" ")[1] ?? "", "base64");
}

/** Reasons that everybody meets while a machine boots, in words. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "it does not take SSH connections yet",
  EHOSTUNREACH: "it does not answer yet",
  ETIMEDOUT: "it does not answer yet",
};

function describe(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return REASONS[code] ?? messageOf(error);
}
