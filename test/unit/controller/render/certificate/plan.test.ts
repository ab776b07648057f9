import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  type CertificateSurroundings,
  planCertificates,
  planRetirement,
} from "../../../../../controller/render/certificate/plan.ts";
import type { ServiceOptions } from "../../../../../controller/render/service/options/annotations.ts";
import { differences } from "../../../../../stacks/units/difference.ts";
import { certificateUnit } from "../../../../../stacks/units/names.ts";
import type { CertificateSpec } from "../../../../../stacks/units/spec.ts";
import { aBalancer, aBalancerService, aBalancerState, aListener, UID } from "../../../../support/builders.ts";
import {
  aListedCertificate,
  anIssuedCertificate,
  aPair,
  aTlsSecret,
  managed,
} from "../../../../support/certificates.ts";

const SERVICE = { namespace: "default", name: "web", uid: UID };
const OWN = { "hcloud-ccm/service-uid": UID };
const NAME = `ccm-managed-certificate-${UID}`;
const CREATED = Date.parse("2026-11-16T10:00:00+00:00");
const HTTP = {
  stickySessions: false,
  cookieName: "HCLBSTICKY",
  cookieLifetimeSeconds: 300,
  timeoutIdleSeconds: 50,
  redirectHttp: false,
};
const MANAGED: ServiceOptions = {
  protocol: "https",
  certificateType: "managed",
  managedDomains: ["example.com"],
};
const UNIT = certificateUnit({ service: SERVICE, content: managed("example.com") });
const unitFor = (...domains: readonly string[]) => certificateUnit({ service: SERVICE, content: managed(...domains) });

/** The plan of a Service with one port, 443. */
function plan(options: ServiceOptions, around: Partial<CertificateSurroundings> = {}, isBroken = false) {
  const surroundings = { certificates: [], loadBalancers: [], secrets: new Map(), now: CREATED, ...around };
  const found = planCertificates(SERVICE, new Map([[443, { options, isBroken }]]), surroundings);
  return { ...found, specs: found.wanted.map(({ spec }) => spec), ids443: found.ids.get(443) };
}

/** What exists when port 443 presents these certificates. */
function presenting(...certificates: readonly number[]) {
  const http = { cookie_name: "x", cookie_lifetime: 300, sticky_sessions: false, certificates };
  const listeners = [aListener(443, { protocol: "https", http: { ...HTTP, certificateIds: certificates } })];
  return {
    loadBalancers: [aBalancer({ services: [aBalancerService(443, { protocol: "https", http })] })],
    existing: aBalancerState({ listeners }),
  };
}

