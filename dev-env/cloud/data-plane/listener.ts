/** What all listeners share: opening and closing a socket. */
import type { Server } from "node:net";
import type { ListenerPlan } from "./plan.ts";

/** An open socket of a load balancer. */
export interface Listener {
  close(): Promise<void>;
}

/** Opens the socket of a plan. Rejects if address or port are unavailable. */
export async function listen(server: Server, { host, port }: ListenerPlan): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** Stops listening. Connections must have been closed before. */
export async function shut(server: Server): Promise<void> {
  await new Promise<void>((resolve) => server.close(() => resolve()));
}
