/**
 * The key with which the engine encrypts secrets in a state, handed to it on request. Ours is no secret: nothing
 * encrypted outlives a run. With a passphrase the command line would derive a key at every start, with a million rounds,
 * a third of a second in which nothing else happens; a key service is asked once. It speaks as much of Vault's transit
 * protocol as is asked for: decrypting the stack's own key.
 *
 * The command line asks after its own start and before it reads the state. So whoever holds the key back has a command
 * line that is ready and knows nothing yet.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Settings of a stack that asks the service for its key. */
export const KEY_SETTINGS = { secretsProvider: "hashivault://lotse", encryptedKey: "bG90c2U=" } as const;

const ANSWER = JSON.stringify({ data: { plaintext: Buffer.alloc(32).toString("base64") } });

export class KeyService {
  readonly #server: Server;
  #release = Promise.withResolvers<void>();

  constructor() {
    this.#server = createServer(async (request, response) => {
      await this.#release.promise;
      const isKnown = request.url === "/v1/transit/decrypt/lotse";
      response.writeHead(isKnown ? 200 : 404, { "content-type": "application/json" }).end(isKnown ? ANSWER : "{}");
    });
  }

  /** Starts it on a loopback port. It holds the key back at first. */
  async start(): Promise<void> {
    this.#server.listen(0, "127.0.0.1").unref();
    await once(this.#server, "listening");
  }

  /** The environment with which the command line finds it. */
  get environment(): Record<string, string> {
    return { VAULT_ADDR: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}` };
  }

  /** Whoever asks from now on waits. */
  hold(): void {
    this.#release = Promise.withResolvers();
  }

  /** Answers whoever waits, and all others until the next `hold`. */
  release(): void {
    this.#release.resolve();
  }
}
