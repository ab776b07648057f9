/** `lotse approve`: shows or approves the pending plan. */
import { userInfo } from "node:os";
import { ConfigError } from "../../diagnostics/errors.ts";
import { forPeople, oneLine } from "../../diagnostics/printable.ts";
import { type Approval, type PendingPlan, parseStored } from "../../guard/approval.ts";
import type { KubeClient } from "../../kube/client.ts";
import { OwnConfigMap } from "../../kube/config-map.ts";
import type { Given } from "../command-line.ts";
import { openAccess } from "../open.ts";
import { fieldText } from "../preview/forecast-text.ts";

/** Exit code when a plan is pending and was only shown. */
const PENDING = 2;

/** Approves the given plan, or shows the pending one. */
export async function approve({ flags, operands: [id] }: Given): Promise<number> {
  using access = await openAccess(flags, process.env);
  const map = new OwnConfigMap(access.client, access, "plan");
  const { plan, approval } = parseStored(await map.read());
  if (id === undefined) {
    process.stdout.write(describePlan(forPeople(plan), forPeople(approval)));
    return plan && !approval ? PENDING : 0;
  }
  const by = await whoAmI(access.client);
  await map.update((data) => approved(data, id, { plan: id, by, at: new Date().toISOString() }));
  process.stdout.write(`plan ${oneLine(id)} approved by ${oneLine(by)}; the controller applies it now\n`);
  return 0;
}

/** The data of the plan's ConfigMap with an approval added. Throws when another plan, or none, is pending. */
export function approved(
  data: Readonly<Record<string, string>>,
  id: string,
  approval: Approval,
): Readonly<Record<string, string>> {
  const { plan } = parseStored(data);
  if (!plan) throw new ConfigError([`plan ${id} cannot be approved: no plan is pending`]);
  if (plan.id !== id) {
    throw new ConfigError([`plan ${id} is outdated: review the current one (${plan.id}) with "lotse approve"`]);
  }
  return { ...data, approval: JSON.stringify(approval) };
}

/** The pending plan for a terminal. */
export function describePlan(plan: PendingPlan | undefined, approval: Approval | undefined): string {
  if (!plan) return "no plan is pending\n";
  const steps = plan.steps.flatMap(({ object, kind, unit, differences }) => [
    `${kind === "remove" ? "-" : "~"} ${object} (${unit})`,
    ...(kind === "remove"
      ? []
      : differences.map(({ field, have, want }) => `    ${fieldText({ field, from: have, to: want })}`)),
  ]);
  const state =
    approval?.plan === plan.id ? `approved by ${approval.by} at ${approval.at}` : `pending since ${plan.at}`;
  const next = approval ? [] : [`approve with: lotse approve ${plan.id}`];
  return `${[`plan ${plan.id} ${state}`, ...steps, ...next].join("\n")}\n`;
}

/** The user name according to the API server, or else on this machine. */
async function whoAmI(client: KubeClient): Promise<string> {
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  try {
    const review = await client.create<{ status?: { userInfo?: { username?: string } } }>(path, body);
    return review.status?.userInfo?.username ?? userInfo().username;
  } catch {
    return userInfo().username; // not supported before Kubernetes 1.28
  }
}
