import type { V1Node, V1Secret, V1Service } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { FINALIZER } from "../../../../controller/formats/finalizer.ts";
import type { Change } from "../../../../controller/kube/informer.ts";
import {
  concernsCluster,
  concernsLifecycle,
  concernsNode,
  concernsSecret,
  concernsService,
} from "../../../../controller/observe/relevance.ts";
import { aNode, aService } from "../../../support/builders.ts";

const NODE = { id: 1, labels: { a: "b" }, podCIDRs: ["10.0.0.0/24"], addresses: [{ type: "Hostname", address: "a" }] };

describe("a change of a Node", () => {
  it.each([
    ["HCCM S3, framework S22, S24, S53: its ProviderID", { ...NODE, id: 2, name: "node-1" }, true, true],
    ["unlike framework S54: a label, which a selector may ask for", { ...NODE, labels: { a: "c" } }, true, true],
    [
      "HCCM S3, framework S52: the exclusion label",
      { ...NODE, labels: { ...NODE.labels, "node.kubernetes.io/exclude-from-external-load-balancers": "" } },
      true,
      true,
    ],
    [
      "unlike framework S54: a taint, which may announce its end",
      { ...NODE, taints: [{ key: "x", effect: "NoSchedule" }] },
      true,
      true,
    ],
    ["unlike framework S54: its deletion", { ...NODE, isDeleted: true }, true, true],
    ["HCCM R1, framework R24: its pod ranges", { ...NODE, podCIDRs: ["10.0.1.0/24"] }, true, true],
    ["unlike framework R23: its addresses, as gateways come from the cloud", { ...NODE, addresses: [] }, false, true],
    ["kubelet's annotations", { ...NODE, annotations: { x: "y" } }, false, true],
    ["framework S54, R25: a condition", { ...NODE, conditions: [{ type: "Ready", status: "False" }] }, false, false],
    ["nothing", NODE, false, false],
  ])("%s: wakes the cluster %s, the node %s", (_, now, cluster, node) => {
    const change = { old: aNode(NODE), now: aNode(now) };
    expect(concernsCluster(change)).toBe(cluster);
    expect(concernsNode(change)).toBe(node);
  });

  it.each([
    ["it is new", undefined, aNode(NODE), true],
    ["it is gone", aNode(NODE), undefined, false],
    ["it is no longer Ready", aNode({ ...NODE, ready: "True" }), aNode({ ...NODE, ready: "Unknown" }), true],
    ["its status becomes unknown", aNode({ ...NODE, ready: "False" }), aNode({ ...NODE, ready: "Unknown" }), false],
    ["it gets a taint", aNode(NODE), aNode({ ...NODE, taints: [{ key: "x", effect: "NoSchedule" }] }), true],
    ["another label", aNode(NODE), aNode({ ...NODE, labels: {} }), false],
  ])("wakes the lifecycle when %s: %4$s", (_, old, now, expected) => {
    expect(concernsLifecycle({ ...(old && { old }), ...(now && { now }) })).toBe(expected);
  });

  it("unlike HCCM S4: wakes the cluster loop for the address of a dedicated server, which is a target", () => {
    const old = aNode({ providerID: "hrobot://5", addresses: [{ type: "InternalIP", address: "10.0.0.1" }] });
    const now = aNode({ providerID: "hrobot://5", addresses: [{ type: "InternalIP", address: "10.0.0.2" }] });
    expect(concernsCluster({ old, now })).toBe(true);
  });

  it("is ignored when it is only a heartbeat", () => {
    const old = aNode(NODE);
    const now: V1Node = { ...old, metadata: { ...old.metadata, resourceVersion: "2", managedFields: [] } };
    expect(concernsNode({ old, now })).toBe(false);
  });

  it("wakes both loops for a new Node, and the cluster loop for a deleted one", () => {
    const now = aNode(NODE);
    expect([concernsCluster({ now }), concernsNode({ now })]).toEqual([true, true]);
    expect([concernsCluster({ old: now }), concernsNode({ old: now })]).toEqual([true, false]);
  });

  it("wakes both loops for another Node of the same name", () => {
    const old = aNode(NODE);
    const now = { ...old, metadata: { ...old.metadata, uid: "another" } };
    expect([concernsCluster({ old, now }), concernsNode({ old, now })]).toEqual([true, true]);
  });
});

