/** Routes of the API, and the router that finds them. */
import type { Project } from "../state/project.ts";

/** A request as handlers see it. `ids` are the numbers in the path, from left to right. */
export interface Call {
  readonly project: Project;
  readonly url: URL;
  readonly query: URLSearchParams;
  readonly ids: readonly number[];
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

/** One method and path. Every number in the path is written as `{}`. */
export interface Route {
  readonly method: Method;
  readonly path: string;
  readonly handle: (call: Call) => Answer;
}

/** The methods of a path, and the numbers in it. */
export interface Match {
  readonly path: string;
  readonly ids: readonly number[];
  readonly methods: ReadonlyMap<string, Route>;
}

/** Finds routes by replacing numbers in the path with `{}`, so that a lookup is one map access. */
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

/** The n-th number in the path. The router guarantees that it exists. */
export function idAt(call: Call, index: number): number {
  return call.ids[index] ?? 0;
}
