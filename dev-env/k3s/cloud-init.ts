/** What a machine does on its first boot: cloud-init documents, as text. */
import { posix } from "node:path";
import { stringify } from "yaml";
import { API_PORT, CONTROL_PLANE_IP, POD_CIDR, workerIp } from "./layout.ts";
import type { Secrets } from "./secrets.ts";

/** What every machine has to know. */
export interface MachineOptions {
  readonly k3sChannel: string;
  readonly secrets: Pick<Secrets, "k3sToken" | "hostKey">;
}

/** A worker, and the server it joins. */
export interface WorkerOptions extends MachineOptions {
  /** Counts from 1. */
  readonly index: number;
  /** Id of the control plane's server: a worker of another control plane is another worker. */
  readonly controlPlaneId: string;
}

const CONFIG_FILE = "/etc/rancher/k3s/config.yaml";
const PUBLIC_FILE = "/etc/rancher/k3s/config.yaml.d/public.yaml";
const SCRIPT = "/usr/local/sbin/install-k3s";
const METADATA = "http://169.254.169.254/hetzner/v1/metadata";
/** How long a machine waits for its private network, which is attached before it starts. */
const NETWORK_PATIENCE_SECONDS = 120;

/** The kubelet leaves the node to a cloud controller: it taints it, and gives it no address but its own. */
const KUBELET = { "kubelet-arg": ["cloud-provider=external"] };

/** Settings with the public address in them, which only the running machine knows. */
const PUBLIC_SETTINGS = {
  server: "node-external-ip: $public\ntls-san: [$public]",
  agent: "node-external-ip: $public",
} as const;

/** First boot of the control plane: k3s without the parts that a cloud controller, a CNI and an ingress replace. */
export function renderControlPlane({ k3sChannel, secrets }: MachineOptions): string {
  const config = {
    token: secrets.k3sToken,
    "cluster-cidr": POD_CIDR,
    "disable-cloud-controller": true,
    disable: ["traefik", "servicelb", "local-storage"],
    "flannel-backend": "none",
    "disable-network-policy": true,
    ...KUBELET,
    "node-ip": CONTROL_PLANE_IP,
    // k3s would announce the public address to pods, and lead them out through the firewall and back in.
    "advertise-address": CONTROL_PLANE_IP,
  };
  return document({
    ssh_deletekeys: true,
    ssh_keys: { ed25519_private: secrets.hostKey.privateKey, ed25519_public: secrets.hostKey.publicKey },
    ...files(config, installScript("server", CONTROL_PLANE_IP, k3sChannel)),
  });
}

/** First boot of a worker: joins over the private network, as soon as there is something to join. */
export function renderWorker({ k3sChannel, secrets, index, controlPlaneId }: WorkerOptions): string {
  const ip = workerIp(index);
  const config = {
    server: `https://${CONTROL_PLANE_IP}:${API_PORT}`,
    token: secrets.k3sToken,
    ...KUBELET,
    "node-ip": ip,
  };
  return document(files(config, `${installScript("agent", ip, k3sChannel)}# joins server ${controlPlaneId}\n`));
}

function document(parts: object): string {
  return `#cloud-config\n${stringify({ ssh_pwauth: false, ...parts, runcmd: [[SCRIPT]] }, { lineWidth: 0 })}`;
}

function files(config: object, script: string): object {
  return {
    write_files: [
      { path: CONFIG_FILE, permissions: "0600", content: stringify(config, { lineWidth: 0 }) },
      { path: SCRIPT, permissions: "0700", content: script },
    ],
  };
}

/**
 * Waits for the private address, asks the cloud for the public one, and installs k3s. The installer is saved before it
 * runs: a shell that reads from a broken connection would run half of it and call that a success.
 */
function installScript(role: "server" | "agent", privateIp: string, channel: string): string {
  return `#!/bin/sh
set -eu
waited=0
until ip -4 -oneline address show | grep -qF " ${privateIp}/"; do
  waited=$((waited + 1))
  if [ "$waited" -gt ${NETWORK_PATIENCE_SECONDS} ]; then
    echo "${privateIp} is on no interface: the private network is missing" >&2
    exit 1
  fi
  sleep 1
done
public=$(curl -sf --retry 30 --retry-connrefused --retry-delay 1 ${METADATA}/public-ipv4)
mkdir -p ${posix.dirname(PUBLIC_FILE)}
cat > ${PUBLIC_FILE} <<END
${PUBLIC_SETTINGS[role]}
END
curl -sfL --retry 10 --retry-delay 2 -o /run/k3s-installer https://get.k3s.io
INSTALL_K3S_CHANNEL=${channel} sh /run/k3s-installer ${role}
`;
}
