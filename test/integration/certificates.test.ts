import { createServer, type Server } from "node:http";
import { request } from "node:https";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SecretState } from "../../controller/kube/state-secrets.ts";
import { aPair, aTlsSecret } from "../support/certificates.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

const PREFIX = "load-balancer.hetzner.cloud/";
const OWNER = "hcloud-ccm/service-uid";
/** Above the privileged ports. */
const PORT = 18_443;
/** With a data plane, and health checks a hundred times as fast. */
const CLOUD = { dataPlane: { timeScale: 0.01 }, failingDomain: "fail.example", rateLimit: "off" } as const;

let world: World;
let controller: ControllerProcess;
const backends = new Set<Server>();

beforeAll(async () => {
  world = await startWorld({ nodes: 1, cloud: CLOUD, tlsSecrets: true });
  controller = world.startController(["-v=9"], { LOTSE_TLS_SECRETS: "true" });
});
beforeEach(() => world.cloud.faults.clear());
afterAll(async () => {
  for (const backend of backends) {
    backend.closeAllConnections();
    backend.close();
  }
  await world[Symbol.asyncDispose]();
});

const certificates = () => world.cloud.state.certificates.values();
const certificateNamed = (name: string) => world.cloud.state.certificates.find(name);
const uidOf = async (name: string) =>
  (await world.core.readNamespacedService({ namespace: "default", name })).metadata?.uid ?? "";
const ownedBy = (uid: string) => certificates().filter(({ labels }) => labels[OWNER] === uid);
const balancerOf = (uid: string) =>
  world.cloud.state.loadBalancers.values().find(({ labels }) => labels[OWNER] === uid);
/** The certificates of each port of a Service's load balancer. */
const presented = (uid: string) =>
  Object.fromEntries(
    (balancerOf(uid)?.services ?? []).map(({ listen_port, protocol, http }) => [
      listen_port,
      protocol === "https" ? http?.certificates : protocol,
    ]),
  );

const https = (annotations: Readonly<Record<string, string>>) => ({ protocol: "https", ...annotations });
const managed = (domains: string, more = {}) =>
  https({ "certificate-type": "managed", "http-managed-certificate-domains": domains, ...more });

async function annotate(name: string, annotations: Readonly<Record<string, string | null>>): Promise<void> {
  const body = Object.entries(annotations).map(([key, value]) => {
    const path = `/metadata/annotations/${`${PREFIX}${key}`.replaceAll("/", "~1")}`;
    return value === null ? { op: "remove", path } : { op: "add", path, value };
  });
  await world.core.patchNamespacedService({ namespace: "default", name, body });
}

async function remove(name: string): Promise<void> {
  await world.core.deleteNamespacedService({ namespace: "default", name });
  await eventually(async () => {
    const { items } = await world.core.listNamespacedService({ namespace: "default" });
    expect(items.map(({ metadata }) => metadata?.name)).not.toContain(name);
  });
}

/** Keeps certificates from being issued, until the function that it returns is called. */
function holdIssuance(): () => void {
  const fault = world.cloud.faults.add({ method: "POST", path: "/certificates", effect: { kind: "stuck-action" } });
  return () => {
    fault.remove();
    for (const { id, command } of world.cloud.state.actions.values())
      if (command === "create_certificate") world.cloud.finishAction(id);
  };
}

const upload = (name: string, given = aPair(), labels = {}) =>
  world.changeCloud("POST", "/certificates", {
    name,
    certificate: given.certificate,
    private_key: given.privateKey,
    labels,
  });

