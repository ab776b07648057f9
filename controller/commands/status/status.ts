/** `lotse status`: shows the status of the cluster, once or live. */

import { messageOf } from "../../diagnostics/errors.ts";
import { forPeople, jsonText, oneLine } from "../../diagnostics/printable.ts";
import { parseStored } from "../../guard/approval.ts";
import type { Ages } from "../../hcloud/view.ts";
import { OwnConfigMap } from "../../kube/config-map.ts";
import { parseStatus, STATUS } from "../../record/status-board.ts";
import type { Given } from "../command-line.ts";
import { readLease } from "../departure/sole-writer.ts";
import { commandConfig, open, planOf, type Session } from "../open.ts";
import { paintFor } from "../paint.ts";
import { showLive } from "./live.ts";
import { statusText } from "./status-text.ts";
import { type ClusterStatus, renderStatus } from "./status-view.ts";

const REDRAW_MS = 2_000;
/** Maximum ages for a live view, which must leave the project's rate limit to others: a few hundred requests an hour. */
const AGES: Ages = { servers: 30_000, loadBalancers: 10_000, certificates: 600_000, network: 30_000 };

/** Prints the status, or shows it live in a terminal. */
export async function status({ flags }: Given): Promise<void> {
  await using session = await open(commandConfig(flags, process.env), { level: "error" });
  const paint = paintFor(process.stdout);
  const render = async () => {
    const current = await readStatus(session);
    return flags.json ? jsonText(current) : statusText(forPeople(current), paint);
  };
  if (!process.stdout.isTTY || flags.once || flags.json) {
    process.stdout.write(await render());
    return;
  }
  const renderOrExplain = () => render().catch((error: unknown) => `lotse: ${oneLine(messageOf(error))}\n`); // retried
  await showLive(process.stdout, renderOrExplain, { everyMs: REDRAW_MS, signal: untilInterrupted() });
}

/** Ctrl-C ends a live view; it is not a failure. */
function untilInterrupted(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => controller.abort());
  return controller.signal;
}

async function readStatus(session: Session): Promise<ClusterStatus> {
  const { client, config, gateway } = session;
  const [snapshot, lease, planned, board] = await Promise.all([
    session.observe(AGES),
    readLease(client, config),
    new OwnConfigMap(client, config, "plan").read(),
    new OwnConfigMap(client, config, "status").read(),
  ]);
  const { plan: pending, approval } = parseStored(planned);
  const controller = parseStatus(board[STATUS]);
  return renderStatus({
    cluster: config.clusterName,
    ...planOf(snapshot, session),
    ...(lease && { lease }),
    ...(pending && !approval && { pending }),
    ...(controller && { controller }),
    budget: gateway.budget,
  });
}
