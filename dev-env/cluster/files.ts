/** Paths of all files of a cluster. */
import { join } from "node:path";

/** Paths of a cluster's files. */
export type ClusterFiles = ReturnType<typeof layOutFiles>;

/** Paths of the files in `dir`, a folder that only its owner can access. */
export function layOutFiles(dir: string) {
  return {
    dir,
    etcdData: join(dir, "etcd"),
    /** The only socket of etcd, to which only the owner can connect. */
    etcdSocket: join(dir, "etcd.sock"),
    etcdLog: join(dir, "etcd.log"),
    apiServerLog: join(dir, "kube-apiserver.log"),
    authority: join(dir, "ca.crt"),
    serverCertificate: join(dir, "kube-apiserver.crt"),
    serverKey: join(dir, "kube-apiserver.key"),
    /** With which the API server authenticates to real kubelets. */
    kubeletClientCertificate: join(dir, "kubelet-client.crt"),
    kubeletClientKey: join(dir, "kubelet-client.key"),
    serviceAccountKey: join(dir, "service-account.key"),
    auditPolicy: join(dir, "audit-policy.json"),
    /** One line of JSON for each audited request. */
    auditLog: join(dir, "audit.log"),
    kubeconfig: join(dir, "kubeconfig"),
  } as const;
}
