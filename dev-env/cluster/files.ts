import { join } from "node:path";

/** Where a cluster keeps its things. All of it lies below one folder that only its owner may enter. */
export interface ClusterFiles {
  readonly dir: string;
  readonly etcdData: string;
  /** etcd listens here and nowhere else: no port, and nobody but the owner can connect. */
  readonly etcdSocket: string;
  readonly etcdLog: string;
  readonly apiServerLog: string;
  readonly authority: string;
  readonly serverCertificate: string;
  readonly serverKey: string;
  readonly serviceAccountKey: string;
  readonly auditPolicy: string;
  /** One line of JSON for every request that the policy asks for. */
  readonly auditLog: string;
  readonly kubeconfig: string;
}

/** Names the files of the cluster in `dir`. */
export function layOutFiles(dir: string): ClusterFiles {
  return {
    dir,
    etcdData: join(dir, "etcd"),
    etcdSocket: join(dir, "etcd.sock"),
    etcdLog: join(dir, "etcd.log"),
    apiServerLog: join(dir, "kube-apiserver.log"),
    authority: join(dir, "ca.crt"),
    serverCertificate: join(dir, "kube-apiserver.crt"),
    serverKey: join(dir, "kube-apiserver.key"),
    serviceAccountKey: join(dir, "service-account.key"),
    auditPolicy: join(dir, "audit-policy.json"),
    auditLog: join(dir, "audit.log"),
    kubeconfig: join(dir, "kubeconfig"),
  };
}
