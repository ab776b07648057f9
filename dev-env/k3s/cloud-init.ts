/** What a machine does on its first boot, as a cloud-init document. */
import { posix } from "node:path";
import ssh2 from "ssh2";
import { stringify } from "yaml";
import type { Machine } from "../../stacks/components/index.ts";
import type { Settings } from "./settings.ts";

/** Port of the API servers. */
export const API_PORT = 6443;

/** A machine, with everything resolved that was not known before its cluster was created. */
export interface MachineOptions extends Omit<Machine, "apiPublicIp" | "controlPlaneId"> {
  readonly settings: Pick<Settings, "controlPlanes" | "k3sChannel" | "pods" | "pools">;
  /** Lets a machine join the cluster. */
  readonly k3sToken: string;
  /** Private key by which SSH clients recognise control planes. Absent means that they generate their own. */
  readonly hostKey?: string | undefined;
  readonly apiPublicIp?: string | undefined;
  readonly controlPlaneId?: number | undefined;
}

const CONFIG_FILE = "/etc/rancher/k3s/config.yaml";
const BOOT_FILE = "/etc/rancher/k3s/config.yaml.d/boot.yaml";
const SCRIPT = "/usr/local/sbin/install-k3s";
const METADATA = "http://169.254.169.254/hetzner/v1/metadata";
/** How long a machine waits for its private network, which is attached right after its creation. */
const NETWORK_PATIENCE_SECONDS = 120;

/** The kubelet leaves the node to a cloud controller: it taints it, and reports no address but its own. */
const KUBELET = { "kubelet-arg": ["cloud-provider=external"] };

/** Renders the first boot of a machine. */
export function renderCloudInit(machine: MachineOptions): string {
  const { role, hostKey, controlPlaneId } = machine;
  const config = role === "control-plane" ? controlPlaneConfig(machine) : workerConfig(machine);
  // A worker of another control plane is another worker: the comment changes the document, and thereby the server.
  const note = controlPlaneId === undefined ? "" : `# joins server ${controlPlaneId}\n`;
  const document = {
    ssh_pwauth: false,
    ...(hostKey && role === "control-plane" && { ssh_deletekeys: true, ssh_keys: hostKeys(hostKey) }),
    write_files: [
      { path: CONFIG_FILE, permissions: "0600", content: stringify(config, { lineWidth: 0 }) },
      { path: SCRIPT, permissions: "0700", content: installScript(machine) + note },
    ],
    runcmd: [[SCRIPT]],
  };
  return `#cloud-config\n${stringify(document, { lineWidth: 0 })}`;
}

/** k3s without the parts that a cloud controller, a CNI and an ingress replace. */
function controlPlaneConfig({ ip, apiIp, index, k3sToken, settings }: MachineOptions): object {
  return {
    token: k3sToken,
    "cluster-cidr": settings.pods,
    "disable-cloud-controller": true,
    disable: ["traefik", "servicelb", "local-storage"],
    "flannel-backend": "none",
    "disable-network-policy": true,
    ...KUBELET,
    "node-ip": ip,
    // k3s would announce the public address to pods, and send them out through the firewall and back in.
    "advertise-address": ip,
    // The first of several decides when it boots whether it starts a cluster or joins one.
    ...(index > 1 && { server: `https://${apiIp}:${API_PORT}` }),
  };
}

function workerConfig({ ip, apiIp, pool: name, k3sToken, settings }: MachineOptions): object {
  const { labels = {}, taints = [] } = settings.pools.find((pool) => pool.name === name) ?? {};
  const nodeLabels = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return {
    server: `https://${apiIp}:${API_PORT}`,
    token: k3sToken,
    ...KUBELET,
    "node-ip": ip,
    ...(nodeLabels.length > 0 && { "node-label": nodeLabels }),
    ...(taints.length > 0 && { "node-taint": taints }),
  };
}

function hostKeys(privateKey: string): object {
  const key = ssh2.utils.parseKey(privateKey);
  if (key instanceof Error) throw new Error("hostKey is not an OpenSSH private key", { cause: key });
  return { ed25519_private: privateKey, ed25519_public: `${key.type} ${key.getPublicSSH().toString("base64")}` };
}

/**
 * Waits for the private address, asks the cloud for the public one, and installs k3s. The installer is saved before it
 * runs: a shell that reads from a broken connection would run half of it and report success.
 */
function installScript(machine: MachineOptions): string {
  const { ip, role, settings, apiIp, apiPublicIp } = machine;
  const kind = role === "control-plane" ? "server" : "agent";
  const names = ["$public", ...(ip === apiIp ? [] : [apiIp]), ...(apiPublicIp ? [apiPublicIp] : [])];
  const certificate = kind === "server" ? `echo "tls-san: [${names.join(", ")}]" >> ${BOOT_FILE}\n` : "";
  return `#!/bin/sh
set -eu
waited=0
until ip -4 -oneline address show | grep -qF " ${ip}/"; do
  waited=$((waited + 1))
  if [ "$waited" -gt ${NETWORK_PATIENCE_SECONDS} ]; then
    echo "${ip} is on no interface: the private network is missing" >&2
    exit 1
  fi
  sleep 1
done
public=$(curl -sf --retry 30 --retry-connrefused --retry-delay 1 ${METADATA}/public-ipv4)
mkdir -p ${posix.dirname(BOOT_FILE)}
echo "node-external-ip: $public" > ${BOOT_FILE}
${certificate}${foundOrJoin(machine)}curl -sfL --retry 10 --retry-delay 2 -o /run/k3s-installer https://get.k3s.io
INSTALL_K3S_CHANNEL=${settings.k3sChannel} sh /run/k3s-installer ${kind}
`;
}

/**
 * The first of several control planes starts the cluster. If it is replaced later, the others already serve the API
 * behind the load balancer, and it must join them instead of starting a second cluster.
 */
function foundOrJoin({ role, index, apiIp, settings }: MachineOptions): string {
  if (role !== "control-plane" || index !== 1 || settings.controlPlanes === 1) return "";
  return `if curl -skf --max-time 5 --retry 5 --retry-all-errors --retry-delay 2 https://${apiIp}:${API_PORT}/ping; then
  echo "server: https://${apiIp}:${API_PORT}" >> ${BOOT_FILE}
else
  echo "cluster-init: true" >> ${BOOT_FILE}
fi
`;
}