describe("certificates that the Service released", () => {
  const LEFT = { "lotse/released": UID, team: "a" };
  const left = anIssuedCertificate("completed", { labels: LEFT });

  it("are taken back with the same content, and presented at once", () => {
    const found = plan(MANAGED, { certificates: [left] });
    expect(found).toMatchObject({ ids443: [77], problems: [], stale: [], owned: [{ unit: UNIT, state: { id: 77 } }] });
    expect(found.specs).toMatchObject([{ name: NAME, labels: { ...OWN, team: "a" } }]);
    expect(found.specs[0]?.labels).not.toHaveProperty("lotse/released");
  });

  it("are not taken back when their issuance failed long ago: another one is requested beside them", () => {
    const failed = anIssuedCertificate("failed", { labels: LEFT });
    const found = plan(MANAGED, { certificates: [failed], now: CREATED + 31 * 60_000 });
    expect(found).toMatchObject({ owned: [], stale: [], specs: [{ name: expect.stringContaining(`${NAME}-`) }] });
  });

  it("stay as they are beside one with the same content that the Service owns", () => {
    const own = anIssuedCertificate("completed", { id: 78, name: "own" });
    const { owned, stale } = plan(MANAGED, { certificates: [left, own] });
    expect([owned.map(({ state }) => state.id), stale]).toEqual([[78], []]);
  });

  it("do not block another one with their name", () => {
    const other = anIssuedCertificate("completed", { labels: LEFT, domain_names: ["b.example.com"] });
    expect(plan(MANAGED, { certificates: [other] }).specs).toMatchObject([
      { name: expect.stringMatching(new RegExp(`^${NAME}-[0-9a-f]{12}$`)) },
    ]);
  });

  it("are taken back by a later Service of the same namespace and name", () => {
    const { namespace, name } = SERVICE;
    const labels = { "lotse/released": "y", "lotse/released-namespace": namespace, "lotse/released-name": name };
    const found = plan(MANAGED, { certificates: [anIssuedCertificate("completed", { name: "x", labels })] });
    expect(found).toMatchObject({ ids443: [77], problems: [] });
    expect(found.specs).toMatchObject([{ name: NAME }]);
    expect(found.specs[0]?.labels).toEqual(OWN);
  });

  it.each([
    [
      "with other content",
      MANAGED,
      anIssuedCertificate("completed", { labels: LEFT, domain_names: ["b.example.com"] }),
    ],
    ["no longer requested", { protocol: "tcp" } as const, left],
    [
      "released by another Service",
      MANAGED,
      anIssuedCertificate("completed", { name: "x", labels: { "lotse/released": "y" } }),
    ],
    [
      "now owned by another Service",
      MANAGED,
      anIssuedCertificate("completed", { name: "x", labels: { ...LEFT, "hcloud-ccm/service-uid": "y" } }),
    ],
  ])("are unchanged: %s", (_, options, certificate) => {
    expect(plan(options, { certificates: [certificate] })).toMatchObject({ owned: [], stale: [] });
  });
});

describe("certificates by id or name", () => {
  const certificates = [
    aListedCertificate({ id: 5, name: "web" }),
    aListedCertificate({ id: 6, name: "5" }),
    anIssuedCertificate("pending", { id: 7, name: "slow", labels: {} }),
    anIssuedCertificate("failed", { id: 8, name: "broken", labels: {} }),
  ];
  const by = (...names: readonly string[]) => plan({ protocol: "https", certificates: names }, { certificates });

  it("HCCM A23: are found by either; a number is tried as an id first", () => {
    expect(by("5", "web").ids443).toEqual([5]);
    expect(by("6", "5").ids443).toEqual([6, 5]);
    expect(by("web")).toMatchObject({ wanted: [], stale: [], problems: [], isUncertain: false });
  });

  it.each([
    ["owned", { "hcloud-ccm/service-uid": "another" }],
    ["left behind", { "lotse/released": "another" }],
    ["owned by another, and left behind by this one", { "hcloud-ccm/service-uid": "another", "lotse/released": UID }],
  ])(
    "unlike HCCM: of another Service are refused, because their private key is not this Service's: %s",
    (_, labels) => {
      const theirs = [aListedCertificate({ id: 5, name: "web", labels })];
      for (const name of ["5", "web"]) {
        const found = plan({ protocol: "https", certificates: [name] }, { certificates: theirs });
        expect(found).toMatchObject({ ids443: [], isUncertain: true });
        expect(found.problems).toEqual([
          expect.stringContaining('port 443 is not served yet: certificate "web" (id 5) belongs to another Service'),
        ]);
      }
    },
  );

  it("of the Service itself can be named", () => {
    const own = [aListedCertificate({ id: 5, name: "web", labels: OWN })];
    expect(plan({ protocol: "https", certificates: ["web"] }, { certificates: own }).ids443).toEqual([5]);
  });

  it.each([
    ["none", "nope", 'port 443 is not served yet: certificate "nope" does not exist in this project'],
    ["one that is being issued", "slow", 'port 443 is not served yet: certificate "slow" is being issued'],
    [
      "one that could not be issued",
      "broken",
      'port 443 is not served yet: certificate "broken" could not be issued: no zone (dns_zone_not_found)',
    ],
  ])("unlike HCCM A23: hold back only their own port, with the reason: %s", (_, name, problem) => {
    expect(by(name)).toMatchObject({ ids443: [], problems: [problem], isUncertain: true });
  });

  it("leave a port its current certificate when another one is missing", () => {
    const found = plan({ protocol: "https", certificates: ["nope"] }, { certificates, ...presenting(5) });
    expect(found).toMatchObject({
      ids443: [5],
      problems: ['port 443 keeps its current certificate: certificate "nope" does not exist in this project'],
    });
    expect(by("nope", "web").ids443).toEqual([5]);
  });

  it("HCCM A23: are ignored beside a managed one", () => {
    expect(plan({ ...MANAGED, certificates: ["web"] }, { certificates }).ids443).toEqual([]);
  });

  it("are ignored for a port that is not https", () => {
    expect(plan({ protocol: "tcp", certificates: ["nope"] })).toMatchObject({ problems: [], wanted: [] });
  });
});

