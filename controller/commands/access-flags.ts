import type { Flag } from "../flags.ts";

/** Flags of commands that talk to the API server only. */
export const ACCESS_FLAGS: readonly Flag[] = [
  { name: "kubeconfig", value: "<file>", doc: "how to reach the API server; default as kubectl's" },
  { name: "master", value: "<url>", doc: "address of the API server, instead of the kubeconfig's" },
  { name: "cluster-name", value: "<name>", doc: "name of the cluster's stack (default: kubernetes)" },
  { name: "namespace", value: "<name>", doc: "where the controller runs (default: kube-system)" },
];
