/** Metrics of load balancers and servers, all zero. */
import { invalidField } from "../api/errors.ts";
import { type Kind, pluralOf, rowIn } from "../api/resource.ts";
import type { Answer, Call, Route } from "../api/route.ts";
import type { Row } from "../state/table.ts";
import { loadBalancerKind } from "./load-balancers.ts";
import { serverKind } from "./servers.ts";

/** Series by metric type. All values are zero; only the shape matters. */
const BALANCER_SERIES = {
  open_connections: ["open_connections"],
  connections_per_second: ["connections_per_second"],
  requests_per_second: ["requests_per_second"],
  bandwidth: ["bandwidth.in", "bandwidth.out"],
} as const;

const SERVER_SERIES = {
  cpu: ["cpu"],
  disk: ["disk.0.iops.read", "disk.0.iops.write", "disk.0.bandwidth.read", "disk.0.bandwidth.write"],
  network: ["network.0.pps.in", "network.0.pps.out", "network.0.bandwidth.in", "network.0.bandwidth.out"],
} as const;

const MAX_SAMPLES = 500;

function metricsRoute<R extends Row, V>(kind: Kind<R, V>, series: Readonly<Record<string, readonly string[]>>): Route {
  const handle = (call: Call): Answer => {
    rowIn(kind, call);
    const types = call.query.getAll("type").flatMap((text) => text.split(","));
    if (types.length === 0 || !types.every((type) => Object.hasOwn(series, type))) {
      throw invalidField("type", `Must be one of ${Object.keys(series).join(", ")}.`);
    }
    const [start, end] = [timeOf(call.query, "start"), timeOf(call.query, "end")];
    if (end < start) throw invalidField("end", "Must not be before start.");
    const step = stepOf(call.query, end - start);
    const times = Array.from(
      { length: Math.floor((end - start) / 1000 / step) + 1 },
      (_, n) => start / 1000 + n * step,
    );
    const values = times.map((time) => [time, "0"]);
    const names = types.flatMap((type) => series[type] ?? []);
    const time_series = Object.fromEntries(names.map((name) => [name, { values }]));
    const [from, to] = [start, end].map((ms) => new Date(ms).toISOString());
    return { status: 200, body: { metrics: { start: from, end: to, step, time_series } } };
  };
  return { method: "GET", path: `/${pluralOf(kind)}/{}/metrics`, handle };
}

function timeOf(query: URLSearchParams, parameter: string): number {
  const ms = Date.parse(query.get(parameter) ?? "");
  if (Number.isNaN(ms)) throw invalidField(parameter, "Must be an ISO 8601 time.");
  return ms;
}

/** Seconds between samples: the requested step, unless it is absent or gives too many samples. */
function stepOf(query: URLSearchParams, spanMs: number): number {
  const wanted = Number(query.get("step") ?? 0);
  if (!Number.isFinite(wanted) || wanted < 0) throw invalidField("step", "Must be a number of seconds.");
  return Math.max(1, Math.ceil(wanted), Math.ceil(spanMs / 1000 / MAX_SAMPLES));
}

/** Metrics of load balancers and servers. */
export const metricsRoutes: readonly Route[] = [
  metricsRoute(loadBalancerKind, BALANCER_SERIES),
  metricsRoute(serverKind, SERVER_SERIES),
];