describe("a managed certificate", () => {
  it("HCCM C1, A25, A26: is created with the official name, the label and the domains", () => {
    const found = plan({ ...MANAGED, managedDomains: ["www.example.com", "Example.com"] });
    expect(found.specs).toEqual([
      {
        kind: "certificate",
        service: SERVICE,
        name: NAME,
        labels: OWN,
        content: managed("example.com", "www.example.com"),
      },
    ]);
    expect(found.problems).toEqual([`port 443 is not served yet: certificate "${NAME}" is being created`]);
    expect(plan({ ...MANAGED, managedName: "mine" }).specs).toMatchObject([{ name: "mine" }]);
    expect(plan({ ...MANAGED, protocol: "tcp" })).toMatchObject({ specs: [{ name: NAME }], problems: [] });
  });

  it("HCCM A27: has the label of the staging CA, and is a different certificate then", () => {
    const [spec] = plan({ ...MANAGED, managedStaging: true }, { certificates: [anIssuedCertificate()] }).specs;
    expect(spec).toMatchObject({ labels: { ...OWN, "HC-Use-Staging-CA": "true" } });
    expect(spec?.name).not.toBe(NAME);
  });

  it("unlike HCCM C1: is awaited without blocking anything, and checked less and less often", () => {
    const pending = (ageMs: number) =>
      plan(MANAGED, { certificates: [anIssuedCertificate("pending")], now: CREATED + ageMs });
    expect(pending(0)).toMatchObject({ ids443: [], isUncertain: true, rereadAfterMs: 3_000 });
    expect(pending(100_000).rereadAfterMs).toBe(20_000);
    expect(pending(86_400_000).rereadAfterMs).toBe(60_000);
    const undated = [anIssuedCertificate("pending", { created: "" })];
    expect(plan(MANAGED, { certificates: undated }).rereadAfterMs, "never without a pause").toBe(3_000);
    expect(plan(MANAGED, { certificates: [anIssuedCertificate()] })).not.toHaveProperty("rereadAfterMs");
  });

  it("HCCM C2: is found by its label, whatever its name and whichever controller created it", () => {
    const found = plan(MANAGED, { certificates: [anIssuedCertificate("completed", { name: "other" })] });
    expect(found).toMatchObject({ ids443: [77], stale: [], problems: [] });
    expect(found.owned).toMatchObject([{ unit: UNIT, state: { id: 77, name: "other" } }]);
    expect(found.specs).toMatchObject([{ name: NAME }]);
  });

  it("keeps labels that were set elsewhere", () => {
    const certificates = [anIssuedCertificate("completed", { labels: { ...OWN, team: "web" } })];
    expect(plan(MANAGED, { certificates }).specs).toMatchObject([{ labels: { ...OWN, team: "web" } }]);
  });

  it.each([
    ["without an owner", {}, ", or use it with http-certificates"],
    ["of another Service", { "hcloud-ccm/service-uid": "other" }, ""],
  ])("unlike HCCM C2: reports a name conflict with a certificate %s, which is not touched", (_, labels, more) => {
    const found = plan(MANAGED, { certificates: [anIssuedCertificate("completed", { id: 9, labels })] });
    expect(found).toMatchObject({ ids443: [], wanted: [], stale: [], owned: [], isUncertain: true });
    expect(found.problems).toEqual([
      `port 443 is not served yet: certificate "${NAME}" (id 9) does not belong to this Service: choose another name with http-managed-certificate-name${more}`,
    ]);
  });

  it("stays as it is when the usual name belongs to another certificate", () => {
    const certificates = [
      anIssuedCertificate("completed", { name: "other" }),
      anIssuedCertificate("completed", { id: 9, labels: {} }),
    ];
    expect(plan(MANAGED, { certificates })).toMatchObject({ ids443: [77], problems: [], specs: [{ name: "other" }] });
  });

  it("unlike HCCM: one whose issuance failed is not presented, and the reason is reported", () => {
    const found = plan(MANAGED, { certificates: [anIssuedCertificate("failed")], ...presenting(77) });
    expect(found).toMatchObject({ ids443: [], stale: [], specs: [{ name: NAME }] });
    expect(found.problems).toEqual([
      `port 443 is not served yet: certificate "${NAME}" could not be issued: no zone (dns_zone_not_found)`,
    ]);
  });

  it("whose issuance failed is replaced after half an hour, unless it is in use", () => {
    const certificates = [anIssuedCertificate("failed")];
    const at = (minutes: number, more = {}) =>
      plan(MANAGED, { certificates, now: CREATED + minutes * 60_000, ...more });
    expect(at(29)).toMatchObject({ stale: [], specs: [{ name: NAME }] });
    expect(at(31)).toMatchObject({ stale: [`${UNIT}-77`], wanted: [] });
    expect(at(31).problems).toEqual([expect.stringContaining("no zone")]);
    expect(at(31, presenting(77))).toMatchObject({ stale: [], specs: [{ name: NAME }] });
  });

  it("is not taken for a copy of an older one whose issuance failed long ago", () => {
    const certificates = [
      anIssuedCertificate("failed", { id: 70, name: "old" }),
      anIssuedCertificate("pending", { created: "2026-11-16T10:50:00+00:00" }),
    ];
    const found = plan(MANAGED, { certificates, now: CREATED + 60 * 60_000 });
    expect(found).toMatchObject({ stale: [`${UNIT}-70`], specs: [{ name: NAME }] });
  });

  it("reports a failed renewal", () => {
    const status = { issuance: "completed", renewal: "failed", error: { code: "x", message: "no zone" } } as const;
    const certificates = [anIssuedCertificate("completed", { status })];
    expect(plan(MANAGED, { certificates, ...presenting(77) })).toMatchObject({
      ids443: [77],
      problems: [`certificate "${NAME}" could not be renewed: no zone (x)`],
    });
    expect(plan(MANAGED, { certificates }).problems, "not yet in use").toEqual([]);
  });

  it("that exists twice: the one in use represents both, and the other is removed", () => {
    const certificates = [
      anIssuedCertificate("completed", { id: 70 }),
      anIssuedCertificate("completed", { name: "twin" }),
    ];
    const found = plan(MANAGED, { certificates, ...presenting(77) });
    expect(found).toMatchObject({ ids443: [77], stale: [`${UNIT}-70`] });
    const oldest = plan(MANAGED, { certificates: certificates.toReversed() });
    expect(oldest, "without one in use, the oldest").toMatchObject({ ids443: [70], stale: [`${UNIT}-77`] });
    const pending = [anIssuedCertificate("pending", { id: 70 }), ...certificates.slice(1)];
    expect(plan(MANAGED, { certificates: pending }), "but an issued one").toMatchObject({ ids443: [77] });
  });
});