describe("certificates by id and name", () => {
  it("HCCM A23: are served, also with blanks in the list", async () => {
    await upload("by-name");
    await upload("by-id", aPair({ serial: 2 }));
    const [byName, byId] = [certificateNamed("by-name")?.id ?? 0, certificateNamed("by-id")?.id ?? 0];
    await world.createService("named", https({ "http-certificates": ` by-name , ${byId}` }), [PORT]);
    const uid = await uidOf("named");
    await eventually(() => expect(presented(uid)).toEqual({ [PORT]: expect.arrayContaining([byName, byId]) }));
  });

  it("unlike HCCM A23: a missing one leaves a working listener unchanged, and is used once it exists", async () => {
    const uid = await uidOf("named");
    const before = presented(uid);
    await annotate("named", { "http-certificates": "late", "algorithm-type": "least_connections" });
    await eventually(async () => {
      expect(balancerOf(uid)?.algorithm.type).toBe("least_connections");
      expect(await world.eventsAbout("named")).toContainEqual(
        `CertificateNotReady: port ${PORT} keeps its current certificate: certificate "late" does not exist in this project`,
      );
    });
    expect(presented(uid)).toEqual(before);
    await upload("late", aPair({ serial: 3 }));
    await eventually(() => expect(presented(uid)).toEqual({ [PORT]: [certificateNamed("late")?.id] }));
  });

  it("HCCM A23: outlive the Service", async () => {
    await remove("named");
    for (const name of ["by-name", "by-id", "late"]) expect(certificateNamed(name)).toMatchObject({ used_by: [] });
  });

  it("unlike HCCM A24: reports the valid certificate types, and that https requires a certificate", async () => {
    await world.createService("mistaken", https({ "certificate-type": "manged" }), [PORT]);
    await world.createService("bare", { protocol: "https" }, [PORT]);
    await eventually(async () => {
      expect(await world.eventsAbout("mistaken")).toEqual([
        `SyncLoadBalancerFailed: Error syncing load balancer: annotation ${PREFIX}certificate-type: "manged" is not one of uploaded, managed`,
      ]);
      expect(await world.eventsAbout("bare")).toEqual([expect.stringContaining("https requires a certificate")]);
    });
    await Promise.all(["mistaken", "bare"].map(remove));
  });
});

