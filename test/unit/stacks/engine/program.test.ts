import * as pulumi from "@pulumi/pulumi";
import { afterEach, describe, expect, it } from "vitest";
import { declare } from "../../../../stacks/engine/program.ts";
import { componentUrn, unitOf } from "../../../../stacks/units/names.ts";
import type { UnitSpec } from "../../../../stacks/units/spec.ts";
import { aBalancerSpec, aListener, aRoute, NETWORK_ID } from "../../../support/builders.ts";
import { aCertificateSpec, managed, uploaded } from "../../../support/certificates.ts";
import { declared as run } from "../../../support/declared.ts";

afterEach(() => pulumi.runtime.disconnectSync());

const declared = (units: readonly UnitSpec[]) =>
  run(async () => {
    for (const unit of units) declare(unit);
  });

const UNIT = "load-balancer/default/web@0c7e1a529d3b";
const COMPONENT = componentUrn("test", UNIT);
const BALANCER = `urn:pulumi:test::lotse::lotse:index:LoadBalancer$hcloud:index/loadBalancer:LoadBalancer::${UNIT}#balancer`;
const NETWORK = `urn:pulumi:test::lotse::lotse:index:LoadBalancer$hcloud:index/loadBalancerNetwork:LoadBalancerNetwork::${UNIT}#network`;

describe("a load balancer", () => {
  const spec = aBalancerSpec({
    deleteProtection: true,
    network: { networkId: NETWORK_ID, publicInterface: false, ip: "10.0.0.9" },
    listeners: [aListener(80), aListener(443)],
    targets: [
      { kind: "server", serverId: 1, usePrivateIp: true },
      { kind: "ip", ip: "203.0.113.7" },
    ],
  });

  it("is declared with all its parts under the unit's name", async () => {
    const { names } = await declared([spec]);
    expect(names).toEqual([
      UNIT,
      `${UNIT}#balancer`,
      `${UNIT}#ip-203.0.113.7`,
      `${UNIT}#listener-443`,
      `${UNIT}#listener-80`,
      `${UNIT}#network`,
      `${UNIT}#server-1`,
    ]);
  });

  it("has the inputs of the spec, and never moves", async () => {
    const { part } = await declared([spec]);
    expect(part(`${UNIT}#balancer`)).toEqual({
      type: "hcloud:index/loadBalancer:LoadBalancer",
      name: `${UNIT}#balancer`,
      inputs: {
        name: "balancer",
        loadBalancerType: "lb11",
        location: "fsn1",
        algorithm: { type: "round_robin" },
        labels: spec.labels,
        deleteProtection: true,
      },
      parent: COMPONENT,
      deletedWith: "",
      deleteBeforeReplace: false,
      ignoreChanges: ["location", "networkZone"],
      dependencies: [],
      protect: false,
      provider: "",
    });
  });

  it("deletes each part with the load balancer, and before its replacement", async () => {
    const { found } = await declared([spec]);
    const parts = [...found.values()].filter(({ name }) => name.includes("#") && !name.endsWith("#balancer"));
    expect(parts).toHaveLength(5);
    for (const part of parts) {
      expect(part).toMatchObject({ parent: COMPONENT, deletedWith: BALANCER, deleteBeforeReplace: true });
      // Private targets depend on the attachment: they are lost and recreated with it.
      expect(part.dependencies).toContain(part.name.includes("#server-") ? NETWORK : BALANCER);
    }
  });

  it("passes its id in the types that the provider requires: text to listeners, numbers to other parts", async () => {
    const { part } = await declared([spec]);
    expect(part(`${UNIT}#listener-80`)?.inputs).toEqual({
      loadBalancerId: "42",
      protocol: "tcp",
      listenPort: 80,
      destinationPort: 30_080,
      proxyprotocol: false,
      healthCheck: { protocol: "tcp", port: 30_080, interval: 15, timeout: 10, retries: 3 },
    });
    expect(part(`${UNIT}#network`)?.inputs).toEqual({
      loadBalancerId: 42,
      networkId: NETWORK_ID,
      enablePublicInterface: false,
      ip: "10.0.0.9",
    });
    expect(part(`${UNIT}#server-1`)?.inputs).toEqual({
      loadBalancerId: 42,
      type: "server",
      serverId: 1,
      usePrivateIp: true,
    });
    expect(part(`${UNIT}#ip-203.0.113.7`)?.inputs).toEqual({ loadBalancerId: 42, type: "ip", ip: "203.0.113.7" });
  });

  it("adds targets after the network attachment, which private targets require", async () => {
    const { part } = await declared([spec]);
    expect(part(`${UNIT}#server-1`)?.dependencies).toContain(NETWORK);
    expect(part(`${UNIT}#listener-80`)?.dependencies).not.toContain(NETWORK);
  });

  it("is created in a network zone if the spec names one, and without a network if it names none", async () => {
    const { part, names } = await declared([aBalancerSpec({ place: { networkZone: "eu-central" } })]);
    expect(part(`${UNIT}#balancer`)?.inputs).toMatchObject({ networkZone: "eu-central" });
    expect(part(`${UNIT}#balancer`)?.inputs).not.toHaveProperty("location");
    expect(names).toEqual([UNIT, `${UNIT}#balancer`]);
  });

  it("has the HTTP options of its listeners", async () => {
    const http = {
      stickySessions: true,
      cookieName: "SID",
      cookieLifetimeSeconds: 60,
      timeoutIdleSeconds: 30,
      redirectHttp: true,
      certificateIds: [5],
    };
    const check = { domain: "d", path: "/p", response: "ok", tls: true, statusCodes: ["204"] };
    const listener = aListener(443, {
      protocol: "https",
      http,
      healthCheck: { ...aListener(443).healthCheck, protocol: "http", http: check },
    });
    const { part } = await declared([aBalancerSpec({ listeners: [listener] })]);
    expect(part(`${UNIT}#listener-443`)?.inputs).toMatchObject({
      protocol: "https",
      http: {
        stickySessions: true,
        cookieName: "SID",
        cookieLifetime: 60,
        timeoutIdle: 30,
        redirectHttp: true,
        certificates: [5],
      },
      healthCheck: { protocol: "http", http: check },
    });
  });
});

