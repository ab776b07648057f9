/** Paths of the Kubernetes API. */

/** Path of all objects of a kind in a namespace, or of one of them. */
function namespaced(kind: string, api = "/api/v1"): (namespace: string, name?: string) => string {
  return (namespace, name) => {
    const all = `${api}/namespaces/${encodeURIComponent(namespace)}/${kind}`;
    return name === undefined ? all : `${all}/${encodeURIComponent(name)}`;
  };
}

/** Paths of the objects that Lotse reads or writes. */
export const paths = {
  nodes: "/api/v1/nodes",
  node: (name: string) => `/api/v1/nodes/${encodeURIComponent(name)}`,
  services: "/api/v1/services",
  service: namespaced("services"),
  /** TLS Secrets of one namespace, or of all. */
  tlsSecrets: (namespace?: string) => {
    const path = namespace === undefined ? "/api/v1/secrets" : namespaced("secrets")(namespace);
    return `${path}?${new URLSearchParams({ fieldSelector: "type=kubernetes.io/tls" })}`;
  },
  secret: namespaced("secrets"),
  lease: namespaced("leases", "/apis/coordination.k8s.io/v1"),
  configMap: namespaced("configmaps"),
  event: namespaced("events"),
} as const;
