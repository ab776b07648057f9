import type { Project } from "../state/project.ts";

/** A request that passed transport, as handlers see it. `ids` are the numbers in the path, left to right. */
export interface Call {
  readonly project: Project;
  readonly url: URL;
  readonly query: URLSearchParams;
  readonly ids: readonly number[];
  readonly body: unknown;
}

/** What to send back; no body means an empty answer. */
export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly links?: string;
  /** Plain text instead of JSON. */
  readonly text?: string;
  /** The error code of a refusal, for the journal. */
  readonly code?: string;
}

/** Methods the API knows; any other is 405 on a known path. */
export type Method = "GET" | "POST" | "PUT" | "DELETE";

/** One line of the API: `/networks/{id}/actions/{action}` with every number written as `{}`. */
export interface Route {
  readonly method: Method;
  readonly path: string;
  readonly handle: (call: Call) => Answer;
}

/** Where a path leads: the methods it has, and the numbers in it. */
export interface Match {
  readonly path: string;
  readonly ids: readonly number[];
  readonly methods: ReadonlyMap<string, Route>;
}

/** Finds routes by shape: numbers in a path become `{}`, so a lookup is one map access. */
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
    const ids: number[] = [];
    const path = pathname.replace(/\/(\d+)(?=\/|$)/g, (_, digits: string) => {
      ids.push(Number(digits));
      return "/{}";
    });
    const methods = this.#paths.get(path);
    return methods && { path, ids, methods };
  }
}

/** The n-th number of the path; the router has counted them. */
export function idAt(call: Call, index: number): number {
  return call.ids[index] ?? 0;
}
