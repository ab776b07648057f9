/** The data plane of the simulated cloud, with real sockets. */
import { createServer as createHttpServer } from "node:http";
import { createServer as createTlsServer, request as httpsRequest } from "node:https";
import { connect, createServer, type Server } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Cloud } from "../../dev-env/cloud/cloud.ts";
import { issueCertificate } from "../../dev-env/cloud/resources/self-signed.ts";
import { closeServer, listen } from "../../dev-env/cluster/loopback.ts";
import { aBalancer, aCloud, call, type Json } from "../unit/dev-env/cloud/client.ts";

const NODE_PORT = 30_080;
const LISTEN_PORT = 18_080;
/** Generous, for busy machines. Usually everything takes milliseconds. */
const PATIENCE = { timeout: 20_000, interval: 10 };
const opened = new Set<Server>();

afterEach(async () => {
  for (const server of opened) await closeServer(server);
  opened.clear();
});

const aDataPlane = (): Promise<Cloud> => aCloud({ dataPlane: { timeScale: 0.005 } });

/** A server that returns its name. Change `status` to make it unhealthy. */
async function aNode(cloud: Cloud, name: string): Promise<{ id: number; answer: { status: number; body: string } }> {
  const { id } = cloud.addServer({ name });
  const answer = { status: 200, body: name };
  const server = createHttpServer((request, response) => {
    const seen = { "x-seen": JSON.stringify(request.headers) };
    request.resume().once("end", () => response.writeHead(answer.status, seen).end(answer.body));
  });
  await open(server, cloud, id);
  return { id, answer };
}

/** Makes a server listen on the node port of a node, until the test ends. */
async function open(server: Server, cloud: Cloud, node: number): Promise<void> {
  opened.add(server);
  await listen(server, NODE_PORT, cloud.backendOf(node));
}

const targets = (...nodes: readonly { id: number }[]) => nodes.map(({ id }) => ({ type: "server", server: { id } }));
const tcp = { protocol: "tcp", listen_port: LISTEN_PORT, destination_port: NODE_PORT };
const http = { ...tcp, protocol: "http" };
const urlOf = (lb: Json) => `http://${lb.public_net.ipv4.ip}:${LISTEN_PORT}/`;

/** The nodes that answer n requests, each over a new connection. */
async function whoAnswers(lb: Json, times: number): Promise<readonly string[]> {
  const names: string[] = [];
  for (let n = 0; n < times; n += 1) {
    names.push(await (await fetch(urlOf(lb), { headers: { connection: "close" } })).text());
  }
  return names;
}

