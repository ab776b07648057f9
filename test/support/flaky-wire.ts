/** The wire between a controller and the API server, which can be cut, be slow, and fall silent without anybody noticing. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";

export interface FlakyWire extends AsyncDisposable {
  readonly port: number;
  /** Ends every connection there is. */
  drop(): void;
  /** As `drop`, for new connections too, until it is called with false. */
  cut(isCut: boolean): void;
  /** Connections that exist now stay open and carry nothing any more; new ones are fine. */
  silence(): void;
  /** As `silence`, for new connections too, until it is called with false; those stay silent for ever. */
  silenceAll(isSilent: boolean): void;
  /** Everything takes this much longer, in each direction. */
  delay(ms: number): void;
}

type Pair = readonly [near: Socket, far: Socket];

/** Starts one in front of a port on loopback. */
export async function startFlakyWire(target: number): Promise<FlakyWire> {
  const talking = new Set<Pair>();
  const silent = new Set<Pair>();
  let state: "fine" | "cut" | "silent" = "fine";
  let delayMs = 0;

  const carry = (pair: Pair, from: Socket, to: Socket) => {
    let line: Promise<unknown> = Promise.resolve();
    from.on("data", (chunk: Buffer) => {
      line = Promise.all([line, delayMs > 0 && setTimeout(delayMs)]).then(() => talking.has(pair) && to.write(chunk));
    });
    const end = () => {
      if (talking.delete(pair)) for (const socket of pair) socket.destroy();
    };
    from.on("error", end).on("close", () => void line.then(end)); // behind what is still on its way
  };
  const server = createServer((near) => {
    if (state === "cut") {
      near.destroy();
      return;
    }
    const pair: Pair = [near, connect(target, "127.0.0.1")];
    (state === "silent" ? silent : talking).add(pair);
    carry(pair, pair[0], pair[1]);
    carry(pair, pair[1], pair[0]);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const drop = () => {
    for (const pair of [...talking, ...silent]) for (const socket of pair) socket.destroy();
    talking.clear();
    silent.clear();
  };
  const silence = () => {
    for (const pair of talking) silent.add(pair);
    talking.clear();
  };
  return {
    port: (server.address() as AddressInfo).port,
    drop,
    cut: (isCut) => {
      state = isCut ? "cut" : "fine";
      if (isCut) drop();
    },
    silence,
    silenceAll: (isSilent) => {
      state = isSilent ? "silent" : "fine";
      if (isSilent) silence();
    },
    delay: (ms) => {
      delayMs = ms;
    },
    [Symbol.asyncDispose]: async () => {
      drop();
      server.close();
      await once(server, "close");
    },
  };
}