describe("unlike HCCM C3: when its domains change", () => {
  const NEW = { ...MANAGED, managedDomains: ["new.example"] };
  const old = anIssuedCertificate();
  const next = (issuance: "pending" | "completed" | "failed", name = `${NAME}-x`) =>
    anIssuedCertificate(issuance, { id: 78, name, domain_names: ["new.example"] });

  it("first, another one is created beside it, and the port keeps the old one", () => {
    const found = plan(NEW, { certificates: [old], ...presenting(77) });
    expect(found.specs).toMatchObject([{ content: managed("new.example") }]);
    expect(found.specs[0]?.name).toMatch(new RegExp(`^${NAME}-[0-9a-f]{12}$`));
    expect(found).toMatchObject({ ids443: [77], stale: [] });
  });

  it.each(["pending", "failed"] as const)("the port keeps the old one while the new one is %s", (issuance) => {
    const found = plan(NEW, { certificates: [old, next(issuance)], ...presenting(77) });
    expect(found).toMatchObject({ ids443: [77], stale: [], specs: [{ name: `${NAME}-x` }] });
    expect(found.problems[0]).toMatch(/^port 443 keeps its current certificate: /);
  });

  it("second, the port switches when the new one is issued", () => {
    const found = plan(NEW, { certificates: [old, next("completed")], ...presenting(77) });
    expect(found).toMatchObject({ ids443: [78], stale: [], problems: [] });
  });

  it("third, the old one is removed once no load balancer presents it", () => {
    const found = plan(NEW, { certificates: [old, next("completed")], ...presenting(78) });
    expect(found).toMatchObject({ ids443: [78], stale: [UNIT], specs: [{ name: `${NAME}-x` }] });
  });

  it("last, the new one gets the name by which the official controller finds it", () => {
    const found = plan(NEW, { certificates: [next("completed")], ...presenting(78) });
    expect(found).toMatchObject({ ids443: [78], stale: [], specs: [{ name: NAME }] });
    expect(found.owned).toMatchObject([{ unit: unitFor("new.example"), state: { name: `${NAME}-x` } }]);
  });

  it("and a certificate that was never issued is removed at once", () => {
    const certificates = [anIssuedCertificate("pending")];
    expect(plan(NEW, { certificates }).stale).toEqual([UNIT]);
  });
});

