import {
  type V1Lease,
  V1MicroTime,
  type V1Node,
  type V1NodeAddress,
  type V1NodeCondition,
} from "@kubernetes/client-node";

/** A machine as its kubelet would describe it. */
export interface NodeOptions {
  readonly name: string;
  /** What `--node-ip` says: one address, or two of different families with a comma. */
  readonly nodeIp?: string;
  /** Given to the node right after it registered, as kube-controller-manager does. */
  readonly podCidrs?: readonly string[];
  /** What `--node-labels` says. The API server refuses labels that nodes must not give themselves. */
  readonly labels?: Readonly<Record<string, string>>;
  /** What `--provider-id` says; most kubelets leave it to the cloud-controller-manager. */
  readonly providerId?: string;
  readonly architecture?: "amd64" | "arm64";
  /** Default true. */
  readonly isReady?: boolean;
  /** How often the Lease is renewed: 10 s by default, as kubelets do. */
  readonly leaseRenewMs?: number;
  /** How often the status is reported without a change: 5 minutes by default, as kubelets do. */
  readonly statusReportMs?: number;
}

/** The namespace of node leases, which the API server creates. */
export const leaseNamespace = "kube-node-lease";

const leaseDurationSeconds = 40;

/** The Node that a kubelet with `--cloud-provider=external` registers. */
export function renderNode(options: NodeOptions, kubeletVersion: string, now: Date): V1Node {
  const { name, nodeIp, architecture = "amd64", providerId, labels, isReady = true } = options;
  const resources = { cpu: "2", memory: "4Gi", pods: "110", "ephemeral-storage": "40Gi" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: { ...defaultLabels(name, architecture), ...labels },
      annotations: {
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        ...(nodeIp === undefined ? {} : { "alpha.kubernetes.io/provided-node-ip": nodeIp }),
      },
    },
    spec: {
      taints: [{ key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" }],
      ...(providerId === undefined ? {} : { providerID: providerId }),
    },
    status: {
      capacity: resources,
      allocatable: resources,
      addresses: renderAddresses(name, nodeIp),
      conditions: renderConditions(isReady, { now, started: now, changed: now }),
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: {
        architecture,
        operatingSystem: "linux",
        kubeletVersion,
        kubeProxyVersion: "",
        bootID: "00000000-0000-4000-8000-000000000000",
        machineID: name,
        systemUUID: "00000000-0000-4000-8000-000000000000",
        containerRuntimeVersion: "containerd://2.0.0",
        kernelVersion: "6.12.0",
        osImage: "Debian GNU/Linux 13 (trixie)",
      },
    },
  };
}

/** The labels that kubelets always set, in their old and new spelling. */
function defaultLabels(name: string, architecture: string): Readonly<Record<string, string>> {
  return {
    "beta.kubernetes.io/arch": architecture,
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": architecture,
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
  };
}

/** All that a kubelet knows before the cloud-controller-manager comes, which owns the list from then on. */
function renderAddresses(name: string, nodeIp: string | undefined): V1NodeAddress[] {
  const ips = nodeIp === undefined ? [] : nodeIp.split(",");
  return [...ips.map((address) => ({ type: "InternalIP", address })), { type: "Hostname", address: name }];
}

/** Moments in the life of a kubelet: now, when it started, and when its readiness changed last. */
export interface Moments {
  readonly now: Date;
  readonly started: Date;
  readonly changed: Date;
}

/** The conditions that belong to the kubelet. Others, such as NetworkUnavailable, it leaves alone. */
export function renderConditions(isReady: boolean, { now, started, changed }: Moments): V1NodeCondition[] {
  const condition = (type: string, status: boolean, reason: string, message: string): V1NodeCondition => ({
    type,
    status: status ? "True" : "False",
    reason,
    message,
    lastHeartbeatTime: now,
    lastTransitionTime: type === "Ready" ? changed : started,
  });
  return [
    condition("MemoryPressure", false, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    condition("DiskPressure", false, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    condition("PIDPressure", false, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    isReady
      ? condition("Ready", true, "KubeletReady", "kubelet is posting ready status")
      : condition("Ready", false, "KubeletNotReady", "container runtime is down"),
  ];
}

/** The Lease by which a kubelet shows that it lives. */
export function renderLease(node: V1Node, now: Date): V1Lease {
  const name = node.metadata?.name ?? "";
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      name,
      namespace: leaseNamespace,
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid: node.metadata?.uid ?? "" }],
    },
    spec: { holderIdentity: name, leaseDurationSeconds, renewTime: new V1MicroTime(now) },
  };
}
