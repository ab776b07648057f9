/**
 * A fake Vault server that gives the command line the stack's encryption key. It implements one request of Vault's
 * transit protocol, decrypting that key, for two reasons:
 *
 * - A passphrase would cost a third of a second at every start, for a million rounds of key derivation. The key need
 *   not be secret, because nothing encrypted outlives a run.
 * - The command line asks for the key after its start and before it reads the state. Holding back the response keeps a
 *   started command line waiting for its request.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Stack settings that make the command line ask this service. */
export const KEY_SETTINGS = { secretsProvider: "hashivault://lotse", encryptedKey: "bG90c2U=" } as const;

const ANSWER = JSON.stringify({ data: { plaintext: Buffer.alloc(32).toString("base64") } });

/** The server, with a gate that holds responses back. */
export class KeyService {
  readonly #server: Server;
  readonly #release = Promise.withResolvers<void>();

  constructor() {
    this.#server = createServer(async (request, response) => {
      await this.#release.promise;
      const isKnown = request.url === "/v1/transit/decrypt/lotse";
      response.writeHead(isKnown ? 200 : 404, { "content-type": "application/json" }).end(isKnown ? ANSWER : "{}");
    });
  }

  /** Listens on a loopback port. Responses are held back until `release`. */
  async start(): Promise<void> {
    this.#server.listen(0, "127.0.0.1").unref();
    await once(this.#server, "listening");
  }

  /** Variables with which the command line finds the service. */
  get environment(): Record<string, string> {
    return { VAULT_ADDR: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}` };
  }

  /** Sends the held responses, and answers at once from now on. */
  release(): void {
    this.#release.resolve();
  }
}