describe("data plane", () => {
  test("a load balancer listens on its own loopback address and alternates between its targets", async () => {
    const cloud = await aDataPlane();
    const nodes = [await aNode(cloud, "node-1"), await aNode(cloud, "node-2")];
    const lb = await aBalancer(cloud, { services: [tcp], targets: targets(...nodes) });
    await cloud.ready();
    expect(cloud.problems()).toEqual([]);
    expect(lb.public_net.ipv4.ip).toMatch(/^127\./);
    expect((await whoAnswers(lb, 4)).toSorted()).toEqual(["node-1", "node-1", "node-2", "node-2"]);
  });

  test("two clouds never share an address", async () => {
    const [one, two] = [await aDataPlane(), await aDataPlane()];
    const [a, b] = [await aBalancer(one), await aBalancer(two)];
    expect(a.public_net.ipv4.ip).not.toBe(b.public_net.ipv4.ip);
  });

  test("reaches private, selector and IP targets", async () => {
    const cloud = await aDataPlane();
    const network = cloud.addNetwork();
    const node = await aNode(cloud, "node-1");
    await call(cloud, `POST /servers/${node.id}/actions/attach_to_network`, { network: network.id });
    await call(cloud, `PUT /servers/${node.id}`, { labels: { role: "web" } });
    const selector = { type: "label_selector", label_selector: { selector: "role=web" }, use_private_ip: true };
    const lb = await aBalancer(cloud, { network: network.id, services: [tcp], targets: [selector] });
    await cloud.ready();
    expect(await whoAnswers(lb, 1)).toEqual(["node-1"]);
  });

  test("a target that stops answering becomes unhealthy after its retries, gets no traffic, and recovers", async () => {
    const cloud = await aDataPlane();
    const [sick, well] = [await aNode(cloud, "sick"), await aNode(cloud, "well")];
    const health_check = { protocol: "http", port: NODE_PORT, interval: 3, timeout: 3, retries: 2 };
    const lb = await aBalancer(cloud, { services: [{ ...http, health_check }], targets: targets(sick, well) });
    await cloud.ready();
    const healthOf = () => cloud.state.loadBalancers.get(lb.id)?.targets[0];
    sick.answer.status = 500;
    const gone = { status: "unhealthy", detail: "unexpected_http_status", http_status_code: 500 };
    await vi.waitFor(() => expect(healthOf()).toMatchObject({ health_status: [gone] }), PATIENCE);
    expect(await whoAnswers(lb, 3)).toEqual(["well", "well", "well"]);
    sick.answer.status = 204;
    await vi.waitFor(() => expect(healthOf()).toMatchObject({ health_status: [{ status: "healthy" }] }), PATIENCE);
  });

  test("checks over https", async () => {
    const cloud = await aDataPlane();
    const { id } = cloud.addServer({ name: "node-1" });
    const pem = issueCertificate({ domainNames: ["node.example.com"], serial: 1, notBefore: 0, notAfter: 4e12 });
    const server = createTlsServer({ cert: pem.certificate, key: pem.privateKey }, (_request, response) =>
      response.end("fine"),
    );
    await open(server, cloud, id);
    const health_check = { protocol: "http", port: NODE_PORT, http: { path: "/", tls: true, response: "fine" } };
    const lb = await aBalancer(cloud, { services: [{ ...tcp, health_check }], targets: targets({ id }) });
    await cloud.ready();
    const found = cloud.state.loadBalancers.get(lb.id)?.targets[0];
    expect(found).toMatchObject({ health_status: [{ status: "healthy" }] });
  });

  test("checks the text of the response", async () => {
    const cloud = await aDataPlane();
    const node = await aNode(cloud, "node-1");
    const health_check = { protocol: "http", port: NODE_PORT, http: { path: "/", response: "all fine" } };
    const lb = await aBalancer(cloud, { services: [{ ...http, health_check }], targets: targets(node) });
    await cloud.ready();
    const found = { status: "unhealthy", detail: "unexpected_http_content" };
    expect(cloud.state.loadBalancers.get(lb.id)?.targets[0]).toMatchObject({ health_status: [found] });
    expect((await fetch(urlOf(lb))).status).toBe(503);
  });

  test("a stopped server is unhealthy with layer4_no_connection", async () => {
    const cloud = await aDataPlane();
    const node = await aNode(cloud, "node-1");
    const lb = await aBalancer(cloud, { services: [tcp], targets: targets(node) });
    await call(cloud, `POST /servers/${node.id}/actions/poweroff`);
    const dead = { health_status: [{ status: "unhealthy", detail: "layer4_no_connection" }] };
    await vi.waitFor(() => expect(cloud.state.loadBalancers.get(lb.id)?.targets[0]).toMatchObject(dead), PATIENCE);
  });

  test("passes the client's address with PROXY protocol v2", async () => {
    const cloud = await aDataPlane();
    const { id } = cloud.addServer({ name: "node-1" });
    const seen = new Promise<Buffer>((resolve) => {
      const server = createServer((socket) => {
        socket.on("error", () => {});
        socket.once("data", (data) => (data.includes("hello") || data.length >= 28) && resolve(data));
      });
      void open(server, cloud, id);
    });
    const lb = await aBalancer(cloud, { services: [{ ...tcp, proxyprotocol: true }], targets: targets({ id }) });
    await cloud.ready();
    const client = connect({ host: lb.public_net.ipv4.ip, port: LISTEN_PORT });
    const port = await new Promise<number>((resolve) => client.once("connect", () => resolve(client.localPort ?? 0)));
    client.write("hello");
    const header = await seen;
    client.destroy();
    expect(header.subarray(0, 16).toString("hex")).toBe("0d0a0d0a000d0a515549540a2111000c");
    expect([...header.subarray(20, 24)].join(".")).toBe(lb.public_net.ipv4.ip);
    expect([header.readUInt16BE(24), header.readUInt16BE(26)]).toEqual([port, LISTEN_PORT]);
  });

  test("sticky sessions keep a client on its target", async () => {
    const cloud = await aDataPlane();
    const nodes = [await aNode(cloud, "node-1"), await aNode(cloud, "node-2")];
    const service = { ...http, http: { sticky_sessions: true, cookie_name: "STUCK", cookie_lifetime: 60 } };
    const lb = await aBalancer(cloud, { services: [service], targets: targets(...nodes) });
    await cloud.ready();
    const first = await fetch(urlOf(lb));
    const cookie = first.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^STUCK=[0-9a-f]+; Path=\/; Max-Age=60; HttpOnly$/);
    const name = await first.text();
    for (let n = 0; n < 3; n += 1) {
      const again = await fetch(urlOf(lb), { headers: { cookie: cookie.split(";")[0] ?? "" } });
      expect([await again.text(), again.headers.get("set-cookie")]).toEqual([name, null]);
    }
  });

  test("terminates TLS with the certificate for the requested name", async () => {
    const cloud = await aDataPlane();
    const node = await aNode(cloud, "node-1");
    const managed = (domain: string) => ({ name: domain, type: "managed", domain_names: [domain] });
    const [one, two] = [managed("one.example.com"), managed("two.example.com")];
    const certificates: number[] = [];
    for (const request of [one, two]) {
      certificates.push((await call(cloud, "POST /certificates", request)).body.certificate.id);
    }
    const service = { protocol: "https", listen_port: 18_443, destination_port: NODE_PORT, http: { certificates } };
    const lb = await aBalancer(cloud, { services: [service], targets: targets(node) });
    await cloud.ready();
    const answer = await getOverTls(lb.public_net.ipv4.ip, "two.example.com");
    expect(answer.body).toBe("node-1");
    expect(answer.subject).toBe("two.example.com");
    expect(JSON.parse(answer.seen)).toMatchObject({ "x-forwarded-proto": "https", "x-forwarded-for": "127.0.0.1" });
  });

  test("skips a healthy target that refuses a connection", async () => {
    const cloud = await aDataPlane();
    const { id } = cloud.addServer({ name: "gone" });
    const node = await aNode(cloud, "node-1");
    const lb = await aBalancer(cloud, { services: [tcp], targets: targets({ id }, node) });
    await cloud.ready();
    cloud.setHealth(id, "healthy");
    expect(await whoAnswers(lb, 3)).toEqual(["node-1", "node-1", "node-1"]);
  });

  test("forwards large bodies unchanged, over tcp and http", async () => {
    const cloud = await aDataPlane();
    const node = await aNode(cloud, "node-1");
    node.answer.body = "0123456789abcdef".repeat(2 ** 17);
    const other = { ...http, listen_port: LISTEN_PORT + 1 };
    const lb = await aBalancer(cloud, { services: [tcp, other], targets: targets(node) });
    await cloud.ready();
    for (const port of [LISTEN_PORT, LISTEN_PORT + 1]) {
      const url = `http://${lb.public_net.ipv4.ip}:${port}/`;
      const response = await fetch(url, { method: "POST", body: node.answer.body });
      expect((await response.text()) === node.answer.body, `port ${port}`).toBe(true);
    }
  });

  test("tunnels upgraded connections", async () => {
    const cloud = await aDataPlane();
    const { id } = cloud.addServer({ name: "node-1" });
    const server = createHttpServer((_request, response) => response.end());
    server.on("upgrade", (_request, socket) => {
      socket.on("error", () => {});
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
      socket.pipe(socket);
    });
    await open(server, cloud, id);
    const lb = await aBalancer(cloud, { services: [http], targets: targets({ id }) });
    await cloud.ready();
    const client = connect({ host: lb.public_net.ipv4.ip, port: LISTEN_PORT });
    let seen = "";
    client.on("data", (chunk) => {
      seen += chunk;
      if (seen.endsWith("\r\n\r\n")) client.write("ping");
    });
    client.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
    await vi.waitFor(() => expect(seen).toMatch(/^HTTP\/1.1 101.*ping$/s), PATIENCE);
    client.destroy();
  });

  test.skipIf(process.getuid?.() !== 0)(
    "redirects http to https on port 80 (requires the privilege to listen there)",
    async () => {
      const cloud = await aDataPlane();
      const managed = { name: "c", type: "managed", domain_names: ["a.example.com"] };
      const { certificate } = (await call(cloud, "POST /certificates", managed)).body;
      const http = { certificates: [certificate.id], redirect_http: true };
      const lb = await aBalancer(cloud, { services: [{ protocol: "https", listen_port: 18_443, http }] });
      await cloud.ready();
      expect(cloud.problems()).toEqual([]);
      const response = await fetch(`http://${lb.public_net.ipv4.ip}/path?x=1`, { redirect: "manual" });
      expect(response.status).toBe(301);
      expect(response.headers.get("location")).toBe(`https://${lb.public_net.ipv4.ip}:18443/path?x=1`);
    },
  );

  test("closes the socket when the listener or the load balancer is removed", async () => {
    const cloud = await aDataPlane();
    const node = await aNode(cloud, "node-1");
    const lb = await aBalancer(cloud, { services: [tcp], targets: targets(node) });
    await cloud.ready();
    expect(await whoAnswers(lb, 1)).toEqual(["node-1"]);
    await call(cloud, `DELETE /load_balancers/${lb.id}`);
    await cloud.ready();
    await expect(fetch(urlOf(lb))).rejects.toThrow();
  });
});

async function getOverTls(host: string, servername: string): Promise<{ body: string; subject: string; seen: string }> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest({ host, port: 18_443, servername, rejectUnauthorized: false, agent: false });
    request.once("error", reject).once("response", (response) => {
      const socket = response.socket as unknown as { getPeerCertificate(): { subject: { CN: string } } };
      const subject = socket.getPeerCertificate().subject.CN;
      let body = "";
      response.on("data", (chunk) => {
        body += chunk;
      });
      response.once("end", () => resolve({ body, subject, seen: String(response.headers["x-seen"]) }));
    });
    request.end();
  });
}