describe("certificates that are no longer needed", () => {
  it("are only those with the Service's label", () => {
    const certificates = [
      anIssuedCertificate(),
      anIssuedCertificate("completed", { id: 1, name: "a", labels: {} }),
      anIssuedCertificate("completed", { id: 2, name: "b", labels: { "hcloud-ccm/service-uid": "other" } }),
    ];
    expect(plan({ protocol: "tcp" }, { certificates }).stale).toEqual([UNIT]);
  });

  it("are kept while the Service's options are invalid", () => {
    expect(plan(MANAGED, { certificates: [anIssuedCertificate()] }, true).stale).toEqual([]);
    expect(plan({}, { certificates: [anIssuedCertificate()] }, true).stale).toEqual([]);
  });

  it("are kept while the options of a single port are invalid: it may be the one that needs them", () => {
    const wishes = new Map([
      [80, { options: {}, isBroken: false }],
      [443, { options: MANAGED, isBroken: true }],
    ]);
    const around = { certificates: [anIssuedCertificate()], loadBalancers: [], now: CREATED };
    expect(planCertificates(SERVICE, wishes, around).stale).toEqual([]);
  });

  it("unlike HCCM C3: are removed with the Service, as soon as its load balancer is gone", () => {
    const lists = { certificates: [anIssuedCertificate()], now: CREATED };
    const { loadBalancers } = presenting(77);
    expect(planRetirement(SERVICE, { ...lists, loadBalancers }, false)).toMatchObject({ stale: [], left: [] });
    expect(planRetirement(SERVICE, { ...lists, loadBalancers: [] }, true)).toMatchObject({ stale: [UNIT], left: [] });
  });

  it("are left without an owner, under the Service's name, if a load balancer that stays presents them", () => {
    const lists = { certificates: [anIssuedCertificate()], now: CREATED };
    const { stale, left } = planRetirement(SERVICE, { ...lists, ...presenting(77) }, true);
    expect(stale).toEqual([]);
    expect(left).toMatchObject([{ name: NAME }]);
    expect(left?.[0]?.labels).toEqual({
      "lotse/released": UID,
      "lotse/released-namespace": SERVICE.namespace,
      "lotse/released-name": SERVICE.name,
    });
  });
});

