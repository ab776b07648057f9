import { X509Certificate } from "node:crypto";
import type { V1Service } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { FINALIZER } from "../../../../controller/formats/finalizer.ts";
import { planRun } from "../../../../controller/guard/plan.ts";
import type { Certificate, LoadBalancer } from "../../../../controller/hcloud/api.ts";
import { dependsOnCertificates } from "../../../../controller/observe/observe.ts";
import { certificateUnits, insertKeys, looksAgain, privateKeys } from "../../../../controller/render/certificates.ts";
import { renderCluster } from "../../../../controller/render/cluster.ts";
import { certificateUnit } from "../../../../stacks/units/names.ts";
import type { CertificateContent } from "../../../../stacks/units/spec.ts";
import { aBalancer, aBalancerService, aRenderOptions, aService, UID } from "../../../support/builders.ts";
import { anIssuedCertificate, aPair, aTlsSecret, managed, uploaded } from "../../../support/certificates.ts";

const OPTIONS = aRenderOptions();
const PAIR = aPair();
const CREATED = Date.parse("2026-11-16T10:00:00+00:00");
const HTTPS = { protocol: "https" };
const MANAGED = { ...HTTPS, "certificate-type": "managed", "http-managed-certificate-domains": "example.com" };
const named = (annotations: Readonly<Record<string, string>>) => aService({ ports: [443], annotations });
const going = aService({ ports: [443], annotations: MANAGED, isDeleted: true, finalizers: [FINALIZER] });
const unit = (content: CertificateContent) =>
  certificateUnit({ service: { namespace: "default", name: "web", uid: UID }, content });
const UNIT = unit(managed("example.com"));

/** Everything wanted by one Service, with these certificates in the cloud. */
function rendered(
  service: V1Service,
  certificates: readonly Certificate[] = [],
  loadBalancers: readonly LoadBalancer[] = [],
) {
  const cloud = { servers: [], loadBalancers, certificates };
  const secrets = [{ secrets: [aTlsSecret("tls", PAIR)] }];
  return renderCluster({ services: [service], nodes: [], secrets, cloud, now: CREATED + 50_000 }, OPTIONS);
}

/** A balancer of the Service that presents certificate 77. */
const presenting = () => {
  const http = { cookie_name: "HCLBSTICKY", cookie_lifetime: 300, sticky_sessions: false, certificates: [77] };
  const services = [aBalancerService(443, { protocol: "https", http })];
  return aBalancer({ labels: { "hcloud-ccm/service-uid": UID }, services });
};

describe("certificates of all Services", () => {
  const issued = anIssuedCertificate();
  const pending = anIssuedCertificate("pending");
  const other = anIssuedCertificate("completed", { id: 78, domain_names: ["old.example.com"] });
  const theirs = anIssuedCertificate("completed", { labels: {}, name: "theirs" });

  it.each<
    [
      string,
      V1Service,
      readonly Certificate[],
      { units: readonly string[]; uncertain: boolean; again: readonly number[] },
    ]
  >([
    ["none are wanted", aService(), [], { units: [], uncertain: false, again: [] }],
    ["one is to be made", named(MANAGED), [], { units: [UNIT], uncertain: true, again: [] }],
    ["one is being issued", named(MANAGED), [pending], { units: [UNIT], uncertain: true, again: [10_000] }],
    ["one is there", named(MANAGED), [issued], { units: [UNIT], uncertain: false, again: [] }],
    [
      "one is no longer needed",
      named(MANAGED),
      [issued, other],
      { units: [UNIT, unit(managed("old.example.com"))], uncertain: true, again: [] },
    ],
    [
      "one by name is missing",
      named({ ...HTTPS, "http-certificates": "x" }),
      [],
      { units: [], uncertain: true, again: [] },
    ],
    [
      "one by name is there",
      named({ ...HTTPS, "http-certificates": "theirs" }),
      [theirs],
      { units: [], uncertain: false, again: [] },
    ],
    [
      "the Service is deleted, and its certificate with it",
      going,
      [issued],
      { units: [UNIT], uncertain: true, again: [] },
    ],
    [
      "the Service is deleted, and an old list may lack a certificate",
      going,
      [],
      { units: [], uncertain: true, again: [] },
    ],
    ["the Service is refused", named({ ...MANAGED, id: "9" }), [], { units: [], uncertain: false, again: [] }],
  ])("%s", (_, service, certificates, expected) => {
    const wanted = rendered(service, certificates);
    expect({
      units: wanted.services.flatMap(certificateUnits),
      uncertain: dependsOnCertificates({ rendered: wanted, plan: planRun(wanted) }),
      again: looksAgain(wanted),
    }).toEqual(expected);
  });

  it("are kept while a load balancer presents them, even when the Service is deleted", () => {
    const [intent] = rendered(going, [issued], [presenting()]).services;
    expect(intent && certificateUnits(intent)).toEqual([]);
  });

  it("are uploaded with the private keys of their Secrets, matched by certificate name", () => {
    const wanted = rendered(named({ ...HTTPS, "tls-secret": "tls" }));
    const { fingerprint256 } = new X509Certificate(PAIR.certificate);
    const [only] = wanted.services.flatMap(certificateUnits);
    expect(only).toBe(unit(uploaded(fingerprint256)));
    const name = `ccm-uploaded-certificate-${UID}-${only?.split("/").at(-1)}`;
    expect([...privateKeys(wanted)]).toEqual([[name, PAIR.privateKey.trim()]]);
    expect(privateKeys(rendered(named(MANAGED))).size).toBe(0);
    expect(privateKeys(rendered(going, [issued])).size).toBe(0);
  });
});

const insert = insertKeys(new Map([["web", "THE KEY"]]));
const upload = (fields: object) => ({ method: "POST", path: "/certificates", body: JSON.stringify(fields) });
const PLACEHOLDER = "held by the controller";

describe("private keys in requests", () => {
  it("are inserted for the certificate that they belong to", () => {
    const { body } = insert(upload({ name: "web", certificate: "PEM", private_key: PLACEHOLDER }));
    expect(JSON.parse(body ?? "")).toEqual({ name: "web", certificate: "PEM", private_key: "THE KEY" });
  });

  it.each([
    ["another certificate", upload({ name: "other", private_key: PLACEHOLDER })],
    ["one that brings a key of its own", upload({ name: "web", private_key: "another key" })],
    ["a managed one", upload({ name: "web", type: "managed", domain_names: ["example.com"] })],
    ["another request", { method: "PUT", path: "/certificates/1", body: '{"name":"web"}' }],
    ["a request without a body", { method: "POST", path: "/certificates" }],
  ])("are in no request for %s", (_, request) => {
    expect(insert(request)).toBe(request);
  });
});
