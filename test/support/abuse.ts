/** A hostile tenant: someone who may write Services and Secrets in one namespace, and does so in the worst ways. */

import { CoreV1Api, RbacAuthorizationV1Api, type V1Service } from "@kubernetes/client-node";
import { FINALIZER } from "../../controller/formats/finalizer.ts";
import { OPTION_ROWS } from "../../controller/render/service/options/annotations.ts";
import { mergePatch } from "../../dev-env/cluster/api.ts";
import { connect } from "../../dev-env/cluster/cluster.ts";
import { prefixed } from "./builders.ts";
import { aPair } from "./certificates.ts";
import { HOSTILE } from "./hostile.ts";
import type { Random } from "./random.ts";
import type { World } from "./world.ts";

const NAMESPACE = "tenant";

/** What an abuse may use. `isOdd` alternates from call to call. */
export interface Scene {
  readonly tenant: Tenant;
  readonly random: Random;
  readonly isOdd: boolean;
  /** Name and id of a load balancer that belongs to another. */
  readonly victim: { readonly name: string; readonly id: number };
}

type Annotations = Readonly<Record<string, string>>;

/** The tenant's access to the cluster. Its name for each object is one of few, so that it also fights with itself. */
export class Tenant {
  readonly #core: CoreV1Api;

  private constructor(core: CoreV1Api) {
    this.#core = core;
  }

  static async enter(world: World): Promise<Tenant> {
    await world.core.createNamespace({ body: { metadata: { name: NAMESPACE } } });
    const rbac = connect(world.cluster.kubeconfig, RbacAuthorizationV1Api);
    const metadata = { name: "tenant" };
    const rules = [{ apiGroups: [""], resources: ["services", "secrets"], verbs: ["*"] }];
    await rbac.createNamespacedRole({ namespace: NAMESPACE, body: { metadata, rules } });
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "tenant" };
    const subjects = [{ kind: "User", name: "tenant", apiGroup: "rbac.authorization.k8s.io" }];
    await rbac.createNamespacedRoleBinding({ namespace: NAMESPACE, body: { metadata, roleRef, subjects } });
    return new Tenant(connect(await world.cluster.kubeconfigFor({ name: "tenant" }), CoreV1Api));
  }

  /** Creates a Service, or changes it if it exists. Annotations omit the prefix. */
  async serve(name: string, annotations: Annotations = {}, spec: V1Service["spec"] = {}): Promise<void> {
    const metadata = { name, annotations: prefixed({ location: "fsn1", ...annotations }) };
    const body = { metadata, spec: { type: "LoadBalancer", ports: [{ name: "web", port: 80 }], ...spec } };
    await this.#core.createNamespacedService({ namespace: NAMESPACE, body }).catch(() => this.patch(name, body));
  }

  async patch(name: string, body: object): Promise<void> {
    await this.#core.patchNamespacedService({ namespace: NAMESPACE, name, body }, mergePatch());
  }

  async remove(name: string): Promise<void> {
    await this.#core.deleteNamespacedService({ namespace: NAMESPACE, name });
  }

  async secret(name: string, certificate: string, key: string): Promise<void> {
    const stringData = { "tls.crt": certificate, "tls.key": key };
    const body = { metadata: { name }, type: "kubernetes.io/tls", stringData };
    const change = { namespace: NAMESPACE, name, body: { stringData } };
    await this.#core
      .createNamespacedSecret({ namespace: NAMESPACE, body })
      .catch(() => this.#core.patchNamespacedSecret(change, mergePatch()));
  }

  async services(): Promise<readonly V1Service[]> {
    return (await this.#core.listNamespacedService({ namespace: NAMESPACE })).items;
  }
}

const range = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));
const ports = (count: number, protocol = "TCP") => range(count, (n) => ({ name: `p${n}`, port: n + 1, protocol }));
const withoutNodePorts = { allocateLoadBalancerNodePorts: false };
const algorithm = (isOdd: boolean) => ({ "algorithm-type": isOdd ? "least_connections" : "round_robin" });
const pair = aPair();

