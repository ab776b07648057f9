import { request, type ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ApiError, ApiRequest } from "../../../../controller/hcloud/exchange.ts";
import { Gateway } from "../../../../controller/hcloud/gateway.ts";
import type { Exchange } from "../../../../controller/hcloud/sender.ts";
import { Upstream } from "../../../../controller/hcloud/sender.ts";
import type { RunAccess } from "../../../../controller/hcloud/session.ts";
import { Aged } from "../../../../controller/work/aged.ts";
import { aBalancerSpec, aListener } from "../../../support/builders.ts";
import { QuickClock } from "../../../support/clock.ts";
import { type Received, reply, startServer, type TestServer } from "../../../support/http-server.ts";

const TOKEN = "the-real-token";
/** Figures with which the budget refills in milliseconds. */
const RICH = { "ratelimit-limit": "36000000", "ratelimit-remaining": "36000000" };

let upstream: TestServer;
let clock: QuickClock;
let gateway: Gateway;
let exchanges: Exchange[];
/** What the API answers; each test says. */
let answer: (request: Received, response: ServerResponse) => void | Promise<void>;

beforeEach(async () => {
  clock = new QuickClock();
  exchanges = [];
  answer = (_, response) => reply(response, {});
  upstream = await startServer((request, response) => answer(request, response));
  gateway = new Gateway(
    new Upstream({ endpoint: `${upstream.url}/v1/`, token: () => TOKEN, userAgent: "test", timeoutMs: 2_000 }),
    (exchange) => exchanges.push(exchange),
    clock,
  );
  await gateway.start();
});
afterEach(async () => {
  await gateway.stop();
  await upstream.stop();
});

const open = (mode: "apply" | "preview" = "apply", run = "run") => gateway.open({ run, mode });

