/** The controllers under measurement: Lotse as shipped, and HCCM from a binary that the user provides. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { World } from "../support/world.ts";

/** A running controller. */
export interface Started {
  readonly pid: number;
  stop(): Promise<void>;
}

export type ControllerStarter = (world: World) => Started;

/** Lotse as shipped: compiled, and without the short resync of tests. */
export const startOurs: ControllerStarter = (world) => world.startController(["--resync=60s"]);

const OFFICIAL_FLAGS = [
  "--cloud-provider=hcloud",
  "--allow-untagged-cloud",
  "--allocate-node-cidrs=true",
  "--cluster-cidr=10.244.0.0/16",
  "--leader-elect=false",
  "--secure-port=0",
  "--webhook-secure-port=0",
];

/** HCCM with the rights of an administrator and this many Service workers; its default is one. */
export function officialStarter(binary: string, workers: number): ControllerStarter {
  return (world) => {
    const flags = [`--kubeconfig=${world.cluster.kubeconfig}`, `--concurrent-service-syncs=${workers}`];
    const child = spawn(binary, [...OFFICIAL_FLAGS, ...flags], {
      stdio: "ignore",
      env: {
        HCLOUD_TOKEN: world.cloud.token,
        HCLOUD_ENDPOINT: world.cloud.url,
        HCLOUD_NETWORK: String(world.networkId),
        HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: "true",
        HCLOUD_METRICS_ENABLED: "false",
      },
    });
    const ended = once(child, "close");
    const stop = async () => {
      child.kill("SIGKILL");
      await ended;
    };
    return { pid: child.pid ?? 0, stop };
  };
}
