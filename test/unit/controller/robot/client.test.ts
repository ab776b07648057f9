import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RobotClient } from "../../../../controller/robot/client.ts";
import { type Robot, startRobot } from "../../../../dev-env/cloud/robot/robot.ts";
import { startServer } from "../../../support/http-server.ts";

const METAL = {
  server_number: 5,
  server_name: "metal",
  server_ip: "203.0.113.5",
  server_ipv6_net: "2001:db8:5::",
  product: "AX41-NVMe",
  dc: "FSN1-DC8",
};

let robot: Robot;
let now: number;
let client: RobotClient;

beforeEach(async () => {
  robot = await startRobot();
  robot.servers.set(5, METAL);
  now = 0;
  const { url: endpoint, user, password } = robot;
  const settings = { endpoint, cacheMs: 300_000, rateLimitWaitMs: 60_000, credentials: { user, password } };
  client = new RobotClient(settings, () => now);
});
afterEach(() => robot.stop());

describe("the list of dedicated servers", () => {
  it("HCCM Q5: is read once and cached for a while, even for concurrent callers", async () => {
    const both = await Promise.all([client.inventory(), client.inventory()]);
    expect(both[0]).toMatchObject({ kind: "listed", servers: [METAL] });
    now += 299_000;
    await client.inventory();
    expect(robot.requests).toEqual(["/server"]);
    now += 2_000;
    await client.inventory();
    expect(robot.requests).toHaveLength(2);
  });

  it("may be empty, which Robot reports as not found", async () => {
    robot.servers.clear();
    await expect(client.inventory()).resolves.toEqual({ kind: "listed", servers: [] });
  });

  it("unlike HCCM Q5: is served from the cache while Robot limits the rate, without further requests", async () => {
    await client.inventory();
    now += 301_000;
    robot.isExhausted = true;
    await expect(client.inventory()).resolves.toMatchObject({ kind: "listed" });
    now += 30_000;
    await client.inventory();
    expect(robot.requests).toHaveLength(2);
    robot.isExhausted = false;
    now += 31_000;
    await client.inventory();
    expect(robot.requests).toHaveLength(3);
  });

  it.each([
    ["a wrong password, before it locks us out", 60_000, { password: "wrong" }],
    ["a failure of its own, which nodes of the cloud would wait for", 30_000, { isBroken: true }],
  ])("is not requested again at once after %s", async (_, pauseMs, change) => {
    Object.assign(robot, change);
    const first = await client.inventory();
    expect(first).toMatchObject({ kind: "unreadable" });
    now += pauseMs - 1;
    await expect(client.inventory()).resolves.toEqual(first);
    expect(robot.requests).toHaveLength(1);
    now += 1;
    await client.inventory();
    expect(robot.requests).toHaveLength(2);
  });

  it("is unreadable, with the reason, when it was never read", async () => {
    robot.isExhausted = true;
    await expect(client.inventory()).resolves.toMatchObject({
      kind: "unreadable",
      reason: expect.stringContaining("Rate limit"),
    });
  });

  it.each([
    [
      "with other credentials",
      () =>
        new RobotClient({
          endpoint: robot.url,
          cacheMs: 1,
          rateLimitWaitMs: 1,
          credentials: { user: "x", password: "y" },
        }),
      "Unauthorized",
    ],
    [
      "without an answer",
      () =>
        new RobotClient({
          endpoint: "http://127.0.0.1:9",
          cacheMs: 1,
          rateLimitWaitMs: 1,
          credentials: { user: "x", password: "y" },
        }),
      "unreachable",
    ],
  ])("is unreadable %s", async (_, create, reason) => {
    await expect(create().inventory()).resolves.toMatchObject({
      kind: "unreadable",
      reason: expect.stringContaining(reason),
    });
  });
});

describe("the state of a dedicated server", () => {
  it.each([
    ["running", "running"],
    ["shut off", "off"],
    ["not supported", "running"],
  ] as const)("HCCM N7: %s is %s", async (power, state) => {
    robot.servers.set(5, { ...METAL, power });
    await expect(client.state(5)).resolves.toBe(state);
  });

  it("is missing when list and direct read agree", async () => {
    await expect(client.state(9)).resolves.toBe("missing");
    expect(robot.requests).toEqual(["/server", "/server/9"]);
  });

  it("is not missing when it is newer than the list", async () => {
    await client.inventory();
    robot.servers.set(9, { ...METAL, server_number: 9 });
    await expect(client.state(9)).resolves.toBe("running");
  });

  it("is unknown when the account has no servers at all, or refuses", async () => {
    robot.servers.clear();
    await expect(client.state(5)).rejects.toThrow("ROBOT_USER");
    robot.isExhausted = true;
    await expect(
      new RobotClient({ endpoint: robot.url, cacheMs: 1, rateLimitWaitMs: 1, credentials: robot }).state(5),
    ).rejects.toThrow("Rate limit");
  });

  it("is requested once a minute", async () => {
    await client.state(5);
    now += 59_000;
    await client.state(5);
    expect(robot.requests).toEqual(["/server", "/reset/5"]);
  });
});

describe("a response that does not come from Robot", () => {
  /** A server that responds with these texts, and a client for it. */
  async function against(textFor: (path: string) => string) {
    const server = await startServer(({ path }, response) => void response.writeHead(200).end(textFor(path)));
    const credentials = { user: "u", password: "p" };
    const settings = { endpoint: server.url, cacheMs: 300_000, rateLimitWaitMs: 60_000, credentials };
    return { stranger: new RobotClient(settings, () => now), server, [Symbol.asyncDispose]: server.stop };
  }

  it.each([
    ["a proxy's page", "<html>maintenance</html>"],
    ["nothing", ""],
    ["null", "null"],
    ["an object", "{}"],
    ["a list of something else", '[{"ip":{}}]'],
  ])("is an error like others for the list: %s", async (_, body) => {
    await using world = await against(() => body);
    const { stranger, server } = world;
    const first = await stranger.inventory();
    expect(first).toEqual({
      kind: "unreadable",
      reason: "GET /server: the response is not what Robot sends: check ROBOT_ENDPOINT and proxies (invalid_response)",
    });
    now += 29_999;
    await expect(stranger.inventory()).resolves.toEqual(first);
    await expect(stranger.state(5)).rejects.toThrow("ROBOT_ENDPOINT");
    expect(server.received).toHaveLength(1);
    now += 1;
    await stranger.inventory();
    expect(server.received).toHaveLength(2);
  });

  it("costs only the malformed entries of a list", async () => {
    const entries = [METAL, { ...METAL, server_number: "6" }, { ...METAL, dc: null }, { ...METAL, server_ip: 7 }, null];
    const body = JSON.stringify([...entries.map((server) => ({ server })), null, 5]);
    await using world = await against(() => body);
    await expect(world.stranger.inventory()).resolves.toEqual({ kind: "listed", servers: [METAL] });
  });

  it.each([5, 9])("does not make server %d count as running", async (number) => {
    const list = JSON.stringify([{ server: METAL }]);
    await using world = await against((path) => (path === "/server" ? list : "<html>"));
    await expect(world.stranger.state(number)).rejects.toThrow("the response is not what Robot sends");
  });
});
