/** Reads of the Hetzner API. Nothing is changed from here: that is the stacks' business. */
import { CloudError } from "../../controller/diagnostics/errors.ts";
import { Upstream } from "../../controller/hcloud/upstream.ts";
import packageJson from "../../package.json" with { type: "json" };
import type { Pricing } from "./cost.ts";
import type { Listed, Listing } from "./listing.ts";

/** Where the API is, and the token for it. */
export interface CloudAccess {
  readonly endpoint: string;
  readonly token: string;
}

const TIMEOUT_MS = 30_000;

interface Page {
  readonly meta: { readonly pagination: { readonly next_page: number | null } };
}

export class CloudApi implements Disposable {
  readonly #upstream: Upstream;

  constructor({ endpoint, token }: CloudAccess) {
    const userAgent = `lotse-dev-env/${packageJson.version}`;
    this.#upstream = new Upstream({ endpoint, token: () => token, userAgent, timeoutMs: TIMEOUT_MS });
  }

  /** A whole collection, as far as the label selector matches. */
  readonly list = async (collection: keyof Listing, selector: string): Promise<readonly Listed[]> => {
    const found: Listed[] = [];
    for (let page: number | null = 1; page !== null; ) {
      const query = `label_selector=${encodeURIComponent(selector)}&page=${page}&per_page=50`;
      const answer: Page & Record<string, readonly Listed[]> = await this.#read(`/${collection}?${query}`);
      found.push(...(answer[collection] ?? []));
      page = answer.meta.pagination.next_page;
    }
    return found;
  };

  async pricing(): Promise<Pricing> {
    return (await this.#read<{ pricing: Pricing }>("/pricing")).pricing;
  }

  [Symbol.dispose](): void {
    this.#upstream.close();
  }

  async #read<T>(path: string): Promise<T> {
    const { status, body } = await this.#upstream.send({ method: "GET", path }, "dev-env");
    if (status < 300) return JSON.parse(body) as T;
    const { code, message } = parseError(body);
    throw new CloudError(`GET ${path}`, status, code, status === 401 ? `${message}: check HCLOUD_TOKEN` : message);
  }
}

function parseError(body: string): { readonly code: string; readonly message: string } {
  try {
    return (JSON.parse(body) as { error: { code: string; message: string } }).error;
  } catch {
    return { code: "unknown", message: body.slice(0, 200) || "no reason given" }; // a proxy's page, not the API's answer
  }
}