/** Kinds of abuse. The API server refuses some; that is part of it. */
export const ABUSES: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  "256 kB of unknown annotations": ({ tenant }) =>
    tenant.serve("unknown", Object.fromEntries(range(2_700, (n) => [`${n}`.padEnd(63, "y"), ""]))),
  "one annotation of 250 kB": ({ tenant }) => tenant.serve("long", { name: "x".repeat(250_000) }),
  "annotations for 3,000 ports": ({ tenant }) =>
    tenant.serve("per-port", Object.fromEntries(range(3_000, (n) => [`${n}.protocol`, "http"]))),
  "5,000 ports": ({ tenant }) => tenant.serve("ports", {}, { ports: ports(5_000), ...withoutNodePorts }),
  "only UDP ports": ({ tenant }) => tenant.serve("udp", {}, { ports: ports(3, "UDP") }),
  "more ports than listeners": ({ tenant }) => tenant.serve("listeners", {}, { ports: ports(35) }),
  "a node selector of thousands of terms": ({ tenant }) =>
    tenant.serve("selector", { "node-selector": range(50_000, () => "!x").join(",") }),
  "a selector that matches no node": ({ tenant, isOdd }) =>
    tenant.serve("matches", { "node-selector": isOdd ? "no=node" : "" }),
  "a Service deleted at once": async ({ tenant, random }) => {
    const name = `brief-${Math.floor(random.between(0, 1_000_000))}`;
    await tenant.serve(name);
    await tenant.remove(name);
  },
  "a Service recreated with the same name": async ({ tenant }) => {
    await tenant.serve("again");
    await tenant.remove("again");
  },
  "a setting that changes all the time": ({ tenant, isOdd }) => tenant.serve("flips", algorithm(isOdd)),
  "a type that changes all the time": ({ tenant, isOdd }) =>
    tenant.serve("types", {}, { type: isOdd ? "ClusterIP" : "LoadBalancer" }),
  "a traffic policy that changes all the time": ({ tenant, isOdd }) =>
    tenant.serve("policy", {}, { externalTrafficPolicy: isOdd ? "Local" : "Cluster" }),
  "protection that changes all the time": ({ tenant, isOdd }) =>
    tenant.serve("protected", { "delete-protection": String(isOdd) }),
  "our annotations on a ClusterIP Service": ({ tenant, random }) =>
    tenant.serve("internal", { type: `lb${random.next()}` }, { type: "ClusterIP" }),
  "other annotations that change all the time": async ({ tenant, random }) => {
    await tenant.serve("noise");
    for (const _ of range(10, () => 0))
      await tenant.patch("noise", { metadata: { annotations: { "tenant.example/x": String(random.next()) } } });
  },
  "our finalizer, removed by hand": ({ tenant }) =>
    tenant.patch("flips", { metadata: { "$deleteFromPrimitiveList/finalizers": [FINALIZER] } }),
  "a deletion without our finalizer": async ({ tenant }) => {
    await tenant.serve("gone");
    await tenant.patch("gone", { metadata: { "$deleteFromPrimitiveList/finalizers": [FINALIZER] } });
    await tenant.remove("gone");
  },
  "our finalizer on a ClusterIP Service": async ({ tenant }) => {
    await tenant.serve("claimed", {}, { type: "ClusterIP" });
    await tenant.patch("claimed", { metadata: { finalizers: [FINALIZER] } });
  },
  "hostile texts everywhere": ({ tenant }) =>
    tenant.serve("hostile", Object.fromEntries(OPTION_ROWS.map(([, { annotation }]) => [annotation, HOSTILE]))),
  "names of JavaScript's prototype": ({ tenant }) =>
    tenant.serve("prototype", {
      constructor: "x",
      __proto__x: "x",
      "toString.protocol": "http",
      labels: "__proto__=x",
    }),
  "the name of another load balancer": ({ tenant, victim }) => tenant.serve("same-name", { name: victim.name }),
  "the id of another load balancer": ({ tenant, victim }) => tenant.serve("same-id", { id: String(victim.id) }),
  "labels that belong to us": ({ tenant }) =>
    tenant.serve("labels", { labels: "hcloud-ccm/service-uid=1,lotse/foreign-listener-80=yes" }),
  "an address of a node": ({ tenant }) =>
    tenant.serve("address", { "use-private-ip": "true", "private-ipv4": "10.0.0.2" }),
  "a class of another controller": ({ tenant }) =>
    tenant.serve("class", {}, { loadBalancerClass: "example.com/other" }),
  "a place that does not exist": ({ tenant }) => tenant.serve("place", { location: "moon" }),
  "a load balancer left behind": async ({ tenant }) => {
    await tenant.serve("kept", { "on-delete": "keep" });
    await tenant.remove("kept");
  },
  "TLS Secrets that are none": ({ tenant, random }) => tenant.secret("garbage", `garbage ${random.next()}`, "none"),
  "a TLS Secret of 700 kB": ({ tenant }) =>
    tenant.secret("large", pair.certificate.repeat(Math.ceil(700_000 / pair.certificate.length)), pair.privateKey),
  "missing, large and broken Secrets on 30 ports": ({ tenant }) =>
    tenant.serve(
      "tls",
      { protocol: "https", "tls-secret": "large,garbage,missing", type: "lb31" },
      { ports: ports(30) },
    ),
  "certificates for other people's domains": ({ tenant }) =>
    tenant.serve("managed", {
      protocol: "https",
      "certificate-type": "managed",
      "http-managed-certificate-domains": range(100, (n) => `d${n}.example.com`).join(","),
    }),
  "a host name for the status": ({ tenant }) => tenant.serve("host", { hostname: "kubernetes.default.svc" }),
};
