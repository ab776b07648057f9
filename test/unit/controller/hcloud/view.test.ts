import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CloudError } from "../../../../controller/diagnostics/errors.ts";
import { CloudReader } from "../../../../controller/hcloud/reader.ts";
import { aNetwork, aServer, NETWORK_ID } from "../../../support/builders.ts";
import { aListedCertificate } from "../../../support/certificates.ts";
import { aCloud } from "../../../support/fake-cloud.ts";

describe("the view of the cloud", () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => vi.useRealTimers());
  const NOW = { servers: 0, loadBalancers: 0, certificates: 0, network: 0 };

  it("reads a list once for all callers that accept its age", async () => {
    const { view, reads } = aCloud();
    await Promise.all([view.servers(1_000), view.servers(1_000)]);
    vi.advanceTimersByTime(999);
    await view.servers(1_000);
    expect(reads).toHaveLength(1);
    vi.advanceTimersByTime(1);
    await view.servers(1_000);
    expect(reads).toHaveLength(2);
  });

  it("starts a new read for a caller that needs a fresh one, after the one in progress", async () => {
    const cloud = aCloud();
    const first = cloud.view.servers(0);
    cloud.servers = [aServer()];
    const second = cloud.view.servers(0);
    await first;
    expect(await second).toEqual([aServer()]);
    expect(cloud.reads).toHaveLength(2);
  });

  it("has a list of load balancers ready for a turn that starts soon", async () => {
    const cloud = aCloud();
    cloud.view.prefetch();
    cloud.view.prefetch();
    vi.advanceTimersByTime(999);
    await cloud.view.state({ ...NOW, loadBalancers: 1_000 });
    expect(cloud.reads.filter((path) => path.startsWith("/load_balancers?"))).toHaveLength(1);
    vi.advanceTimersByTime(1);
    await cloud.view.state({ ...NOW, loadBalancers: 1_000 });
    expect(cloud.reads.filter((path) => path.startsWith("/load_balancers?"))).toHaveLength(2);
  });

  it("leaves a failure of a list that is read ahead to the turn", async () => {
    const cloud = aCloud();
    cloud.failure = new CloudError("GET /load_balancers", 500, "x", "down");
    cloud.view.prefetch();
    await expect(cloud.view.state({ ...NOW, loadBalancers: 1_000 })).rejects.toThrow("down");
  });

  it("offers a list in place of single resources only while the list has a single page", async () => {
    const cloud = aCloud({ certificates: [aListedCertificate()] });
    expect(cloud.view.list("certificates", 0)).toBeUndefined();
    await cloud.view.state(NOW);
    await expect(cloud.view.list("certificates", 0)).resolves.toEqual([aListedCertificate()]);
    cloud.certificates = Array.from({ length: 50 }, (_, id) => aListedCertificate({ id }));
    await cloud.view.state(NOW);
    expect(cloud.view.list("certificates", 0)).toBeUndefined();
  });

  it("does not cache a failed read", async () => {
    const cloud = aCloud();
    cloud.failure = new CloudError("GET /servers", 500, "x", "down");
    await expect(cloud.view.servers(60_000)).rejects.toThrow("down");
    cloud.failure = undefined;
    await expect(cloud.view.servers(60_000)).resolves.toEqual([]);
  });

  it("has a network only if the cluster uses one", async () => {
    await expect(aCloud().view.state(NOW)).resolves.toEqual({ servers: [], loadBalancers: [], certificates: [] });
    await expect(aCloud({ network: aNetwork() }).view.state(NOW)).resolves.toMatchObject({
      network: { id: NETWORK_ID },
    });
  });
});

