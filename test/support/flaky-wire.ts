/** The wire between a controller and the API server, which can be cut, and can fall silent without anybody noticing. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface FlakyWire extends AsyncDisposable {
  readonly port: number;
  /** Ends every connection there is. */
  drop(): void;
  /** Connections that exist now stay open and carry nothing any more; new ones are fine. */
  silence(): void;
  /** As `silence`, for new connections too, until it is called with false. */
  silenceAll(isSilent: boolean): void;
}

/** Starts one in front of a port on loopback. */
export async function startFlakyWire(target: number): Promise<FlakyWire> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let swallowsAll = false;
  const server = createServer((near) => {
    const far = connect(target, "127.0.0.1");
    const pair = [near, far] as const;
    pairs.add(pair);
    const end = () => {
      near.destroy();
      far.destroy();
      pairs.delete(pair);
    };
    for (const [from, to] of [pair, [far, near] as const]) {
      from.on("data", (chunk: Buffer) => {
        if (!swallowsAll && pairs.has(pair)) to.write(chunk);
      });
      from.on("error", end).on("close", () => {
        if (pairs.has(pair)) end();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const silent = new Set<readonly [Socket, Socket]>();
  return {
    port: (server.address() as AddressInfo).port,
    drop: () => {
      for (const [near, far] of pairs) {
        near.destroy();
        far.destroy();
      }
    },
    silence: () => {
      for (const pair of pairs) {
        silent.add(pair);
        pairs.delete(pair); // nothing is passed on, and nobody is told
      }
    },
    silenceAll: (isSilent) => {
      swallowsAll = isSilent;
    },
    [Symbol.asyncDispose]: async () => {
      for (const [near, far] of [...pairs, ...silent]) {
        near.destroy();
        far.destroy();
      }
      server.close();
      await once(server, "close");
    },
  };
}