/** Calls the API as the plugin does. */
async function call(access: RunAccess, method: string, path: string, body?: unknown) {
  const response = await fetch(access.endpoint + path, {
    method,
    headers: { authorization: `Bearer ${access.token}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: JSON.parse((await response.text()) || "null") };
}

/** Lets the API hold back its answer to one request until it is released. */
function holdBack(isHeld: (request: Received) => boolean) {
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  answer = async (request, response) => {
    if (isHeld(request)) {
      arrived.resolve();
      await released.promise;
    }
    reply(response, {});
  };
  return { arrived: arrived.promise, release: released.resolve };
}

const requests = () => upstream.received.map(({ method, path }) => `${method} ${path}`);

describe("credentials", () => {
  it("never shows the real token to the plugin, nor the plugin's to the API", async () => {
    answer = (_, response) => reply(response, {}, 200, RICH);
    const access = open();
    const { body, headers } = await call(access, "POST", "/load_balancers", { name: "x" });
    const [seen] = upstream.received;
    expect(seen?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    expect(JSON.stringify(upstream.received)).not.toContain(access.token);
    expect(JSON.stringify([access, body, [...headers]])).not.toContain(TOKEN);
    expect(JSON.stringify(exchanges)).not.toMatch(new RegExp(`${TOKEN}|${access.token}`));
  });

  it("gives each run its own", () => {
    const [a, b] = [open("apply", "a"), open("apply", "b")];
    expect(a.token).not.toBe(b.token);
    expect(a.endpoint).not.toBe(b.endpoint);
  });

  it.each([
    ["a wrong one", (access: RunAccess) => ({ ...access, token: "x".repeat(64) })],
    ["none", (access: RunAccess) => ({ ...access, token: "" })],
    ["the real token", (access: RunAccess) => ({ ...access, token: TOKEN })],
    ["another run's", (access: RunAccess) => ({ ...access, token: open("apply", "other").token })],
    [
      "an unknown run's",
      (access: RunAccess) => ({ ...access, endpoint: access.endpoint.replace(/[0-9a-f]{16}/, "0".repeat(16)) }),
    ],
  ])("refuses %s with 401, without a request to the API", async (_, spoil) => {
    const { status, body } = await call(spoil(open()), "GET", "/servers/1");
    expect(status).toBe(401);
    expect(body.error.code).toBe("unauthorized");
    expect(upstream.received).toEqual([]);
  });

  it("is not valid before its run is opened", async () => {
    const reserved = gateway.reserve();
    expect((await call({ ...reserved, close: async () => {} }, "GET", "/servers/1")).status).toBe(401);
    const access = gateway.open({ run: "run", mode: "apply" }, reserved);
    expect(access).toMatchObject(reserved);
    expect((await call(access, "GET", "/servers/1")).status).toBe(200);
  });

  it("refuses a run that was closed", async () => {
    const access = open();
    expect((await call(access, "GET", "/servers/1")).status).toBe(200);
    await access.close();
    expect((await call(access, "GET", "/servers/1")).status).toBe(401);
  });

  it("drops writes that were still queued when their run was closed", async () => {
    const { arrived, release } = holdBack(({ body }) => body === '"first"');
    const access = open();
    const first = call(access, "PUT", "/load_balancers/1", "first");
    await arrived;
    const second = call(access, "PUT", "/load_balancers/1", "second");
    // Sent after the second: when this is answered, the second is in line.
    await call(access, "PUT", "/load_balancers/2", "other");
    let isClosed = false;
    const closed = access.close().then(() => {
      isClosed = true;
    });
    await call(open(), "GET", "/servers/1");
    expect(isClosed, "a run ends only when the writes it has under way are answered").toBe(false);
    release();
    expect((await first).status).toBe(200);
    expect((await second).status).toBe(401);
    await closed;
    expect(upstream.received.map(({ body }) => body)).toEqual(['"first"', '"other"', ""]);
  });

  it("listens on loopback only", () => {
    expect(new URL(open().endpoint).hostname).toBe("127.0.0.1");
  });
});

describe("a run with a scope", () => {
  const permits = ({ path }: ApiRequest) => path.startsWith("/load_balancers/1");

  it.each(["POST", "PUT", "DELETE"])("may not send a %s outside it", async (method) => {
    const { status, body } = await call(gateway.open({ run: "run", mode: "apply", permits }), method, "/networks/7");
    expect(status).toBe(403);
    expect(body.error.message).toMatch(/not part of the run/);
    expect(upstream.received).toEqual([]);
  });

  it.each([
    "/load_balancers/1/../99",
    "/load_balancers/1/%2e%2e/%2E%2E/servers/7",
    "//elsewhere/load_balancers/1",
    "/load_balancers/1?x=_route",
    "/load_balancers/1?",
  ])("gets nothing through under a false name: %s", async (path) => {
    const access = gateway.open({ run: "run", mode: "apply", permits });
    const { port } = new URL(access.endpoint);
    const { pathname } = new URL(access.endpoint);
    // `fetch` would resolve the path itself.
    const status = await new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${access.token}` };
      request({ port, method: "DELETE", path: pathname + path, headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect(status).toBe(403);
    expect(upstream.received).toEqual([]);
  });

  it("may write to its units, and read anything", async () => {
    const access = gateway.open({ run: "run", mode: "apply", permits });
    await call(access, "PUT", "/load_balancers/1", {});
    await call(access, "GET", "/networks/7");
    expect(requests()).toEqual(["PUT /v1/load_balancers/1", "GET /v1/networks/7"]);
  });
});

it("lets a run work from what the controller last read, not from an older read of the plugin", async () => {
  let routes = 0;
  answer = (_, response) => reply(response, { network: { id: 7, routes: ++routes } });
  const access = open();
  expect((await call(access, "GET", "/networks/7")).body.network.routes).toBe(1);
  await gateway.read("/networks/7");
  expect((await call(access, "GET", "/networks/7")).body.network.routes).toBe(2);
  expect(upstream.received).toHaveLength(2);
});

describe("a preview", () => {
  it.each(["POST", "PUT", "DELETE", "PATCH"])("refuses %s", async (method) => {
    const access = open("preview");
    const { status, body } = await call(access, method, "/load_balancers/1");
    expect(status).toBe(403);
    expect(body.error.code).toBe("forbidden");
    expect(upstream.received).toEqual([]);
  });

  it("allows reads", async () => {
    await call(open("preview"), "GET", "/load_balancers/1");
    expect(requests()).toEqual(["GET /v1/load_balancers/1"]);
  });
});

describe("reads", () => {
  it("share one request when they are equal and concurrent, and for a while after", async () => {
    answer = (_, response) => reply(response, { server: { id: 1 } });
    const access = open();
    const answers = await Promise.all([call(access, "GET", "/servers/1"), call(access, "GET", "/servers/1")]);
    answers.push(await call(access, "GET", "/servers/1"));
    expect(answers.map(({ body }) => body.server.id)).toEqual([1, 1, 1]);
    expect(requests()).toEqual(["GET /v1/servers/1"]);
  });

  it("see what was written before them", async () => {
    let name = "old";
    answer = ({ method, body }, response) => {
      if (method === "PUT") name = JSON.parse(body).name;
      reply(response, { load_balancer: { id: 1, name } });
    };
    const access = open();
    expect((await call(access, "GET", "/load_balancers/1")).body.load_balancer.name).toBe("old");
    await call(access, "PUT", "/load_balancers/1", { name: "new" });
    expect((await call(access, "GET", "/load_balancers/1")).body.load_balancer.name).toBe("new");
  });

  describe("after writes", () => {
    const LIST = "/load_balancers?page=1&per_page=50";
    const names = new Map<string, string>();
    /** Load balancers 1 and 2, with the names that were last written. */
    const aProject = () => {
      names.clear();
      answer = ({ method, path, body }, response) => {
        const { id = "" } = /^\/v1\/load_balancers\/(?<id>\d+)/.exec(path)?.groups ?? {};
        if (method === "PUT") names.set(id, JSON.parse(body).name);
        const show = (one: string) => ({ id: Number(one), name: names.get(one) ?? "old" });
        reply(response, id ? { load_balancer: show(id) } : { load_balancers: [show("1"), show("2")] });
      };
    };
    const withList = (read: () => Promise<unknown>) => {
      const lists = new Aged(read, clock.now);
      return gateway.open({ run: "run", mode: "apply", list: (_, maxAgeMs) => lists.get(maxAgeMs) });
    };
    const nameOf = async (access: RunAccess, id: number) =>
      (await call(access, "GET", `/load_balancers/${id}`)).body.load_balancer.name;

    it("are served from one list for all of them", async () => {
      aProject();
      const access = withList(() => gateway.read(LIST));
      await Promise.all([1, 2].map((id) => call(access, "PUT", `/load_balancers/${id}`, { name: `new ${id}` })));
      expect(await Promise.all([nameOf(access, 1), nameOf(access, 2), nameOf(access, 1)])).toEqual([
        "new 1",
        "new 2",
        "new 1",
      ]);
      expect(requests().slice(2)).toEqual([`GET /v1${LIST}`]);
    });

    it.each([
      ["at once", 0],
      ["when times of writes as old as this one were forgotten", 15_000],
    ])(
      "are never served from a list that was requested before the write had ended, and arrives %s",
      async (_, lateMs) => {
        aProject();
        const plain = answer;
        const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        answer = async (request, response) => {
          if (!request.path.includes("?")) return plain(request, response);
          arrived.resolve();
          await released.promise;
          reply(response, { load_balancers: [{ id: 1, name: "old" }] });
        };
        const access = open();
        const list = gateway.read(LIST);
        await arrived.promise;
        await call(access, "PUT", "/load_balancers/1", { name: "new" });
        clock.skip(lateMs);
        const later = open();
        released.resolve();
        await list;
        expect(await nameOf(later, 1)).toBe("new");
      },
    );

    it("are made again when the plugin repeats them after a detachment, which the API may show late", async () => {
      aProject();
      const access = withList(() => gateway.read(LIST));
      await call(access, "POST", "/load_balancers/1/actions/detach_from_network", { network: 7 });
      expect(await nameOf(access, 1)).toBe("old");
      names.set("1", "new");
      expect(await nameOf(access, 1)).toBe("old");
      clock.skip(2_000);
      expect(await nameOf(access, 1)).toBe("new");
    });

    it("are made one by one when the list cannot be read, or lacks the resource", async () => {
      aProject();
      for (const read of [() => Promise.reject(new Error("no")), async () => gateway.read("/load_balancers?page=9")]) {
        const access = withList(read);
        await call(access, "PUT", "/load_balancers/3", { name: "new" });
        expect(await nameOf(access, 3)).toBe("new");
        expect(requests().at(-1)).toBe("GET /v1/load_balancers/3");
      }
    });
  });

  it("wait for a write in flight to their resource, and for no other", async () => {
    const { arrived, release } = holdBack(({ method }) => method === "PUT");
    const access = open();
    const write = call(access, "PUT", "/load_balancers/1", {});
    await arrived;
    const read = call(access, "GET", "/load_balancers/1");
    await call(access, "GET", "/load_balancers/2");
    expect(requests()).toEqual(["PUT /v1/load_balancers/1", "GET /v1/load_balancers/2"]);
    release();
    await Promise.all([write, read]);
    expect(requests().at(-1)).toBe("GET /v1/load_balancers/1");
  });

  it("are served from our own lists", async () => {
    answer = (_, response) => reply(response, { servers: [{ id: 5, name: "five" }] });
    await gateway.read("/servers?page=1&per_page=50");
    const { body } = await call(open(), "GET", "/servers/5");
    expect(body).toEqual({ server: { id: 5, name: "five" } });
    expect(upstream.received).toHaveLength(1);
  });

  it("of servers are served from an older list, those of load balancers from a fresh one only", async () => {
    answer = (_, response) => reply(response, { servers: [{ id: 5 }], load_balancers: [{ id: 6 }] });
    await gateway.read("/servers?page=1&per_page=50");
    await gateway.read("/load_balancers?page=1&per_page=50");
    clock.skip(50_000);
    await call(open(), "GET", "/servers/5");
    expect(upstream.received).toHaveLength(2);
    await call(open(), "GET", "/load_balancers/6");
    expect(upstream.received).toHaveLength(3);
  });

  it.each([500, 502, 503])("are retried after %d, with growing pauses", async (status) => {
    answer = (_, response) => reply(response, {}, upstream.received.length < 4 ? status : 200);
    expect((await call(open(), "GET", "/servers/1")).status).toBe(200);
    expect(upstream.received).toHaveLength(4);
    expect(clock.pauses).toEqual([200, 400, 800]);
  });

  it("end with the API's own response after several attempts", async () => {
    answer = (_, response) => reply(response, { error: { code: "service_error", message: "x" } }, 500);
    const { status, body } = await call(open(), "GET", "/servers/1");
    expect([status, body.error.code]).toEqual([500, "service_error"]);
    expect(upstream.received).toHaveLength(4);
  });

  it("are retried when a response is lost, and end as unavailable", async () => {
    answer = (_, response) => void response.destroy();
    const { status, body } = await call(open(), "GET", "/servers/1");
    expect([status, body.error.code]).toEqual([503, "unavailable"]);
    expect(upstream.received).toHaveLength(4);
    expect(exchanges.map((exchange) => exchange.status)).toEqual([0, 0, 0, 0]);
  });

  it("pass on the API's refusals unchanged", async () => {
    const error = { code: "not_found", message: "server not found", details: null };
    answer = (_, response) => reply(response, { error }, 404);
    expect(await call(open(), "GET", "/servers/9")).toMatchObject({
      status: 404,
      body: { error },
    });
  });
});

describe("writes", () => {
  it("unlike HCCM R6: to one resource are sent one after another, in order; others overtake them", async () => {
    const { arrived, release } = holdBack(({ body }) => body === '"first"');
    const access = open();
    const target = "/load_balancers/1/actions/add_target";
    const first = call(access, "POST", target, "first");
    await arrived;
    const second = call(access, "POST", "/load_balancers/1/actions/add_service", "second");
    await call(access, "POST", "/load_balancers/2/actions/add_target", "other");
    expect(upstream.received.map(({ body }) => body)).toEqual(['"first"', '"other"']);
    release();
    await Promise.all([first, second]);
    expect(upstream.received.map(({ body }) => body)).toEqual(['"first"', '"other"', '"second"']);
  });

  it.each([500, 502, 504])("are not retried after %d, because they may have taken effect", async (status) => {
    answer = (_, response) => reply(response, { error: { code: "x", message: "x" } }, status);
    expect((await call(open(), "POST", "/load_balancers", {})).status).toBe(status);
    expect(upstream.received).toHaveLength(1);
  });

  it("are not retried when the response is lost", async () => {
    answer = (_, response) => void response.destroy();
    const { status, body } = await call(open(), "POST", "/load_balancers", {});
    expect([status, body.error.code]).toEqual([503, "unavailable"]);
    expect(upstream.received).toHaveLength(1);
  });

  it("do not block the next write to their resource when they fail", async () => {
    answer = ({ method }, response) => (method === "PUT" ? void response.destroy() : reply(response, {}));
    const access = open();
    await call(access, "PUT", "/load_balancers/1", {});
    expect((await call(access, "DELETE", "/load_balancers/1")).status).toBe(200);
  });

  it.each(["no_subnet_available", "service_error"])(
    "that are refused as %s are not repeated: the plugin would do so for half a minute, and others would wait",
    async (code) => {
      const error = { code, message: "no subnet or IP available", details: null };
      answer = (_, response) => reply(response, { error }, 422);
      const attached = await call(open(), "POST", "/load_balancers/1/actions/attach_to_network", { network: 7 });
      expect(attached).toMatchObject({ status: 422, body: { error: { ...error, code: "refused" } } });
      expect(exchanges).toMatchObject([{ status: 422, error: { code, message: error.message } }]);
    },
  );

  it("keep their body unchanged", async () => {
    const body = { name: "ü", labels: { a: "b" } };
    await call(open(), "POST", "/load_balancers", body);
    expect(JSON.parse(upstream.received[0]?.body ?? "")).toEqual(body);
    expect(upstream.received[0]?.headers["content-type"]).toBe("application/json");
  });

  it("are reported with run, endpoint and status", async () => {
    answer = (_, response) => reply(response, {}, 201);
    await call(open("apply", "run-1"), "POST", "/load_balancers/1/actions/add_target", {});
    expect(exchanges).toMatchObject([
      {
        run: "run-1",
        method: "POST",
        path: "/load_balancers/1/actions/add_target",
        endpoint: "/load_balancers/-/actions/add_target",
        status: 201,
      },
    ]);
  });
});

it("sends completed requests to the API only", async () => {
  const complete = ({ body, ...request }: ApiRequest) => ({ ...request, body: `${body?.replace("?", "s3cr3t")}` });
  const access = gateway.open({ run: "run", mode: "apply", complete });
  const { body } = await call(access, "POST", "/certificates", { private_key: "?" });
  expect(upstream.received.map((received) => received.body)).toEqual(['{"private_key":"s3cr3t"}']);
  expect(JSON.stringify([exchanges, body])).not.toContain("s3cr3t");
});

describe("a new load balancer", () => {
  const spec = aBalancerSpec({
    name: "web",
    network: { networkId: 7, publicInterface: true },
    listeners: [aListener(80)],
    targets: [{ kind: "server", serverId: 5, usePrivateIp: true }],
  });
  const create = { name: "web", load_balancer_type: "lb11", location: "fsn1" };
  const openFor = (mode: "apply" | "preview" = "apply") =>
    gateway.open({ run: "run", mode, newBalancer: (name) => (name === spec.name ? spec : undefined) });
  const done = { id: 9, command: "create_load_balancer", status: "success" };
  const bodies = () => upstream.received.filter(({ method }) => method === "POST").map(({ body }) => JSON.parse(body));

  let made: Record<string, unknown>;
  /** An API that makes what it is asked to make; `refuse` says what it does not like. */
  function makeBalancers(refuse: (body: Record<string, unknown>) => boolean = () => false) {
    made = {};
    answer = ({ method, body }, response) => {
      if (method === "GET") return reply(response, { load_balancer: made });
      const wanted = JSON.parse(body);
      if (refuse(wanted))
        return reply(response, { error: { code: "service_error", message: "no", details: null } }, 422);
      const { network, services = [], targets = [] } = wanted;
      const private_net = network ? [{ network, ip: "10.0.0.2" }] : [];
      if (wanted.name) made = { id: 1, private_net, services, targets };
      return reply(response, { load_balancer: made, action: done }, 201);
    };
  }
  const actions = {
    attach: ["/load_balancers/1/actions/attach_to_network", { network: 7 }],
    listen: ["/load_balancers/1/actions/add_service", { protocol: "tcp", listen_port: 80, destination_port: 30_080 }],
    target: ["/load_balancers/1/actions/add_target", { type: "server", server: { id: 5 }, use_private_ip: true }],
  } as const;

  it("is created with everything its run will request, and later requests are answered without the API", async () => {
    makeBalancers();
    const access = openFor();
    expect((await call(access, "POST", "/load_balancers", create)).body.load_balancer.id).toBe(1);
    for (const [path, body] of Object.values(actions)) {
      const { status, body: answered } = await call(access, "POST", path, body);
      expect([status, answered.action]).toEqual([201, done]);
    }
    expect(requests()).toEqual(["POST /v1/load_balancers", "GET /v1/load_balancers/1"]);
    expect(bodies()).toMatchObject([
      { ...create, network: 7, public_interface: true, targets: [{ server: { id: 5 } }] },
    ]);
    expect(
      exchanges.map(({ method }) => method),
      "what did not reach the API is not reported",
    ).toEqual(["POST", "GET"]);
  });

  it("is remembered when its creation takes longer than a response is held (B4)", async () => {
    makeBalancers();
    const api = answer;
    const running = { ...done, status: "running" };
    answer = ({ method, path, body }, response) => {
      if (path.startsWith("/v1/actions")) return reply(response, { actions: [running] });
      if (method !== "POST") return api({ method, path, body } as Received, response);
      const { network, services, targets } = JSON.parse(body);
      made = { id: 1, private_net: [{ network, ip: "10.0.0.2" }], services, targets };
      return reply(response, { load_balancer: made, action: running }, 201);
    };
    const access = openFor();
    expect((await call(access, "POST", "/load_balancers", create)).body.action.status).toBe("running");
    for (const [path, body] of Object.values(actions))
      expect((await call(access, "POST", path, body)).status).toBe(201);
    expect(bodies()).toHaveLength(1);
  });

  it("is created bare when the API refuses the whole, so that only the part at fault fails", async () => {
    makeBalancers(({ targets, type }) => targets !== undefined || type === "server");
    const access = openFor();
    expect((await call(access, "POST", "/load_balancers", create)).status).toBe(201);
    expect(bodies()[1]).toEqual(create);
    expect((await call(access, "POST", ...actions.target)).status).toBe(422);
    expect((await call(access, "POST", ...actions.attach)).status).toBe(201);
  });

  it.each([409, 500, 504])("is not retried after %d", async (status) => {
    answer = (_, response) => reply(response, { error: { code: "x", message: "x" } }, status);
    expect((await call(openFor(), "POST", "/load_balancers", create)).status).toBe(status);
    expect(upstream.received).toHaveLength(1);
  });

  it("gets the parts that it turns out to lack", async () => {
    makeBalancers();
    const access = openFor();
    await call(access, "POST", "/load_balancers", create);
    await call(access, "POST", "/load_balancers/1/actions/add_target", { type: "server", server: { id: 6 } });
    expect(requests().at(-1)).toBe("POST /v1/load_balancers/1/actions/add_target");
  });

  it("is passed on unchanged when it is not part of the run", async () => {
    makeBalancers();
    await call(openFor(), "POST", "/load_balancers", { ...create, name: "other" });
    expect(bodies()).toEqual([{ ...create, name: "other" }]);
  });

  it("is changed through the API when another run has created it", async () => {
    makeBalancers();
    await call(openFor(), "POST", "/load_balancers", create);
    await call(openFor(), "POST", ...actions.target);
    expect(requests()).toEqual(["POST /v1/load_balancers", "POST /v1/load_balancers/1/actions/add_target"]);
  });

  it("is not created in a preview", async () => {
    expect((await call(openFor("preview"), "POST", "/load_balancers", create)).status).toBe(403);
    expect(upstream.received).toEqual([]);
  });
});

describe("rate-limit refusals", () => {
  it.each(["GET", "POST"])("are waited out, for %s too", async (method) => {
    answer = (_, response) => reply(response, {}, upstream.received.length < 3 ? 429 : 200, RICH);
    expect((await call(open(), method, "/load_balancers/1")).status).toBe(200);
    expect(upstream.received).toHaveLength(3);
    expect(clock.pauses.filter((ms) => ms > 0)).toHaveLength(2);
  });
});

describe("actions", () => {
  const action = (status: string) => ({ id: 9, command: "add_target", status });

  it("are awaited before their write is answered, so that the plugin need not poll", async () => {
    answer = ({ path }, response) =>
      path.startsWith("/v1/actions")
        ? reply(response, { actions: [action("success")] })
        : reply(response, { action: action("running") }, 201);
    const { status, body } = await call(open(), "POST", "/load_balancers/1/actions/add_target", {});
    expect([status, body.action.status]).toEqual([201, "success"]);
    expect(requests()).toEqual(["POST /v1/load_balancers/1/actions/add_target", "GET /v1/actions?id=9"]);
  });

  it("are not awaited when a certificate is issued, which takes minutes", async () => {
    const issuing = { id: 9, command: "create_certificate", status: "running", progress: 0 };
    answer = (_, response) => reply(response, { certificate: { id: 1 }, action: issuing }, 201);
    const { body } = await call(open(), "POST", "/certificates", { type: "managed" });
    expect(body).toEqual({ certificate: { id: 1 }, action: { ...issuing, status: "success", progress: 100 } });
    expect(requests()).toEqual(["POST /v1/certificates"]);
  });

  it("pass their errors to the plugin", async () => {
    const failed = { ...action("error"), error: { code: "action_failed", message: "it broke" } };
    answer = ({ path }, response) =>
      path.startsWith("/v1/actions")
        ? reply(response, { actions: [failed] })
        : reply(response, { action: action("running") }, 201);
    const { body } = await call(open(), "POST", "/load_balancers/1/actions/add_target", {});
    expect(body.action).toEqual(failed);
  });

  it("are held when the plugin polls, until they have ended", async () => {
    answer = (_, response) =>
      reply(response, { actions: [action(upstream.received.length < 2 ? "running" : "success")] });
    const { body } = await call(open(), "GET", "/actions?id=9&page=1&sort=status");
    expect(body.actions).toEqual([action("success")]);
  });

  it("invalidate what was read of their resource before they ended", async () => {
    const asked = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    let targets = 0;
    answer = async ({ path, method }, response) => {
      if (path.startsWith("/v1/actions")) {
        asked.resolve();
        await ended.promise;
        reply(response, { actions: [action("success")] });
      } else if (method === "POST") reply(response, { action: action("running") }, 201);
      else reply(response, { load_balancer: { id: 1, targets } });
    };
    const access = open();
    const read = async () => (await call(access, "GET", "/load_balancers/1")).body.load_balancer.targets;
    const write = call(access, "POST", "/load_balancers/1/actions/add_target", {});
    await asked.promise;
    expect(await read()).toBe(0);
    targets = 1;
    ended.resolve();
    await write;
    expect(await read()).toBe(1);
  });

  describe("that are slow", () => {
    const path = "/load_balancers/1/actions/add_target";
    const slow: { unit: string; ended: Promise<ApiError | undefined> }[] = [];
    const hurry = () => new AbortController();
    let status: string;
    beforeEach(() => {
      slow.length = 0;
      status = "running";
      answer = (received, response) =>
        received.path.startsWith("/v1/actions")
          ? reply(response, { actions: [action(status)] })
          : reply(response, { action: action("running") }, 201);
    });
    const openHurried = (signal: AbortSignal) =>
      gateway.open({
        run: "run",
        mode: "apply",
        attribute: () => "load-balancer/web",
        hurry: signal,
        onSlow: (unit, ended) => slow.push({ unit, ended }),
      });

    it("do not hold up a run for which others wait, and are followed to their end", async () => {
      const { body } = await call(openHurried(AbortSignal.abort()), "POST", path, {});
      expect(body.action).toMatchObject({ status: "error", error: { code: "under_way" } });
      expect(slow.map(({ unit }) => unit)).toEqual(["load-balancer/web"]);
      status = "success";
      await expect(slow[0]?.ended).resolves.toBeUndefined();
    });

    it.each([
      [
        { code: "action_failed", message: "no" },
        { code: "action_failed", message: "no" },
      ],
      [undefined, { code: "action_failed", message: "the action add_target failed" }],
    ])("say how they failed in the end: %j", async (error, expected) => {
      await call(openHurried(AbortSignal.abort()), "POST", path, {});
      answer = (_, response) => reply(response, { actions: [{ ...action("error"), error }] });
      await expect(slow[0]?.ended).resolves.toEqual(expected);
    });

    it("are awaited while nothing else waits for the run", async () => {
      const controller = hurry();
      const write = call(openHurried(controller.signal), "POST", path, {});
      await clock.pause(5_000);
      status = "success";
      expect((await write).body.action.status).toBe("success");
      expect(slow).toEqual([]);
    });

    it("are no longer awaited when others begin to wait, or after the longest hold", async () => {
      const controller = hurry();
      const write = call(openHurried(controller.signal), "POST", path, {});
      await clock.pause(2_000);
      controller.abort();
      expect((await write).body.action.status).toBe("error");
      expect((await call(openHurried(hurry().signal), "POST", path, {})).body.action.status).toBe("error");
      expect(slow).toHaveLength(2);
    });

    it("end a run in time although the API no longer answers", async () => {
      const access = openHurried(AbortSignal.abort());
      answer = (received, response) =>
        received.path.startsWith("/v1/actions")
          ? reply(response, {}, 503)
          : reply(response, { action: action("running") }, 201);
      expect((await call(access, "POST", path, {})).body.action.status).toBe("error");
    });
  });

  it("leave responses without an action or a body unchanged", async () => {
    answer = (_, response) => void response.writeHead(204).end();
    expect(await call(open(), "DELETE", "/networks/1")).toMatchObject({
      status: 204,
      body: null,
    });
  });
});

describe("the controller's own reads", () => {
  it("are always fresh", async () => {
    await gateway.read("/servers/1");
    await gateway.read("/servers/1");
    expect(upstream.received).toHaveLength(2);
  });

  it("throw the API's error", async () => {
    answer = (_, response) => reply(response, { error: { code: "unauthorized", message: "bad token" } }, 401);
    const error = await gateway.read("/servers").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "cloud", status: 401, apiCode: "unauthorized", retry: "backoff" });
  });

  it("handle a proxy's error page", async () => {
    answer = (_, response) => void response.writeHead(404).end("<html>");
    await expect(gateway.read("/servers")).rejects.toThrow("GET /servers: the API responded with status 404");
  });
});
