/** Routes of the API, and the router that finds them. */
import type { Project } from "../state/project.ts";

/**
 * A request as handlers see it. `ids` are the numbers in the path, from left to right. `names` are the texts that it has
 * instead where zones and record sets are named; the id of a zone that is given by name is NaN.
 */
export interface Call {
  readonly project: Project;
  readonly url: URL;
  readonly query: URLSearchParams;
  readonly ids: readonly number[];
  readonly names: readonly string[];
  readonly body: unknown;
}

/** A response; without a body it is empty. */
export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly links?: string;
  /** Plain text instead of JSON. */
  readonly text?: string;
  /** The code of an error response, for the journal. */
  readonly code?: string;
}

/** Methods of the API. */
export type Method = "GET" | "POST" | "PUT" | "DELETE";

/** One method and path. Every number and name in the path is written as `{}`. */
export interface Route {
  readonly method: Method;
  readonly path: string;
  readonly handle: (call: Call) => Answer;
}

/** A path in the notation of routes, with the numbers and names in it. */
export interface RoutePath {
  readonly path: string;
  readonly ids: readonly number[];
  readonly names: readonly string[];
}

/** A zone by id or name, and the name and type of a record set. */
const ZONE_PATH = /^\/zones\/(?!actions(?:\/|$))([^/]+)(?:(\/rrsets)\/([^/]+)\/([^/]+))?/;

/** Replaces numbers and names in a path with `{}`. */
export function routePath(pathname: string): RoutePath {
  const ids: number[] = [];
  const names: string[] = [];
  const unnamed = pathname.replace(ZONE_PATH, (_, zone: string, rrsets: string | undefined, ...set: string[]) => {
    names.push(decoded(zone), ...(rrsets === undefined ? [] : set.slice(0, 2).map(decoded)));
    ids.push(/^\d+$/.test(zone) ? Number(zone) : Number.NaN);
    return rrsets === undefined ? "/zones/{}" : "/zones/{}/rrsets/{}/{}";
  });
  const path = unnamed.replace(/\/(\d+)(?=\/|$)/g, (_, digits: string) => {
    ids.push(Number(digits));
    return "/{}";
  });
  return { path, ids, names };
}

/** A segment without percent signs; as it is, if they encode nothing. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The methods of a path, and the numbers and names in it. */
export interface Match extends RoutePath {
  readonly methods: ReadonlyMap<string, Route>;
}

/** Finds routes by replacing numbers and names in the path with `{}`, so that a lookup is one map access. */
export class Router {
  readonly #paths = new Map<string, Map<string, Route>>();

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const methods = this.#paths.get(route.path) ?? new Map<string, Route>();
      if (methods.has(route.method)) throw new Error(`route defined twice: ${route.method} ${route.path}`);
      this.#paths.set(route.path, methods.set(route.method, route));
    }
  }

  match(pathname: string): Match | undefined {
    const found = routePath(pathname);
    const methods = this.#paths.get(found.path);
    return methods && { ...found, methods };
  }
}

/** The n-th number in the path. The router guarantees that it exists. */
export function idAt(call: Call, index: number): number {
  return call.ids[index] ?? 0;
}