describe("a change of a Service", () => {
  const spec = (change: Partial<V1Service["spec"]>): V1Service => {
    const service = aService();
    return { ...service, spec: { ...service.spec, ...change } };
  };
  it.each([
    ["framework S37: its type", aService({ type: "ClusterIP" }), true],
    ["framework S38: its ports", aService({ ports: [81] }), true],
    ["framework S40: its uid", aService({ uid: "another" }), true],
    ["framework S41: its traffic policy", spec({ externalTrafficPolicy: "Local" }), true],
    ["framework S42: its health-check port", spec({ healthCheckNodePort: 31_000 }), true],
    ["framework S70: an annotation", aService({ annotations: { type: "lb21" } }), true],
    ["its deletion", aService({ isDeleted: true }), true],
    ["our own finalizer", aService({ finalizers: [FINALIZER] }), false],
    ["another client's finalizer", aService({ finalizers: ["other"] }), false],
    ["our own status", aService({ ingress: [{ ip: "1.1.1.1" }] }), false],
    ["nothing", aService(), false],
  ])("%s: %s", (_, now, expected) => {
    expect(concernsService({ old: aService(), now })).toBe(expected);
  });

  it("wakes the loop if it loses our finalizer", () => {
    expect(concernsService({ old: aService({ finalizers: [FINALIZER] }), now: aService() })).toBe(true);
  });

  it.each([
    ["S25: loadBalancerIP", { loadBalancerIP: "1.2.3.4" }],
    ["S39: externalIPs", { externalIPs: ["1.2.3.4"] }],
    ["S43: a target port", { ports: [{ port: 80, nodePort: 30_080, protocol: "TCP", targetPort: "dns" }] }],
    ["S44: an appProtocol", { ports: [{ port: 80, nodePort: 30_080, protocol: "TCP", appProtocol: "http" }] }],
    ["S45: its IP families", { ipFamilies: ["IPv4", "IPv6"] }],
  ])("HCCM S1, framework %s wakes it", (_, spec) => {
    const old = aService();
    expect(concernsService({ old, now: { ...old, spec: { ...old.spec, ...spec } } })).toBe(true);
    expect(concernsService({ old, now: aService() })).toBe(false);
  });

  it("framework S71: does not wake the loop when only labels change", () => {
    const old = aService();
    const now: V1Service = { ...old, metadata: { ...old.metadata, labels: { a: "b" }, resourceVersion: "9" } };
    expect(concernsService({ old, now })).toBe(false);
  });

  const clusterIp = { type: "ClusterIP" };
  const foreign = (value: string): V1Service => {
    const service = aService();
    return { ...service, metadata: { ...service.metadata, annotations: { "tenant.example/x": value } } };
  };
  it.each<[string, Change<V1Service>]>([
    ["a new Service of another type", { now: aService(clusterIp) }],
    ["a deleted Service of another type", { old: aService(clusterIp) }],
    [
      "an annotation of a Service of another type",
      { old: aService(clusterIp), now: aService({ ...clusterIp, annotations: { type: "lb21" } }) },
    ],
    ["ports of a Service of another type", { old: aService(clusterIp), now: aService({ ...clusterIp, ports: [81] }) }],
    [
      "a Service of another class",
      { old: aService({ loadBalancerClass: "a/b" }), now: aService({ loadBalancerClass: "a/b", ports: [81] }) },
    ],
    ["an annotation that is not ours", { old: foreign("1"), now: foreign("2") }],
  ])("does not wake the loop for %s (hardening 3)", (_, change) => {
    expect(concernsService(change)).toBe(false);
  });

  it("wakes the loop for a new Service and for a deleted one", () => {
    expect(concernsService({ now: aService() })).toBe(true);
    expect(concernsService({ old: aService() })).toBe(true);
  });
});

describe("a change of a TLS Secret", () => {
  const secret = (name: string, data: string): V1Secret => ({
    metadata: { namespace: "default", name },
    data: { "tls.crt": data },
  });
  const using = (annotation: string, namespace = "default") =>
    aService({ namespace, annotations: { [annotation]: "a, web" } });
  it.each([
    ["used by a Service", using("tls-secret"), true],
    ["used by a port", using("443.tls-secret"), true],
    ["of another namespace", using("tls-secret", "other"), false],
    ["not used", aService(), false],
  ])("%s: %s (hardening 3)", (_, service, expected) => {
    const [old, now] = [secret("web", "1"), secret("web", "2")];
    expect(concernsSecret({ old, now }, [service])).toBe(expected);
    expect(concernsSecret({ now }, [service])).toBe(expected);
    expect(concernsSecret({ old }, [service])).toBe(expected);
    expect(concernsSecret({ old, now: secret("web", "1") }, [service])).toBe(false);
  });
});
