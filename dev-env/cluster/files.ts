import { join } from "node:path";

/** Where a cluster keeps its things. */
export type ClusterFiles = ReturnType<typeof layOutFiles>;

/** Names the files of the cluster in `dir`. All of them lie below this one folder, which only its owner may enter. */
export function layOutFiles(dir: string) {
  return {
    dir,
    etcdData: join(dir, "etcd"),
    /** etcd listens here and nowhere else: no port, and nobody but the owner can connect. */
    etcdSocket: join(dir, "etcd.sock"),
    etcdLog: join(dir, "etcd.log"),
    apiServerLog: join(dir, "kube-apiserver.log"),
    authority: join(dir, "ca.crt"),
    serverCertificate: join(dir, "kube-apiserver.crt"),
    serverKey: join(dir, "kube-apiserver.key"),
    serviceAccountKey: join(dir, "service-account.key"),
    auditPolicy: join(dir, "audit-policy.json"),
    /** One line of JSON for every request that the policy asks for. */
    auditLog: join(dir, "audit.log"),
    kubeconfig: join(dir, "kubeconfig"),
  } as const;
}
