/** The controllers that are measured: ours as shipped, and the official one from a binary that whoever runs this has built. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { World } from "../support/world.ts";

/** A controller at work in a world. */
export interface Started {
  readonly pid: number;
  stop(): Promise<void>;
}

export type ControllerStarter = (world: World) => Started;

/** As shipped, without the short resync that tests use. */
export const startOurs: ControllerStarter = (world) => world.startController(["--resync=60"]);

const OFFICIAL_FLAGS = [
  "--cloud-provider=hcloud",
  "--allow-untagged-cloud",
  "--allocate-node-cidrs=true",
  "--cluster-cidr=10.244.0.0/16",
  "--leader-elect=false",
  "--secure-port=0",
  "--webhook-secure-port=0",
];

/** The official controller with the rights of an administrator, and as many workers for Services as told; it ships with one. */
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
