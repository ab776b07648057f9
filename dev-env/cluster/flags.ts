/** Command lines of etcd and kube-apiserver. */
import type { ClusterFiles } from "./files.ts";

/** Flags of a single etcd member without durability. */
export function etcdFlags(files: ClusterFiles): readonly string[] {
  // Advertised addresses must have the form host:port. A single member never uses its client address; for the peer
  // address it opens a socket of that name in the working directory.
  const peer = "unix://peer:0";
  return [
    "--name=lotse",
    `--data-dir=${files.etcdData}`,
    `--listen-client-urls=unix://${files.etcdSocket}`,
    "--advertise-client-urls=unix://client:0",
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=lotse=${peer}`,
    "--unsafe-no-fsync",
    // Elect the leader at once, because there are no other candidates.
    "--heartbeat-interval=10",
    "--election-timeout=50",
    "--log-level=warn",
  ];
}

/** Settings of a cluster. The defaults suit most tests. */
export interface ClusterOptions {
  /** Additional flags of kube-apiserver, which override the default ones. */
  readonly apiServerFlags?: readonly string[];
  /** A user whose requests are logged in `audit.log`, in the cluster's folder. */
  readonly auditedUser?: string;
  /** Address at which real kubelets and pods reach the API server, on port 6443. By default it listens on loopback. */
  readonly machineAddress?: string;
}

/** Flags of an API server that behaves like a production one for its clients. */
export function apiServerFlags(files: ClusterFiles, port: number, options: ClusterOptions): readonly string[] {
  const audit = [`--audit-policy-file=${files.auditPolicy}`, `--audit-log-path=${files.auditLog}`];
  return [
    `--etcd-servers=unix://${files.etcdSocket}`,
    `--bind-address=${options.machineAddress ?? "127.0.0.1"}`,
    `--secure-port=${port}`,
    `--tls-cert-file=${files.serverCertificate}`,
    `--tls-private-key-file=${files.serverKey}`,
    `--client-ca-file=${files.authority}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${files.serviceAccountKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    "--service-cluster-ip-range=10.96.0.0/16",
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    ...(options.machineAddress ? machineFlags(files, options.machineAddress) : loopbackFlags),
    "--enable-priority-and-fairness=false",
    ...(options.auditedUser === undefined ? [] : audit),
    ...(options.apiServerFlags ?? []),
  ];
}

const loopbackFlags = [
  // Both require kube-controller-manager, which creates service accounts and removes the not-ready taint.
  "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
  // A loopback address cannot be an endpoint of the Service "kubernetes".
  "--advertise-address=127.0.0.1",
  "--endpoint-reconciler-type=none",
];

function machineFlags(files: ClusterFiles, address: string): readonly string[] {
  return [
    `--advertise-address=${address}`,
    `--kubelet-client-certificate=${files.kubeletClientCertificate}`,
    `--kubelet-client-key=${files.kubeletClientKey}`,
    "--kubelet-preferred-address-types=InternalIP",
    "--allow-privileged=true",
  ];
}

/** An audit policy that logs every completed request of one user, without bodies. */
export function auditPolicy(user: string): string {
  return JSON.stringify({
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: [{ level: "Metadata", users: [user] }, { level: "None" }],
  });
}
