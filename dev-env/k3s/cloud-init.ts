/** What a machine does on its first boot, as a cloud-init document. */
import { readFileSync } from "node:fs";
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
const SCRIPT = "/usr/local/sbin/install-k3s";
const INSTALL = readFileSync(new URL("install-k3s.sh", import.meta.url), "utf8");

/** The kubelet leaves the node to a cloud controller: it taints it, and reports no address but its own. */
const KUBELET = { "kubelet-arg": ["cloud-provider=external"] };

/** Renders the first boot of a machine. */
export function renderCloudInit(machine: MachineOptions): string {
  const { role, hostKey } = machine;
  const config = role === "control-plane" ? controlPlaneConfig(machine) : workerConfig(machine);
  const document = {
    ssh_pwauth: false,
    ...(hostKey && role === "control-plane" && { ssh_deletekeys: true, ssh_keys: hostKeys(hostKey) }),
    write_files: [
      { path: CONFIG_FILE, permissions: "0600", content: stringify(config, { lineWidth: 0 }) },
      { path: SCRIPT, permissions: "0700", content: installScript(machine) },
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

/** The script with the machine's values. They contain no quotes: settings are parsed, and the rest are addresses. */
function installScript({ ip, role, index, apiIp, apiPublicIp, controlPlaneId, settings }: MachineOptions): string {
  const isServer = role === "control-plane";
  const names = [apiIp, apiPublicIp].filter((name) => name && name !== ip);
  const values = {
    private_ip: ip,
    api: `https://${apiIp}:${API_PORT}`,
    kind: isServer ? "server" : "agent",
    channel: settings.k3sChannel,
    san: names.map((name) => `, ${name}`).join(""),
    cluster: isServer && settings.controlPlanes > 1 ? (index > 1 ? "join" : "found-or-join") : "found",
    // A worker of another control plane is another worker: this changes the document, and thereby the server.
    ...(controlPlaneId !== undefined && { control_plane: controlPlaneId }),
  };
  const lines = Object.entries(values).map(([name, value]) => `${name}='${value}'\n`);
  return `#!/bin/sh\n${lines.join("")}${INSTALL}`;
}