describe("a managed certificate", () => {
  it("HCCM C1, A25, A26: is created for the Service, and served once it is issued", async () => {
    const issue = holdIssuance();
    await world.createService("managed", { ...managed("a.example.com"), "p18080.protocol": "http" }, [18_080, PORT]);
    const uid = await uidOf("managed");
    await eventually(async () => {
      expect(ownedBy(uid)).toMatchObject([
        { name: `ccm-managed-certificate-${uid}`, domain_names: ["a.example.com"], status: { issuance: "pending" } },
      ]);
      const { status } = await world.core.readNamespacedService({ namespace: "default", name: "managed" });
      expect(status?.loadBalancer?.ingress?.length).toBeGreaterThan(0);
    });
    // Other listeners work meanwhile.
    expect(presented(uid)).toEqual({ 18080: "http" });
    issue();
    await eventually(() => expect(presented(uid)).toEqual({ 18080: "http", [PORT]: [ownedBy(uid)[0]?.id] }));
    expect(await world.eventsAbout("managed")).toContainEqual(
      expect.stringMatching(
        /^CertificateNotReady: port 18443 is not served yet: certificate ".*" is being (made|issued)$/,
      ),
    );
  });

  it("unlike HCCM C3, A26: is replaced when the domains change, without a failed request, and the old one is deleted", async () => {
    const uid = await uidOf("managed");
    const [old] = ownedBy(uid);
    await using client = await startClient(uid);
    expect(await client.presented()).toBe("a.example.com");
    const issue = holdIssuance();
    await annotate("managed", { "http-managed-certificate-domains": "b.example.com, c.example.com" });
    await eventually(() => expect(ownedBy(uid)).toHaveLength(2));
    expect(presented(uid)[PORT]).toEqual([old?.id]);
    issue();
    await eventually(() => {
      expect(ownedBy(uid)).toMatchObject([
        { name: `ccm-managed-certificate-${uid}`, domain_names: ["b.example.com", "c.example.com"] },
      ]);
      expect(presented(uid)[PORT]).toEqual([ownedBy(uid)[0]?.id]);
    });
    expect(certificates().some(({ id }) => id === old?.id)).toBe(false);
    await eventually(async () => expect(await client.presented()).toBe("b.example.com"));
    await eventually(() => expect(client.answers).toBeGreaterThan(20));
    expect(client.failures).toEqual([]);
  });

  it("unlike HCCM C3: is deleted with the Service", async () => {
    const uid = await uidOf("managed");
    await remove("managed");
    expect(ownedBy(uid)).toEqual([]);
  });

  it("unlike HCCM: is not served if it cannot be issued; an Event has the reason, and a corrected domain is issued", async () => {
    await world.createService("failing", managed("www.fail.example"), [PORT]);
    const uid = await uidOf("failing");
    await eventually(async () =>
      expect(await world.eventsAbout("failing")).toContainEqual(
        `CertificateNotReady: port ${PORT} is not served yet: certificate "ccm-managed-certificate-${uid}" could not be issued: no DNS zone found for domain name www.fail.example (dns_zone_not_found)`,
      ),
    );
    expect(presented(uid)).toEqual({});
    await annotate("failing", { "http-managed-certificate-domains": "www.example.com" });
    await eventually(() => {
      expect(ownedBy(uid)).toMatchObject([
        { name: `ccm-managed-certificate-${uid}`, domain_names: ["www.example.com"] },
      ]);
      expect(presented(uid)).toEqual({ [PORT]: [ownedBy(uid)[0]?.id] });
    });
    await remove("failing");
  });

  it("is deleted when the Service changes to another kind", async () => {
    await upload("instead", aPair({ serial: 4 }));
    await world.createService("changing", managed("changing.example.com"), [PORT]);
    const uid = await uidOf("changing");
    await eventually(() => expect(presented(uid)).toEqual({ [PORT]: [ownedBy(uid)[0]?.id] }));
    await annotate("changing", { "certificate-type": "Uploaded", "http-certificates": "instead" });
    await eventually(() => {
      expect(presented(uid)).toEqual({ [PORT]: [certificateNamed("instead")?.id] });
      expect(ownedBy(uid)).toEqual([]);
    });
    await remove("changing");
  });

  it("HCCM C2: that HCCM created is adopted unchanged", async () => {
    const service = await world.createService("swapped", { "node-selector": "none=here" }, [PORT]);
    const uid = service.metadata?.uid ?? "";
    const body = { type: "managed", domain_names: ["swap.example.com"], labels: { [OWNER]: uid } };
    await world.changeCloud("POST", "/certificates", { name: `ccm-managed-certificate-${uid}`, ...body });
    const [made] = ownedBy(uid);
    world.cloud.journal.clear();
    await annotate("swapped", managed("swap.example.com"));
    await eventually(() => expect(presented(uid)).toEqual({ [PORT]: [made?.id] }));
    expect(ownedBy(uid).map(({ id }) => id)).toEqual([made?.id]);
    expect(world.cloud.journal.writes.filter(({ route }) => route.startsWith("/certificates"))).toEqual([]);
    await remove("swapped");
    expect(ownedBy(uid)).toEqual([]);
  });

  it("unlike HCCM C2: whose name another owner uses is rejected with the remedy, and that one is not touched", async () => {
    await upload("theirs", aPair({ serial: 5 }));
    const theirs = certificateNamed("theirs");
    await world.createService("clashing", managed("x.example.com", { "http-managed-certificate-name": "theirs" }), [
      PORT,
    ]);
    await eventually(async () =>
      expect(await world.eventsAbout("clashing")).toContainEqual(
        `CertificateNotReady: port ${PORT} is not served yet: certificate "theirs" (id ${theirs?.id}) does not belong to this Service: choose another name with http-managed-certificate-name, or use it with http-certificates`,
      ),
    );
    const uid = await uidOf("clashing");
    await annotate("clashing", { "http-managed-certificate-name": "mine" });
    await eventually(() => expect(presented(uid)).toEqual({ [PORT]: [certificateNamed("mine")?.id] }));
    await remove("clashing");
    expect(certificateNamed("theirs")).toEqual(theirs);
    expect(certificateNamed("mine")).toBeUndefined();
  });

  it("unlike HCCM: is not presented for another Service, and is left under its own Service's name if it is in use", async () => {
    await world.createService("owner", managed("o.example.com"), [PORT]);
    const uid = await uidOf("owner");
    await eventually(() => expect(presented(uid)).toEqual({ [PORT]: [ownedBy(uid)[0]?.id] }));
    const { id, name = "" } = ownedBy(uid)[0] ?? {};
    await world.createService("tenant", https({ "http-certificates": name }), [PORT]);
    const refusal = expect.stringContaining(`certificate "${name}" (id ${id}) belongs to another Service`);
    await eventually(async () => expect(await world.eventsAbout("tenant")).toContainEqual(refusal));
    const http = { certificates: [id] };
    await world.changeCloud("POST", "/load_balancers", {
      name: "by-hand",
      load_balancer_type: "lb11",
      location: "fsn1",
      services: [{ protocol: "https", listen_port: 443, destination_port: 80, proxyprotocol: false, http }],
    });
    await Promise.all(["owner", "tenant"].map(remove));
    expect(certificateNamed(name)?.labels).toEqual({
      "lotse/released": uid,
      "lotse/released-namespace": "default",
      "lotse/released-name": "owner",
    });
    await world.changeCloud("DELETE", `/load_balancers/${world.cloud.state.loadBalancers.find("by-hand")?.id}`);
    await world.changeCloud("DELETE", `/certificates/${id}`);
  });

  it("HCCM A27: is issued by the staging environment", async () => {
    const staging = { "http-managed-certificate-acme-staging": "true" };
    await world.createService("staging", managed("s.example.com", staging), [PORT]);
    const uid = await uidOf("staging");
    await eventually(() => expect(presented(uid)).toEqual({ [PORT]: [ownedBy(uid)[0]?.id] }));
    expect(ownedBy(uid)[0]?.labels).toEqual({ [OWNER]: uid, "HC-Use-Staging-CA": "true" });
    await remove("staging");
  });

  it("unlike HCCM C1: does not delay other Services while it is issued", async () => {
    const stuck = { method: "POST", path: "/certificates", effect: { kind: "stuck-action" } } as const;
    world.cloud.faults.add(stuck);
    await world.createService("stuck", managed("stuck.example.com"), [PORT]);
    const uid = await uidOf("stuck");
    await eventually(() => expect(ownedBy(uid)).toHaveLength(1));
    const started = performance.now();
    await world.createService("quick", {}, [18_081]);
    await eventually(async () => {
      const { status } = await world.core.readNamespacedService({ namespace: "default", name: "quick" });
      expect(status?.loadBalancer?.ingress?.length).toBeGreaterThan(0);
    });
    expect(performance.now() - started).toBeLessThan(20_000);
    await Promise.all(["stuck", "quick"].map(remove));
    expect(ownedBy(uid)).toEqual([]);
  });
});

