/** Node and Lease objects as a kubelet writes them. */
import {
  type V1Lease,
  V1MicroTime,
  type V1Node,
  type V1NodeAddress,
  type V1NodeCondition,
} from "@kubernetes/client-node";

/** A node, and the flags of its kubelet. */
export interface NodeOptions {
  readonly name: string;
  /** Value of `--node-ip`: one address, or two of different families separated by a comma. */
  readonly nodeIp?: string;
  /** Assigned right after the registration, as kube-controller-manager does. */
  readonly podCidrs?: readonly string[];
  /** Value of `--node-labels`. The API server rejects labels that nodes may not set themselves. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Value of `--provider-id`; usually left to the cloud-controller-manager. */
  readonly providerId?: string;
  readonly architecture?: "amd64" | "arm64";
  /** Default true. */
  readonly isReady?: boolean;
  /** Interval of Lease renewals. Default 10 s, as in kubelets. */
  readonly leaseRenewMs?: number;
  /** Interval of status reports without a change. Default 5 minutes, as in kubelets. */
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

/** The labels that kubelets always set, including the deprecated ones. */
function defaultLabels(name: string, architecture: string): Readonly<Record<string, string>> {
  return {
    "beta.kubernetes.io/arch": architecture,
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": architecture,
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
  };
}

/** The addresses that a kubelet knows. After initialisation the cloud-controller-manager owns the list. */
function renderAddresses(name: string, nodeIp: string | undefined): V1NodeAddress[] {
  const ips = nodeIp === undefined ? [] : nodeIp.split(",");
  return [...ips.map((address) => ({ type: "InternalIP", address })), { type: "Hostname", address: name }];
}

/** The current time, the start of the kubelet, and the last change of its readiness. */
export interface Moments {
  readonly now: Date;
  readonly started: Date;
  readonly changed: Date;
}

/** The conditions that the kubelet owns. Others, such as NetworkUnavailable, are not included. */
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

/** The Lease that a kubelet renews. */
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
