/** `lotse status`: shows the status of the cluster, once or live. */

import { ifAllowed, messageOf } from "../../diagnostics/errors.ts";
import { paintFor } from "../../diagnostics/paint.ts";
import { forPeople, jsonText, oneLine } from "../../diagnostics/printable.ts";
import { parsePending } from "../../guard/approval.ts";
import type { Ages } from "../../hcloud/reader.ts";
import { OwnConfigMap, ownName } from "../../kube/config-map.ts";
import { parseStatus, STATUS } from "../../record/status-board.ts";
import type { Given } from "../command-line.ts";
import { readLease } from "../departure/sole-writer.ts";
import { commandConfig, open, planOf, type Session } from "../open.ts";
import { accessFlags, commandText } from "../shell.ts";
import { showLive } from "./live.ts";
import { statusText } from "./status-text.ts";
import { type ClusterStatus, renderStatus } from "./status-view.ts";

const REDRAW_MS = 2_000;
/** Maximum ages for a live view, which must leave the project's rate limit to others: a few hundred requests an hour. */
const AGES: Ages = { servers: 30_000, loadBalancers: 10_000, certificates: 600_000, network: 30_000 };

/** Prints the status, or shows it live in a terminal. */
export async function status({ flags }: Given): Promise<void> {
  await using session = await open(commandConfig(flags), { level: "error" });
  const paint = paintFor(process.stdout);
  const render = async (hint?: { readonly hint: string }) => {
    const current = await readStatus(session);
    if (flags.json) return jsonText(current);
    const approve = commandText(["approve"], accessFlags(flags));
    const shown = forPeople({ ...current, notes: [...current.notes, ...session.notes] });
    return statusText(shown, { paint, approve, ...hint });
  };
  if (!process.stdout.isTTY || flags.once || flags.json) {
    process.stdout.write(await render());
    return;
  }
  using keys = readKeys();
  const { hint, signal } = keys;
  const renderOrExplain = () => render({ hint }).catch((error: unknown) => `lotse: ${oneLine(messageOf(error))}\n`); // retried
  await showLive(process.stdout, renderOrExplain, { everyMs: REDRAW_MS, signal });
}

/** q, Ctrl-C and Ctrl-D, which raise no signal while the terminal is read key by key. */
const QUIT = ["q", "\u0003", "\u0004"];

/** The signal fires when q or Ctrl-C is pressed, or the process is asked to end; that is not a failure. */
function readKeys(): Disposable & { readonly signal: AbortSignal; readonly hint: string } {
  const { stdin } = process;
  const controller = new AbortController();
  const { signal } = controller;
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => controller.abort());
  if (!stdin.isTTY) return { signal, hint: "Ctrl-C quits", [Symbol.dispose]: () => {} };
  stdin.setRawMode(true).on("data", (keys) => {
    if (QUIT.some((key) => String(keys).includes(key))) controller.abort();
  });
  const end = () => stdin.setRawMode(false).pause();
  return { signal, hint: "q or Ctrl-C quits", [Symbol.dispose]: end };
}

/** The status. What the controller keeps in the cluster may be unreadable to those who can read Nodes and Services. */
export async function readStatus(session: Session): Promise<ClusterStatus> {
  const { client, config, gateway, place } = session;
  const read = (kind: "plan" | "status") => ifAllowed(new OwnConfigMap(client, config, kind).read());
  const [snapshot, lease, planned, board] = await Promise.all([
    session.observe(AGES),
    ifAllowed(readLease(client, config).then((found) => ({ found }))),
    read("plan"),
    read("status"),
  ]);
  const status = renderStatus({
    place,
    ...planOf(snapshot, session),
    lease: lease?.found,
    waiting: parsePending(planned ?? {}).waiting.length,
    controller: parseStatus(board?.[STATUS]),
    budget: gateway.budget,
  });
  const hidden = [
    ...(lease ? [] : [`Lease ${config.lease?.name}`]),
    ...(planned ? [] : [`ConfigMap ${ownName("plan", config.clusterName)}`]),
    ...(board ? [] : [`ConfigMap ${ownName("status", config.clusterName)}`]),
  ];
  if (hidden.length === 0) return status;
  const note = `leader, last run and changes that wait may be missing: no permission to read ${hidden.join(", ")}`;
  return { ...status, notes: [...status.notes, note] };
}