describe("a TLS Secret", () => {
  const first = aPair({ domains: ["first.example.com"], serial: 10 });
  const second = aPair({ domains: ["second.example.com"], serial: 11 });
  const replace = (pair: typeof first) =>
    world.core.replaceNamespacedSecret({ namespace: "default", name: "tls", body: freshSecret(pair) });
  const freshSecret = (pair: typeof first) => {
    const { data, type } = aTlsSecret("tls", pair);
    return { metadata: { name: "tls" }, ...(data && { data }), ...(type && { type }) };
  };

  it("that does not exist yet is uploaded once it does", async () => {
    await world.createService("secret", https({ "tls-secret": "tls" }), [PORT]);
    await eventually(async () =>
      expect(await world.eventsAbout("secret")).toContainEqual(
        `CertificateNotReady: port ${PORT} is not served yet: Secret "tls" of type kubernetes.io/tls does not exist`,
      ),
    );
    await world.core.createNamespacedSecret({ namespace: "default", body: freshSecret(first) });
    const uid = await uidOf("secret");
    await eventually(() => expect(presented(uid)).toEqual({ [PORT]: [ownedBy(uid)[0]?.id] }));
    expect(ownedBy(uid)).toMatchObject([{ type: "uploaded", domain_names: ["first.example.com"] }]);
  });

  it("is uploaded again when it is renewed, without a failed request, and the old certificate is deleted", async () => {
    const uid = await uidOf("secret");
    await using client = await startClient(uid);
    expect(await client.presented()).toBe("first.example.com");
    await replace(second);
    await eventually(() => {
      expect(ownedBy(uid)).toMatchObject([{ domain_names: ["second.example.com"] }]);
      expect(presented(uid)).toEqual({ [PORT]: [ownedBy(uid)[0]?.id] });
    });
    await eventually(async () => expect(await client.presented()).toBe("second.example.com"));
    expect(client.failures).toEqual([]);
  });

  it("that is invalid or deleted leaves the listener with the last certificate, and causes an Event", async () => {
    const uid = await uidOf("secret");
    const before = presented(uid);
    await replace({ certificate: second.certificate, privateKey: first.privateKey });
    const said = (problem: string) =>
      eventually(async () =>
        expect(await world.eventsAbout("secret")).toContainEqual(
          `CertificateNotReady: port ${PORT} keeps its current certificate: ${problem}`,
        ),
      );
    await said('Secret "tls" cannot be used: tls.key does not match tls.crt');
    await world.core.deleteNamespacedSecret({ namespace: "default", name: "tls" });
    await said('Secret "tls" of type kubernetes.io/tls does not exist');
    expect(presented(uid)).toEqual(before);
    expect(ownedBy(uid)).toHaveLength(1);
  });

  it("sends its key to the API only", async () => {
    const [uploaded] = ownedBy(await uidOf("secret"));
    const events = JSON.stringify(await world.core.listNamespacedEvent({ namespace: "default" }));
    const store = new SecretState(world.observer, "kube-system", "kubernetes");
    // The state is saved some seconds after a change, and compressed.
    const state = await eventually(async () => {
      const saved = (await store.load()) ?? "";
      expect(saved).toContain(uploaded?.name ?? "no certificate");
      return saved;
    });
    for (const { privateKey } of [first, second]) {
      const [, line = ""] = privateKey.split("\n");
      expect(line.length).toBeGreaterThan(60);
      for (const text of [controller.output, events, state]) expect(text).not.toContain(line);
    }
    expect(controller.output).toContain('"msg":"api request"');
  });

  it("has its certificate deleted with the Service", async () => {
    const uid = await uidOf("secret");
    await remove("secret");
    expect(ownedBy(uid)).toEqual([]);
  });
});

