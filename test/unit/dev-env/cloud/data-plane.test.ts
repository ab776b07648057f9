import { describe, expect, test } from "vitest";
import { nextOpinion, type Opinion } from "../../../../dev-env/cloud/data-plane/health-checker.ts";
import type { ListenerPlan } from "../../../../dev-env/cloud/data-plane/plan.ts";
import { Pool } from "../../../../dev-env/cloud/data-plane/pool.ts";
import { judge } from "../../../../dev-env/cloud/data-plane/probe.ts";
import { localHeader, proxyHeader, readProxyHeader } from "../../../../dev-env/cloud/data-plane/proxy-protocol.ts";
import { readCookie } from "../../../../dev-env/cloud/data-plane/sticky.ts";

const check = (status_codes: readonly string[], response = "") => ({
  protocol: "http" as const,
  port: 80,
  interval: 15,
  timeout: 10,
  retries: 3,
  http: { domain: null, path: "/", response, status_codes, tls: false },
});

function aPool(algorithm: ListenerPlan["algorithm"], sick: readonly number[] = []): Pool {
  const backends = [1, 2, 3].map((target) => ({ target, host: "127.0.0.1", port: 1 }));
  const service = {
    protocol: "tcp",
    listen_port: 80,
    destination_port: 80,
    proxyprotocol: false,
    health_check: check([]),
  } as const;
  const plan: ListenerPlan = {
    key: "k",
    loadBalancer: 1,
    host: "127.0.0.1",
    port: 80,
    kind: "tcp",
    isFirst: true,
    service,
    algorithm,
    backends,
    keyPairs: [],
  };
  return new Pool(plan, (_plan, { target }) => !sick.includes(Number(target)));
}

describe("choosing a backend", () => {
  test("round robin alternates between healthy backends", () => {
    const pool = aPool("round_robin", [2]);
    expect([1, 2, 3, 4].map(() => pool.pick()?.target)).toEqual([1, 3, 1, 3]);
  });

  test("least connections prefers the backend with the fewest connections", () => {
    const pool = aPool("least_connections");
    const [first, second] = [pool.pick(), pool.pick()];
    if (!first || !second) throw new Error("no backend is healthy");
    const leave = pool.occupy(first);
    pool.occupy(second);
    expect([pool.pick()?.target, pool.pick()?.target]).toEqual([3, 3]);
    leave();
    leave();
    expect(pool.pick(new Set([3]))?.target).toBe(first.target);
  });

  test("returns no backend if all were tried or are unhealthy", () => {
    expect(aPool("round_robin", [1, 2, 3]).pick()).toBeUndefined();
    expect(aPool("round_robin").pick(new Set([1, 2, 3]))).toBeUndefined();
  });
});

test("health changes after `retries` results, and with the first result", () => {
  const well = { status: "healthy" } as const;
  const sick = { status: "unhealthy", detail: "layer4_timeout" } as const;
  const looks = [sick, well, sick, sick, well, well, well, sick];
  let opinion: Opinion = { state: { status: "unknown" }, streak: 0 };
  const seen = looks.map((look) => {
    opinion = nextOpinion(opinion, look, 2);
    return opinion.state.status;
  });
  expect(seen).toEqual([
    "unhealthy",
    "unhealthy",
    "unhealthy",
    "unhealthy",
    "unhealthy",
    "healthy",
    "healthy",
    "healthy",
  ]);
});

test.each([
  [["2??", "3??"], 204, "", { status: "healthy" }],
  [["2??"], 301, "", { status: "unhealthy", detail: "unexpected_http_status", http_status_code: 301 }],
  [["*"], 500, "", { status: "healthy" }],
  [["20?"], 210, "", { status: "unhealthy", detail: "unexpected_http_status", http_status_code: 210 }],
  [["200"], 200, "ok", { status: "healthy" }],
  [["200"], 200, "else", { status: "unhealthy", detail: "unexpected_http_content" }],
])("evaluates a check for codes %j: status %i, expected text %o", (codes, status, response, verdict) => {
  expect(judge(check(codes, response), status, "all is ok")).toEqual(verdict);
});

test("finds a cookie among others", () => {
  expect(readCookie("a=1; STICKY=abc; b=2", "STICKY")).toBe("abc");
  expect(readCookie("XSTICKY=abc", "STICKY")).toBeUndefined();
  expect(readCookie(undefined, "STICKY")).toBeUndefined();
});

describe("reading the PROXY protocol", () => {
  const connection = { sourceIp: "10.1.2.3", sourcePort: 4_711, destinationIp: "127.16.0.9", destinationPort: 443 };
  const web = Buffer.from("GET / HTTP/1.1\r\n\r\n");
  test.each([
    ["a forwarded connection", Buffer.concat([proxyHeader(connection), web]), { length: 28, sourceIp: "10.1.2.3" }],
    ["the balancer's own", Buffer.concat([localHeader, web]), { length: 16 }],
    ["no header", web, undefined],
    ["nothing", Buffer.alloc(0), undefined],
    ["a header that was cut off", proxyHeader(connection).subarray(0, 14), undefined],
  ])("%s", (_, received, header) => expect(readProxyHeader(received)).toEqual(header));
});
