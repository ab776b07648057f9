/** The API for dedicated servers (Robot) on loopback. */
import { createServer, type IncomingMessage } from "node:http";
import { closeServer, listen } from "../../cluster/loopback.ts";

/** A dedicated server. `power` is its status according to the management board. */
export interface DedicatedServer {
  readonly server_number: number;
  readonly server_name: string;
  readonly server_ip: string | null;
  readonly server_ipv6_net: string | null;
  readonly product: string;
  readonly dc: string;
  readonly power?: "running" | "shut off" | "not supported";
}

/** A running Robot API, with the parts that controllers read. */
export interface Robot {
  /** The value of `ROBOT_ENDPOINT`. */
  readonly url: string;
  readonly user: string;
  readonly password: string;
  /** All servers, which tests may change. */
  readonly servers: Map<number, DedicatedServer>;
  /** Paths of all requests. */
  readonly requests: readonly string[];
  /** While true, all requests exceed the rate limit. */
  isExhausted: boolean;
  /** While true, all requests fail. */
  isBroken: boolean;
  stop(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Starts a Robot API without servers. */
export async function startRobot(): Promise<Robot> {
  const requests: string[] = [];
  const robot = {
    user: "#ws+user",
    password: "secret",
    servers: new Map<number, DedicatedServer>(),
    requests,
    isExhausted: false,
    isBroken: false,
  };
  const server = createServer((request, response) => {
    requests.push(request.url ?? "");
    const { status, body } = answer(robot, request);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  const port = await listen(server);
  const stop = () => closeServer(server);
  return Object.assign(robot, { url: `http://127.0.0.1:${port}`, stop });
}

function answer(robot: Omit<Robot, "url" | "stop">, { url = "", method, headers }: IncomingMessage): Answer {
  const basic = Buffer.from(`${robot.user}:${robot.password}`).toString("base64");
  if (headers.authorization !== `Basic ${basic}`) return refuse(401, "UNAUTHORIZED", "Unauthorized");
  if (robot.isBroken) return refuse(500, "INTERNAL_ERROR", "Internal error");
  if (robot.isExhausted) return refuse(403, "RATE_LIMIT_EXCEEDED", "Rate limit exceeded");
  if (method !== "GET") return refuse(405, "METHOD_NOT_ALLOWED", "Method not allowed");
  const [, kind, number] = /^\/(server|reset)(?:\/(\d+))?$/.exec(url) ?? [];
  if (kind === "server" && number === undefined) return list([...robot.servers.values()]);
  const server = robot.servers.get(Number(number));
  if (!kind || !server) return refuse(404, "SERVER_NOT_FOUND", "Server not found");
  if (kind === "server") return { status: 200, body: { server: view(server) } };
  const { server_ip, server_number, power = "running" } = server;
  return { status: 200, body: { reset: { server_ip, server_number, type: ["hw"], operating_status: power } } };
}

/** A list response. In this API an empty list is an error. */
function list(servers: readonly DedicatedServer[]): Answer {
  if (servers.length === 0) return refuse(404, "SERVER_NOT_FOUND", "No server found");
  return { status: 200, body: servers.map((server) => ({ server: view(server) })) };
}

function view({ power: _, ...server }: DedicatedServer): object {
  return { ...server, traffic: "unlimited", status: "ready", cancelled: false, paid_until: "2099-01-01" };
}

function refuse(status: number, code: string, message: string): Answer {
  return { status, body: { error: { status, code, message } } };
}
