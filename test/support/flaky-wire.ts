/** A TCP proxy in front of the API server that can drop, delay and silence connections. */
import { connect, createServer, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { closeServer, listen } from "../../dev-env/cluster/loopback.ts";

export interface FlakyWire extends AsyncDisposable {
  readonly port: number;
  /** Closes all connections. */
  drop(): void;
  /** Closes all connections, including new ones, until called with false. */
  cut(isCut: boolean): void;
  /** Makes existing connections half-open: they stay open, but carry no data. New ones work. */
  silence(): void;
  /** Makes all connections half-open, including new ones, until called with false. They stay so forever. */
  silenceAll(isSilent: boolean): void;
  /** Number of silent connections that the client has not given up yet. */
  readonly halfOpen: number;
  /** Delay in each direction. */
  delay(ms: number): void;
}

type Pair = readonly [near: Socket, far: Socket];

/** Starts a proxy in front of a loopback port. */
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
    from.on("error", end).on("close", () => void line.then(end)); // after data in flight
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
  const port = await listen(server);

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
    port,
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
    get halfOpen() {
      return [...silent].filter(([near]) => !near.closed).length;
    },
    delay: (ms) => {
      delayMs = ms;
    },
    [Symbol.asyncDispose]: () => {
      drop();
      return closeServer(server);
    },
  };
}