describe("a route", () => {
  it("is one resource, deleted before its replacement", async () => {
    const { names, part } = await declared([aRoute("10.244.0.0/24", "10.0.0.1")]);
    expect(names).toEqual(["route/10.244.0.0/24", "route/10.244.0.0/24#route"]);
    expect(part("route/10.244.0.0/24#route")).toMatchObject({
      type: "hcloud:index/networkRoute:NetworkRoute",
      inputs: { networkId: NETWORK_ID, destination: "10.244.0.0/24", gateway: "10.0.0.1" },
      parent: componentUrn("test", "route/10.244.0.0/24"),
      deleteBeforeReplace: true,
    });
  });
});

describe("a certificate", () => {
  it.each([
    [
      "managed",
      managed("a.example.com", "example.com"),
      "managedCertificate:ManagedCertificate",
      { domainNames: ["a.example.com", "example.com"] },
      ["domainNames"],
    ],
    [
      "uploaded",
      uploaded("AB:CD:EF:01:23:45", "PEM"),
      "uploadedCertificate:UploadedCertificate",
      { certificate: "PEM" },
      ["certificate", "privateKey"],
    ],
  ] as const)("is one resource in one unit, never replaced: %s", async (_, content, type, inputs, ignoreChanges) => {
    const spec = aCertificateSpec({ content });
    const { names, part } = await declared([spec]);
    expect(names).toEqual([unitOf(spec), `${unitOf(spec)}#certificate`]);
    expect(part(`${unitOf(spec)}#certificate`)).toMatchObject({
      type: `hcloud:index/${type}`,
      inputs: { name: spec.name, labels: spec.labels, ...inputs },
      parent: componentUrn("test", unitOf(spec)),
      ignoreChanges,
    });
  });
});

it("declares every given unit", async () => {
  const units = [aBalancerSpec(), aRoute("10.244.0.0/24", "10.0.0.1"), aRoute("10.244.1.0/24", "10.0.0.2")];
  const { names } = await declared(units);
  expect(names.filter((name) => !name.includes("#"))).toEqual(units.map(unitOf).toSorted());
});
