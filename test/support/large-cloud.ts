/** A very large project: 10,000 servers, and 500 load balancers with 24 targets each. */
import assert from "node:assert/strict";
import { type Cloud, startCloud } from "../../dev-env/cloud/cloud.ts";

export const SERVERS = 10_000;
export const BALANCERS = 500;

export async function startLargeCloud(): Promise<Cloud> {
  const cloud = await startCloud({ rateLimit: "off" });
  for (let n = 0; n < SERVERS; n += 1) {
    cloud.addServer({ name: `server-${n}`, labels: { role: n % 4 === 0 ? "web" : "db", shard: `s${n % 2500}` } });
  }
  const ids = cloud.state.servers.values().map(({ id }) => id);
  for (let n = 0; n < BALANCERS; n += 1) {
    const servers = Array.from({ length: 20 }, (_, k) => ({
      type: "server",
      server: { id: ids[(n * 20 + k) % SERVERS] },
    }));
    const selector = { type: "label_selector", label_selector: { selector: `shard=s${n}` } };
    const services = [80, 443].map((port) => ({ protocol: "tcp", listen_port: port, destination_port: port }));
    const place = { load_balancer_type: "lb11", location: "fsn1" };
    const reply = await send(cloud, "POST", "/load_balancers", {
      name: `lb-${n}`,
      ...place,
      services,
      targets: [...servers, selector],
    });
    assert.equal(reply.status, 201);
  }
  return cloud;
}

/** Sends one request and measures its time. */
export async function send(cloud: Cloud, method: string, path: string, body?: unknown) {
  const before = performance.now();
  const response = await fetch(`${cloud.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${cloud.token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  await response.arrayBuffer();
  return { status: response.status, ms: performance.now() - before };
}