describe("a TLS Secret", () => {
  const NOW = Date.now();
  const pair = aPair();
  const { fingerprint256 } = new X509Certificate(pair.certificate);
  const key = fingerprint256.replaceAll(":", "").slice(0, 12).toLowerCase();
  const name = `ccm-uploaded-certificate-${UID}-${key}`;
  const uploadedBefore = aListedCertificate({ id: 50, name, labels: OWN, certificate: pair.certificate });
  const options: ServiceOptions = { protocol: "https", tlsSecrets: ["web"] };
  const secrets = (given = pair) => new Map([["web", aTlsSecret("web", given)]]);
  const keyOf = (uploadName: string) => uploadName.slice(-12);

  it("is uploaded under the fingerprint of its certificate, with its key beside the spec and not in it", () => {
    const found = plan(options, { secrets: secrets(), now: NOW });
    expect(found.wanted).toEqual([
      {
        spec: {
          kind: "certificate",
          service: SERVICE,
          name,
          labels: OWN,
          content: { type: "uploaded", pem: pair.certificate.trim(), fingerprint: fingerprint256 },
        },
        privateKey: pair.privateKey.trim(),
      },
    ]);
    expect(JSON.stringify(found.specs)).not.toContain("PRIVATE");
  });

  it("is not uploaded for a port that is not https", () => {
    expect(plan({ ...options, protocol: "tcp" }, { secrets: secrets(), now: NOW }).wanted).toEqual([]);
  });

  it("is presented once it exists", () => {
    const found = plan(options, { secrets: secrets(), certificates: [uploadedBefore], now: NOW });
    expect(found).toMatchObject({ ids443: [50], problems: [], stale: [], isUncertain: false });
  });

  it("is uploaded again when it is renewed: the old certificate is presented until the new one exists, and then removed", () => {
    const renewed = aPair({ serial: 2 });
    const around = { secrets: secrets(renewed), now: NOW, ...presenting(50) };
    const first = plan(options, { ...around, certificates: [uploadedBefore] });
    expect(first).toMatchObject({ ids443: [50], stale: [], wanted: [{ privateKey: renewed.privateKey.trim() }] });
    const made = aListedCertificate({ id: 51, name: "new", labels: OWN, certificate: renewed.certificate });
    expect(plan(options, { ...around, certificates: [uploadedBefore, made] })).toMatchObject({
      ids443: [51],
      stale: [],
    });
    const after = plan(options, { ...around, certificates: [uploadedBefore, made], ...presenting(51) });
    expect(after.stale).toEqual([`certificate/default/web@0c7e1a529d3b/${key}`]);
  });

  describe("with a chain", () => {
    const [wrong, right] = [aPair({ serial: 3 }), aPair({ serial: 4 })];
    const withChain = (...chain: readonly (typeof pair)[]) =>
      secrets({ ...pair, certificate: [pair, ...chain].map(({ certificate }) => certificate).join("") });
    const before = plan(options, { secrets: withChain(wrong), now: NOW });
    const listedAs = (id: number, { name, content }: CertificateSpec, format = (pem: string) => pem) =>
      aListedCertificate({
        id,
        name,
        labels: OWN,
        certificate: format(content.type === "uploaded" ? content.pem : ""),
      });
    const [wrongSpec] = before.specs;
    if (!wrongSpec) throw new Error("nothing is wanted");
    const chained = listedAs(50, wrongSpec);

    it("is uploaded again when the chain is added, corrected or removed, in the same steps as a renewed one", () => {
      for (const [was, given] of [
        [uploadedBefore, withChain(right)],
        [chained, withChain(right)],
        [chained, withChain(wrong, right)],
        [chained, secrets()],
      ] as const) {
        const around = { secrets: given, now: NOW };
        const first = plan(options, { ...around, ...presenting(50), certificates: [was] });
        expect(first).toMatchObject({ ids443: [50], stale: [], wanted: [{ privateKey: pair.privateKey.trim() }] });
        const [spec] = first.specs;
        expect(spec?.name).not.toBe(was.name);
        const both = [was, ...(spec ? [listedAs(51, spec)] : [])];
        const second = plan(options, { ...around, ...presenting(50), certificates: both });
        expect(second).toMatchObject({ ids443: [51], stale: [], problems: [] });
        const third = plan(options, { ...around, ...presenting(51), certificates: both });
        expect(third).toMatchObject({
          ids443: [51],
          stale: [`certificate/default/web@0c7e1a529d3b/${keyOf(was.name)}`],
        });
        const last = plan(options, { ...around, ...presenting(51), certificates: both.slice(1) });
        expect(last).toMatchObject({ ids443: [51], stale: [], problems: [] });
      }
    });

    it.each([
      ["as it was uploaded", (pem: string) => pem],
      ["with other line endings", (pem: string) => `${pem.replaceAll("\n", "\r\n")}\r\n`],
      ["with blank lines", (pem: string) => pem.replaceAll("-----BEGIN", "\n-----BEGIN")],
    ])("is found again, whatever the form in which the API lists it: %s", (_, format) => {
      const certificates = [listedAs(50, wrongSpec, format)];
      const found = plan(options, { secrets: withChain(wrong), certificates, now: NOW, ...presenting(50) });
      expect(found).toMatchObject({ ids443: [50], stale: [], problems: [], isUncertain: false });
      const [spec] = found.specs;
      expect(spec && differences(spec, found.owned[0]?.state)).toEqual([]);
    });

    it("keeps one that an earlier version named by its first certificate, and only renames it", () => {
      const certificates = [{ ...chained, name }];
      const found = plan(options, { secrets: withChain(wrong), certificates, now: NOW, ...presenting(50) });
      expect(found).toMatchObject({ ids443: [50], stale: [], problems: [] });
      const [spec] = found.specs;
      expect(spec && differences(spec, found.owned[0]?.state)).toEqual([
        { part: "certificate", field: "name", want: wrongSpec.name, have: name },
      ]);
    });
  });

  it.each([
    ["is gone", new Map(), 'Secret "web" of type kubernetes.io/tls does not exist'],
    [
      "is broken",
      secrets({ ...pair, privateKey: "x" }),
      'Secret "web" cannot be used: tls.key is not a PEM private key',
    ],
    ["has expired", secrets(aPair({ notAfter: NOW - 1 })), 'Secret "web" cannot be used: its certificate expired'],
  ])("leaves its port the current certificate when it %s", (_, given, problem) => {
    const found = plan(options, { secrets: given, certificates: [uploadedBefore], now: NOW, ...presenting(50) });
    expect(found).toMatchObject({ ids443: [50], wanted: [], stale: [], isUncertain: false });
    expect(found.problems).toEqual([expect.stringContaining(`port 443 keeps its current certificate: ${problem}`)]);
  });

  it("may be combined with certificates by name, and with a managed one", () => {
    const certificates = [uploadedBefore, aListedCertificate({ id: 5, name: "extra" }), anIssuedCertificate()];
    const around = { secrets: secrets(), certificates, now: NOW };
    expect(plan({ ...options, certificates: ["extra"] }, around).ids443).toEqual([5, 50]);
    expect(plan({ ...options, ...MANAGED }, around)).toMatchObject({ ids443: [77, 50], stale: [] });
  });
});

describe("ports with options of their own", () => {
  const around = { certificates: [], loadBalancers: [], secrets: new Map(), now: CREATED };
  const names = (...intents: readonly ServiceOptions[]) =>
    planCertificates(
      SERVICE,
      new Map(intents.map((options, port) => [port, { options, isBroken: false }])),
      around,
    ).wanted.map(({ spec }) => spec.name);

  it("share a certificate for the same domains", () => {
    expect(names(MANAGED, MANAGED)).toEqual([NAME]);
  });

  it("have one each for different domains, of which the first has the official name", () => {
    const other = { ...MANAGED, managedDomains: ["other.example"] };
    expect(names(MANAGED, other)).toEqual([NAME, expect.stringMatching(new RegExp(`^${NAME}-[0-9a-f]{12}$`))]);
    expect(names(MANAGED, { ...other, managedName: "other" })).toEqual([NAME, "other"]);
  });
});
