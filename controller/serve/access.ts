/** Authentication and authorization of the HTTPS port, delegated to the API server as in all Kubernetes components. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import type { SecureConfig } from "../config/config.ts";
import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { KubeClient } from "../kube/client.ts";
import { Recent } from "../work/recent.ts";

interface User {
  readonly username: string;
  readonly groups?: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

interface AccessParts {
  readonly authentication: Pick<KubeClient, "create">;
  readonly authorization: Pick<KubeClient, "create">;
  readonly config: Pick<SecureConfig, "openPaths" | "tokenTtlMs" | "allowedTtlMs" | "deniedTtlMs">;
  readonly log: Logger;
}

const ANONYMOUS: User = { username: "system:anonymous", groups: ["system:unauthenticated"] };
/** The group that Kubernetes adds to every authenticated user. A TokenReview returns it, a certificate does not carry it. */
const AUTHENTICATED = "system:authenticated";
const TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/** Decides who may read which path. */
export class Access {
  readonly #parts: AccessParts;
  readonly #users = cached<User | undefined>();
  readonly #verdicts = cached<boolean>();
  readonly #limit = limited();

  constructor(parts: AccessParts) {
    this.#parts = parts;
  }

  /** 200 when the caller may read the path, 401 for an invalid credential, 429 when too many ask at once, 403 otherwise. */
  async decide(request: IncomingMessage, path: string): Promise<200 | 401 | 403 | 429> {
    if (this.#parts.config.openPaths.some((open) => covers(open, path))) return 200;
    try {
      const user = await this.#userOf(request);
      if (!user) return 401;
      if (user.groups?.includes("system:masters")) return 200;
      return (await this.#isAllowed(user, path)) ? 200 : 403;
    } catch (error) {
      if (error instanceof TooMany) return 429;
      throw error;
    }
  }

  async #userOf({ headers, socket }: IncomingMessage): Promise<User | undefined> {
    if (socket instanceof TLSSocket && socket.authorized) {
      const { CN: username, O: groups = [] } = socket.getPeerCertificate().subject ?? {};
      if (typeof username === "string") return { username, groups: [...new Set([groups, AUTHENTICATED].flat())] };
    }
    const token = /^Bearer (?<token>\S+)$/i.exec(headers.authorization ?? "")?.groups?.token;
    if (token === undefined) return headers.authorization === undefined ? ANONYMOUS : undefined;
    const key = createHash("sha256").update(token).digest("hex");
    return this.#users(key, async () => {
      const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
      const reviewed = await this.#review("token", TOKEN_REVIEWS, review);
      const ttlMs = reviewed ? this.#parts.config.tokenTtlMs : NOT_KEPT_MS;
      return { value: reviewed?.authenticated ? reviewed.user : undefined, ttlMs };
    });
  }

  #isAllowed(user: User, path: string): Promise<boolean> {
    const { allowedTtlMs, deniedTtlMs } = this.#parts.config;
    return this.#verdicts(JSON.stringify([user, path]), async () => {
      const { username, ...rest } = user;
      const spec = { user: username, ...rest, nonResourceAttributes: { path, verb: "get" } };
      const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
      const reviewed = await this.#review("access", ACCESS_REVIEWS, review);
      const value = reviewed?.allowed ?? false;
      return { value, ttlMs: value ? allowedTtlMs : reviewed ? deniedTtlMs : NOT_KEPT_MS };
    });
  }

  /** What the API server says; undefined, which denies the request, when it does not. */
  #review(what: "token" | "access", path: string, review: object): Promise<ReviewStatus | undefined> {
    const { authentication, authorization, log } = this.#parts;
    const client = what === "token" ? authentication : authorization;
    return this.#limit(async () => {
      try {
        return (await client.create<{ readonly status?: ReviewStatus }>(path, review)).status;
      } catch (error) {
        log.warn({ error: messageOf(error) }, `${what} review failed, request denied`);
        return undefined;
      }
    });
  }
}

/** A review that failed says nothing about the next one. */
const NOT_KEPT_MS = 0;

/** Whether a path is one of those that need no review: the same, or one with the beginning before a `*`. */
function covers(open: string, path: string): boolean {
  return open.endsWith("*") ? path.startsWith(open.slice(0, -1)) : path === open;
}

/** The result of a TokenReview or a SubjectAccessReview. */
interface ReviewStatus {
  readonly authenticated?: boolean;
  readonly user?: User;
  readonly allowed?: boolean;
}

/** Maximum number of cached reviews: a client that tries many tokens must not fill the memory. */
const MEMORY = 1_000;

/** A cache of reviews, each with its own maximum age; concurrent callers share a request. */
function cached<T>() {
  const entries = new Recent<{ readonly review: Promise<{ value: T; ttlMs: number }>; until: number }>(MEMORY);
  return async (key: string, ask: () => Promise<{ readonly value: T; readonly ttlMs: number }>): Promise<T> => {
    const known = entries.get(key);
    if (known && performance.now() < known.until) return (await known.review).value;
    const entry = { review: ask(), until: Number.POSITIVE_INFINITY };
    entries.set(key, entry);
    try {
      const { value, ttlMs } = await entry.review;
      entry.until = performance.now() + ttlMs;
      return value;
    } catch (error) {
      if (entries.get(key) === entry) entries.delete(key);
      throw error;
    }
  };
}

/** Reviews at the same time, and callers that may wait for one: strangers can ask, and the API server has others to serve. */
const REVIEWS = { most: 10, waiting: 100 };

class TooMany extends Error {}

/** Runs a limited number of reviews at a time. Throws TooMany when too many wait already. */
function limited() {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async <T>(review: () => Promise<T>): Promise<T> => {
    if (waiting.length >= REVIEWS.waiting) throw new TooMany();
    if (running < REVIEWS.most) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await review();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
