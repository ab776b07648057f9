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
const TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/** Decides who may read which path. */
export class Access {
  readonly #parts: AccessParts;
  readonly #users = new Remembered<User | undefined>();
  readonly #verdicts = new Remembered<boolean>();
  readonly #reviews = new Limited();

  constructor(parts: AccessParts) {
    this.#parts = parts;
  }

  /** 200 when the caller may read the path, 401 for an invalid credential, 429 when too many ask at once, 403 otherwise. */
  async decide(request: IncomingMessage, path: string): Promise<200 | 401 | 403 | 429> {
    if (this.#parts.config.openPaths.includes(path)) return 200;
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
      if (typeof username === "string") return { username, groups: [groups].flat() };
    }
    const token = /^Bearer (?<token>\S+)$/i.exec(headers.authorization ?? "")?.groups?.token;
    if (token === undefined) return headers.authorization === undefined ? ANONYMOUS : undefined;
    const key = createHash("sha256").update(token).digest("hex");
    return this.#users.get(key, async () => {
      const user = await this.#reviews.run(() => this.#review(token));
      return { value: user, ttlMs: this.#parts.config.tokenTtlMs };
    });
  }

  async #review(token: string): Promise<User | undefined> {
    try {
      const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
      const { status } = await this.#parts.authentication.create<TokenReview>(TOKEN_REVIEWS, review);
      return status?.authenticated ? status.user : undefined;
    } catch (error) {
      this.#parts.log.warn({ error: messageOf(error) }, "token review failed, request denied");
      return undefined;
    }
  }

  #isAllowed(user: User, path: string): Promise<boolean> {
    const { allowedTtlMs, deniedTtlMs } = this.#parts.config;
    return this.#verdicts.get(JSON.stringify([user, path]), async () => {
      const value = await this.#reviews.run(() => this.#ask(user, path));
      return { value, ttlMs: value ? allowedTtlMs : deniedTtlMs };
    });
  }

  async #ask({ username, ...rest }: User, path: string): Promise<boolean> {
    const spec = { user: username, ...rest, nonResourceAttributes: { path, verb: "get" } };
    const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
    try {
      return (await this.#parts.authorization.create<AccessReview>(ACCESS_REVIEWS, review)).status?.allowed ?? false;
    } catch (error) {
      this.#parts.log.warn({ error: messageOf(error) }, "access review failed, request denied");
      return false;
    }
  }
}

interface TokenReview {
  readonly status?: { readonly authenticated?: boolean; readonly user?: User };
}

interface AccessReview {
  readonly status?: { readonly allowed?: boolean };
}

/** Maximum number of cached reviews: a client that tries many tokens must not fill the memory. */
const MEMORY = 1_000;

/** Cached reviews of the API server; concurrent callers share a request. */
class Remembered<T> {
  readonly #entries = new Recent<{ readonly value: Promise<{ value: T; ttlMs: number }>; until: number }>(MEMORY);

  async get(key: string, ask: () => Promise<{ readonly value: T; readonly ttlMs: number }>): Promise<T> {
    const known = this.#entries.get(key);
    if (known && performance.now() < known.until) return (await known.value).value;
    const entry = { value: ask(), until: Number.POSITIVE_INFINITY };
    this.#entries.set(key, entry);
    try {
      const { value, ttlMs } = await entry.value;
      entry.until = performance.now() + ttlMs;
      return value;
    } catch (error) {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      throw error;
    }
  }
}

/** Reviews at the same time, and callers that may wait for one: strangers can ask, and the API server has others to serve. */
const REVIEWS = { most: 10, waiting: 100 };

class TooMany extends Error {}

/** Runs a limited number of reviews at a time. Throws TooMany when too many wait already. */
class Limited {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  async run<T>(review: () => Promise<T>): Promise<T> {
    if (this.#waiting.length >= REVIEWS.waiting) throw new TooMany();
    if (this.#running < REVIEWS.most) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await review();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
