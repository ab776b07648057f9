import type { Server } from "node:net";
import type { ListenerPlan } from "./plan.ts";

/** A socket a balancer listens on. */
export interface Listener {
  close(): Promise<void>;
}

/** Opens the socket of a plan; rejects when the address or port cannot be had. */
export async function listen(server: Server, { host, port }: ListenerPlan): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** Stops listening; connections must have been ended before. */
export async function shut(server: Server): Promise<void> {
  await new Promise<void>((resolve) => server.close(() => resolve()));
}
