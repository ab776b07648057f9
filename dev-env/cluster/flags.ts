import type { ClusterFiles } from "./files.ts";

/** Command line of an etcd with one member that need not survive the machine. */
export function etcdFlags(files: ClusterFiles): readonly string[] {
  // Advertised addresses must look like host:port. The one member never uses its own client address; for its peer
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
    // The only candidate need not wait a second for others.
    "--heartbeat-interval=10",
    "--election-timeout=50",
    "--log-level=warn",
  ];
}

/** What an API server is started with, besides its files. */
export interface ApiServerOptions {
  readonly port: number;
  /** Keep an audit log, as the policy says. */
  readonly isAudited?: boolean;
  /** Further flags, which win over ours. */
  readonly extra?: readonly string[];
}

/** Command line of an API server on loopback that works like a real one as far as a client can tell. */
export function apiServerFlags(files: ClusterFiles, options: ApiServerOptions): readonly string[] {
  return [
    `--etcd-servers=unix://${files.etcdSocket}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${options.port}`,
    `--tls-cert-file=${files.serverCertificate}`,
    `--tls-private-key-file=${files.serverKey}`,
    `--client-ca-file=${files.authority}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${files.serviceAccountKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    "--service-cluster-ip-range=10.96.0.0/16",
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    // Both wait for what kube-controller-manager does: creating service accounts, and removing the not-ready taint.
    "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
    // A loopback address cannot be the endpoint of the service "kubernetes".
    "--advertise-address=127.0.0.1",
    "--endpoint-reconciler-type=none",
    "--enable-priority-and-fairness=false",
    ...(options.isAudited ? [`--audit-policy-file=${files.auditPolicy}`, `--audit-log-path=${files.auditLog}`] : []),
    ...(options.extra ?? []),
  ];
}

/** An audit policy that notes every request of one user, without bodies, once it is answered. */
export function auditPolicy(user: string): string {
  return JSON.stringify({
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: [{ level: "Metadata", users: [user] }, { level: "None" }],
  });
}
