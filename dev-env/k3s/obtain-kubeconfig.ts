/** Gets the kubeconfig of a machine that may still be booting, writes it down, and waits until the API server answers. */
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../controller/diagnostics/errors.ts";
import { type Environment, openCluster } from "./environment.ts";
import { adaptKubeconfig, fetchKubeconfig } from "./kubeconfig.ts";

type KubeconfigNeeds = Pick<Environment, "folder" | "config" | "screen" | "signal">;

/** A first boot takes two to four minutes. */
const PATIENCE = { deadlineMs: 15 * 60_000, intervalMs: 5_000, attemptMs: 15_000 };

/** Fetches and writes the kubeconfig of the control plane at this address. */
export async function obtainKubeconfig(env: KubeconfigNeeds, host: string, port = 22): Promise<void> {
  const { folder, config, screen, signal } = env;
  const { sshKey, hostKey } = await folder.secrets(config.name);
  // For people who want to look around: ssh checks the same key as we do.
  await folder.write("known-hosts", `${host} ${hostKey.publicKey}\n`);
  const target = { host, port, privateKey: sshKey.privateKey, hostKey };
  const text = await screen.during("k3s", `waiting for k3s on ${host}`, (onWait) =>
    fetchKubeconfig(target, { ...PATIENCE, onWait, signal }),
  );
  await folder.write("kubeconfig", adaptKubeconfig(text, config.name, host));
  await screen.during("k3s", "waiting for the API server", (onWait) => awaitApiServer(env, onWait));
  screen.say("k3s", `API server ready, kubeconfig in ${folder.kubeconfig}`);
}

async function awaitApiServer(env: KubeconfigNeeds, onWait: (reason: string) => void): Promise<void> {
  const client = await openCluster(env);
  const deadline = performance.now() + PATIENCE.deadlineMs;
  try {
    for (;;) {
      try {
        await client?.get("/version");
        return;
      } catch (error) {
        if (performance.now() > deadline) throw error;
        onWait(messageOf(error));
      }
      await delay(PATIENCE.intervalMs, undefined, { signal: env.signal });
    }
  } finally {
    client?.close();
  }
}