describe("the reader", () => {
  /** A reader of an API that answers these paths, and no others. */
  function aReader(answers: Record<string, unknown>) {
    const read = async <T>(path: string): Promise<T> => {
      if (!Object.hasOwn(answers, path)) throw new CloudError(`GET ${path}`, 404, "not_found", "not found");
      return answers[path] as T;
    };
    return new CloudReader({ read });
  }

  it("reads all pages of a list", async () => {
    const page = (number: number, servers: unknown[]) => ({
      servers,
      meta: { pagination: { last_page: 3, next_page: number + 1 } },
    });
    const reader = aReader({
      "/servers?page=1&per_page=50&sort=id:asc": page(1, [aServer({ id: 1 })]),
      "/servers?page=2&per_page=50&sort=id:asc": page(2, [aServer({ id: 2 })]),
      "/servers?page=3&per_page=50&sort=id:asc": page(3, [aServer({ id: 3 })]),
    });
    expect((await reader.servers()).map(({ id }) => id)).toEqual([1, 2, 3]);
  });

  const [FIRST, SECOND] = [aServer({ id: 1 }), aServer({ id: 2 })];
  const listOf = (...servers: readonly unknown[]) => ({
    servers,
    meta: { pagination: { last_page: 1, total_entries: 2 } },
  });
  it.each([
    ["shorter than announced", listOf(FIRST), "has 1 entries, but announces 2"],
    ["longer than announced", listOf(FIRST, SECOND, aServer({ id: 3 })), "has 3 entries, but announces 2"],
    ["with the same server twice: another one is missing", listOf(FIRST, FIRST), "entries with the same id"],
    ["without servers at all", { meta: listOf().meta }, "a response has no servers"],
  ])("unlike HCCM Q3: rereads a list %s, and fails if it stays so", async (_, wrong, problem) => {
    const reads = [wrong, listOf(FIRST, SECOND)];
    const patient = new CloudReader({ read: async <T>() => reads.shift() as T });
    expect(await patient.servers()).toEqual([FIRST, SECOND]);
    let count = 0;
    const stubborn = new CloudReader({
      read: async <T>() => {
        count++;
        return wrong as T;
      },
    });
    await expect(stubborn.servers()).rejects.toMatchObject({ code: "incomplete-list", retry: "soon" });
    await expect(stubborn.servers()).rejects.toThrow(problem);
    expect(count).toBe(6);
  });

  const broken = (fields: object) => ({ ...FIRST, ...fields });
  it.each([
    ["without private_net", broken({ private_net: undefined })],
    ["without public_net", broken({ public_net: null })],
    ["without a name", broken({ name: undefined })],
    ["with odd private addresses", broken({ private_net: [{ network: "x" }] })],
    ["with odd alias IPs", broken({ private_net: [{ network: 7, ip: "10.0.0.2", alias_ips: 1 }] })],
    ["with an odd public address", broken({ public_net: { ipv4: { ip: 7 }, ipv6: null } })],
    ["without a location", broken({ location: undefined })],
  ])("takes a server %s as it was before, and others as they are", async (_, odd) => {
    const lists: object[] = [listOf(FIRST, SECOND), listOf(odd, SECOND), { server: odd }];
    const reader = new CloudReader({ read: async <T>() => lists.shift() as T });
    await reader.servers();
    expect(await reader.servers()).toEqual([FIRST, SECOND]);
    expect(await reader.server(1)).toEqual(FIRST);
    const fresh = new CloudReader({ read: async <T>() => listOf(odd, SECOND) as T });
    expect(await fresh.servers()).toEqual([SECOND]);
  });

  it.each<[string, unknown]>([
    ["a malformed server", { server: broken({ location: undefined }) }],
    ["something else", { maintenance: true }],
    ["nothing", null],
  ])("does not take a server or labels for missing when the response has %s", async (_, response) => {
    const reader = new CloudReader({ read: async <T>() => response as T });
    await expect(reader.server(1)).rejects.toMatchObject({ apiCode: "invalid_response" });
    await expect(reader.labels("certificate", 1)).rejects.toMatchObject({ apiCode: "invalid_response" });
  });

  it("skips entries that are no servers, and ignores an IPv6 network that cannot be parsed", async () => {
    const public_net = { ipv4: { ip: "203.0.113.1" }, ipv6: { ip: "2001:db8::/nonsense" } };
    const reader = new CloudReader({ read: async <T>() => listOf(null, broken({ public_net })) as T });
    expect(await reader.servers()).toEqual([broken({ public_net: { ...public_net, ipv6: null } })]);
  });

  it("reads the labels of one resource, and tells a missing one from a failure", async () => {
    const reader = aReader({ "/certificates/7": { certificate: { labels: { a: "b" } } } });
    expect([await reader.labels("certificate", 7), await reader.labels("load_balancer", 7)]).toEqual([
      { a: "b" },
      undefined,
    ]);
    const broken = new CloudReader({ read: () => Promise.reject(new CloudError("GET", 500, "x", "down")) });
    await expect(broken.labels("certificate", 7)).rejects.toThrow("down");
  });

  it.each([
    [404, "unknown"],
    [403, "not_found"],
    [500, "not_found"],
  ])("takes nothing for missing on status %d with code %s: only a 404 of the API proves it", async (status, code) => {
    const failing = new CloudReader({ read: () => Promise.reject(new CloudError("GET", status, code, "no")) });
    await expect(failing.labels("load_balancer", 7)).rejects.toMatchObject({ status });
    await expect(failing.server(7)).rejects.toMatchObject({ status });
  });

  it("unlike HCCM Q3: fails as a whole when a page is missing, because half a list would look like deletions", async () => {
    const reader = aReader({
      "/servers?page=1&per_page=50&sort=id:asc": { servers: [aServer()], meta: { pagination: { last_page: 2 } } },
    });
    await expect(reader.servers()).rejects.toThrow("not found");
  });

  it.each([
    ["HCCM G3: an id", "7", { "/networks/7": { network: aNetwork() } }],
    ["HCCM G3: a name of digits, when no id matches", "8", { "/networks?name=8": { networks: [aNetwork()] } }],
    ["a name", "my net", { "/networks?name=my%20net": { networks: [aNetwork()] } }],
  ])("finds a network by %s", async (_, text, answers) => {
    await expect(aReader(answers).findNetwork(text)).resolves.toEqual(aNetwork());
  });

  it.each([
    ["something else", { maintenance: true }],
    ["a network without subnets", { network: { ...aNetwork(), subnets: undefined } }],
    ["a network without routes", { network: { ...aNetwork(), routes: undefined } }],
  ])("does not take the cluster for one without a network when the response has %s", async (_, response) => {
    const reader = new CloudReader({ read: async <T>() => response as T });
    await expect(reader.network(7)).rejects.toMatchObject({ apiCode: "invalid_response" });
  });

  it("tells a missing network from a failure", async () => {
    await expect(aReader({ "/networks?name=x": { networks: [] } }).findNetwork("x")).resolves.toBeUndefined();
    const broken = new CloudReader({ read: () => Promise.reject(new CloudError("GET", 500, "x", "down")) });
    await expect(broken.findNetwork("7")).rejects.toThrow("down");
  });

  it("does not look for a name when the network with this id cannot be read", async () => {
    const read = async <T>(path: string): Promise<T> => {
      if (path === "/networks/7") throw new CloudError(`GET ${path}`, 500, "x", "down");
      return { networks: [aNetwork()] } as T;
    };
    await expect(new CloudReader({ read }).findNetwork("7")).rejects.toThrow("down");
  });
});
