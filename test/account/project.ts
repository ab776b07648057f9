/** What is in the project: refuses one that is in use, finds what the suite has left there, and removes it. */
import { setTimeout as delay } from "node:timers/promises";
import { CloudError } from "../../controller/diagnostics/errors.ts";
import type { ProjectApi } from "../../dev-env/project/api.ts";
import { COLLECTIONS, describeFound, type Found, listAll } from "../../dev-env/project/inventory.ts";

/** Label of everything that the suite creates; its value names the run. Nothing without it is ever removed. */
export const LABEL = "lotse-test-account";

/** Queries of collections that list more than the project's own. */
const QUERIES: Readonly<Record<string, string>> = { images: "&type=snapshot" };

/** What the suite creates, in the order of removal: each before what it uses. */
const CREATED = ["load_balancers", "servers", "certificates", "networks"] as const;

const RETRY_MS = 1_000;
const DEADLINE_MS = 300_000;

/** Everything in the project, except the DNS zone of `domain`, which managed certificates need. Users of others come first. */
export async function listProject(api: ProjectApi, domain = ""): Promise<readonly Found[]> {
  const all = await listAll((name) => api.list(name, "", QUERIES[name]), COLLECTIONS.toReversed(), "");
  const isZone = ({ collection, name }: Found) =>
    collection === "zones" && (domain === name || domain.endsWith(`.${name}`));
  return all.filter((found) => !isZone(found));
}

/** What carries the suite's label: of this run, or left by one that was killed. */
export async function listOwn(api: ProjectApi): Promise<readonly Found[]> {
  return listAll(api.list, CREATED, LABEL);
}

/**
 * Removes everything that carries the label, also what is protected or still busy, until the API lists none of it. Throws
 * with what is left, and why, at the deadline.
 */
export async function removeOwn(api: ProjectApi): Promise<number> {
  const removed = new Set<string>();
  const deadline = performance.now() + DEADLINE_MS;
  let refusal = "";
  for (;;) {
    const own = await listOwn(api);
    if (own.length === 0) return removed.size;
    if (performance.now() > deadline) throw new Error(`the project still has ${describeFound(own)}${refusal}`);
    for (const found of own) {
      removed.add(`${found.collection}/${found.id}`);
      await remove(api, found).catch((error: unknown) => {
        // Most refusals pass, such as that of a network whose servers are being removed.
        if (!(error instanceof CloudError) || error.status === 401 || error.status === 403) throw error;
        refusal = `: ${error.message}`;
      });
    }
    await delay(RETRY_MS);
  }
}

async function remove(api: ProjectApi, { collection, id, labels, protection }: Found): Promise<void> {
  if (labels?.[LABEL] === undefined) throw new Error(`${collection}/${id} does not carry the label ${LABEL}`);
  const path = `/${collection}/${id}`;
  if (protection?.delete) await api.make(`${path}/actions/change_protection`, { delete: false });
  await api.send("DELETE", path);
}

/** Waits until the project is empty: addresses go a moment after their servers. Returns what is left at the deadline. */
export async function proveEmpty(api: ProjectApi, domain = ""): Promise<readonly Found[]> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const left = await listProject(api, domain);
    if (left.length === 0 || performance.now() > deadline) return left;
    await delay(RETRY_MS);
  }
}
