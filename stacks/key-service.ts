/**
 * The key with which the engine encrypts secrets in a state, handed to it on request. Ours is no secret: nothing
 * encrypted outlives a run. With a passphrase the command line would derive a key at every start, with a million rounds,
 * a third of a second in which nothing else happens; a key service is asked once. It speaks as much of Vault's transit
 * protocol as is asked for: decrypting the stack's own key.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Settings of a stack that asks the service for its key. */
export const KEY_SETTINGS = { secretsProvider: "hashivault://lotse", encryptedKey: "bG90c2U=" } as const;

const ANSWER = JSON.stringify({ data: { plaintext: Buffer.alloc(32).toString("base64") } });

/** Starts the service on a loopback port. Returns the environment with which the command line finds it. */
export async function startKeyService(): Promise<Record<string, string>> {
  const server = createServer((request, response) => {
    const isKnown = request.url === "/v1/transit/decrypt/lotse";
    response.writeHead(isKnown ? 200 : 404, { "content-type": "application/json" }).end(isKnown ? ANSWER : "{}");
  });
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  return { VAULT_ADDR: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
