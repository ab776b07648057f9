/** `lotse status`: how the cluster stands, once or as it changes. */
import { parseStored } from "../cluster/approval.ts";
import { renderCluster } from "../cluster/desired.ts";
import { guard } from "../cluster/guard.ts";
import { planRun } from "../cluster/plan.ts";
import type { Given } from "../command-line.ts";
import type { Config } from "../config.ts";
import { KubeError, messageOf } from "../errors.ts";
import type { Ages } from "../hcloud/view.ts";
import { type KubeClient, paths } from "../kube/client.ts";
import { OwnConfigMap } from "../kube/config-map.ts";
import type { LeaseObject } from "../kube/lease.ts";
import { createLogger } from "../log.ts";
import { forPeople, jsonText, oneLine } from "../printable.ts";
import { parseStatus, STATUS } from "../record/status-board.ts";
import { textOf } from "./cluster-access.ts";
import { showLive } from "./live.ts";
import { commandConfig, type Outlook, openOutlook } from "./observe.ts";
import { paintFor } from "./paint.ts";
import { statusText } from "./status-text.ts";
import { type ClusterStatus, renderStatus } from "./status-view.ts";

const REDRAW_MS = 2_000;
/** A live view must not eat the project's requests: a few hundred in an hour. */
const AGES: Ages = { servers: 30_000, loadBalancers: 10_000, certificates: 600_000, network: 30_000 };

export async function status({ flags }: Given): Promise<void> {
  await using ends = new AsyncDisposableStack();
  const config = commandConfig({ ...flags, "leader-elect": true }, process.env);
  const placed = { ...config, namespace: textOf(flags.namespace) ?? config.namespace };
  const outlook = await openOutlook(placed, await createLogger({ format: "text", level: "error" }), ends);
  const paint = paintFor(process.stdout, process.env);
  const look = async () => {
    const view = await lookAt(placed, outlook);
    return flags.json ? jsonText(view) : statusText(forPeople(view), paint);
  };
  if (!process.stdout.isTTY || flags.once || flags.json) {
    process.stdout.write(await look());
    return;
  }
  const lookAnyhow = () => look().catch((error: unknown) => `lotse: ${oneLine(messageOf(error))}\n`); // the next may go well
  await showLive(process.stdout, lookAnyhow, { everyMs: REDRAW_MS, signal: untilInterrupted() });
}

/** Ctrl-C is how a live view ends, and no failure. */
function untilInterrupted(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => controller.abort());
  return controller.signal;
}

/** How things stand now. */
export async function lookAt(config: Config, { client, gateway, options, look }: Outlook): Promise<ClusterStatus> {
  const [snapshot, lease, planned, board] = await Promise.all([
    look(AGES),
    readLease(client, config),
    new OwnConfigMap(client, config, "plan").read(),
    new OwnConfigMap(client, config, "status").read(),
  ]);
  const desired = renderCluster(snapshot, options);
  const { plan, stopped } = guard(planRun(desired), Object.keys(desired.present).length, config.guard);
  const { plan: pending, approval } = parseStored(planned);
  const controller = parseStatus(board[STATUS]);
  return renderStatus({
    cluster: config.clusterName,
    snapshot,
    desired,
    plan,
    ...(stopped !== undefined && { heldBack: stopped }),
    ...(lease && { lease }),
    ...(pending && !approval && { pending }),
    ...(controller && { controller }),
    budget: gateway.budget,
  });
}

/** The Lease of the controller that leads; nothing where there is none. */
export async function readLease(client: KubeClient, { lease }: Config): Promise<LeaseObject | undefined> {
  if (!lease) return undefined;
  try {
    return await client.get<LeaseObject>(paths.lease(lease.namespace, lease.name));
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return undefined;
    throw error;
  }
}
