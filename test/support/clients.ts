/** Clients that send requests to a Service continuously, and count the results. */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { responseTo } from "./http-client.ts";

/** The address of a Service. With a certificate, https is used and only this certificate is accepted. */
export interface Place {
  readonly host: string;
  readonly port: number;
  readonly tls?: { readonly servername: string; readonly ca: string };
}

export interface Failure {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly error: string;
}

const TIMEOUT_MS = 20_000;
const PAUSE_MS = 100;

/** Sends one request over a new connection and returns the text. Rejects unless it succeeds. */
export async function ask({ host, port, tls }: Place): Promise<string> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const options = { host, port, path: "/", agent: false, headers: { connection: "close" }, signal };
  // Trusts this certificate only, whatever its issuer.
  const request = tls ? httpsRequest({ ...options, ...tls, allowPartialTrustChain: true }) : httpRequest(options);
  const { status, body } = await responseTo(request);
  if (status !== 200) throw new Error(`status ${status}`);
  return body.trim();
}

/** Clients of one Service, which run until they are stopped. */
export class Clients implements AsyncDisposable {
  readonly #asking: readonly Promise<void>[];
  readonly failures: Failure[] = [];
  /** The number of responses by text. */
  readonly answers = new Map<string, number>();
  #isStopped = false;

  constructor(place: Place, count = 20) {
    this.#asking = Array.from({ length: count }, () => this.#askOn(place));
  }

  /** Resets all counts. */
  forget(): void {
    this.failures.length = 0;
    this.answers.clear();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#asking);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #askOn(place: Place): Promise<void> {
    while (!this.#isStopped) {
      const startedAt = performance.now();
      try {
        const answer = await ask(place);
        this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
      } catch (error) {
        this.failures.push({ startedAt, endedAt: performance.now(), error: String(error) });
      }
      await delay(PAUSE_MS);
    }
  }
}