/** A client that continuously sends https requests through the load balancer of a Service. */
async function startClient(uid: string) {
  const balancer = await eventually(() => {
    const found = balancerOf(uid);
    expect(found?.services.some(({ listen_port }) => listen_port === PORT)).toBe(true);
    return found;
  });
  const nodePort = balancer?.services.find(({ listen_port }) => listen_port === PORT)?.destination_port;
  const [server] = world.cloud.state.servers.values();
  const backend = createServer((_, response) => response.end("hello"));
  backends.add(backend);
  await new Promise<void>((resolve) => backend.listen(nodePort, world.cloud.backendOf(server?.id ?? 0), resolve));
  await world.cloud.ready();
  const ip = balancer?.public_net.ipv4.ip ?? "";
  await eventually(() => ask(ip));
  const state = { isOn: true, answers: 0, failures: [] as string[] };
  const asking = (async () => {
    while (state.isOn) {
      await ask(ip).then(
        () => {
          state.answers += 1;
        },
        (error: unknown) => state.failures.push(String(error)),
      );
    }
  })();
  return {
    /** The name in the certificate of a new connection. */
    presented: () => ask(ip),
    get answers() {
      return state.answers;
    },
    failures: state.failures,
    async [Symbol.asyncDispose]() {
      state.isOn = false;
      await asking;
    },
  };
}

/** Sends one request over a new connection and returns the name in the certificate. Rejects unless it succeeds. */
function ask(host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host, port: PORT, rejectUnauthorized: false, agent: false, timeout: 5_000 } as const;
    const outgoing = request(options, (response) => {
      const { subject } = (response.socket as TLSSocket).getPeerCertificate();
      response.resume().once("end", () => {
        if (response.statusCode === 200) resolve(String(subject.CN));
        else reject(new Error(`status ${response.statusCode}`));
      });
    });
    outgoing.once("timeout", () => outgoing.destroy(new Error("no answer in time"))).once("error", reject);
    outgoing.end();
  });
}
