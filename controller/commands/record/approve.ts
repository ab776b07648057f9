/** `lotse approve`: shows the changes that wait, and approves them. */
import { ConfigError } from "../../diagnostics/errors.ts";
import { forPeople, oneLine } from "../../diagnostics/printable.ts";
import { type PendingStep, parsePending, withApprovals } from "../../guard/approval.ts";
import type { KubeClient } from "../../kube/client.ts";
import { OwnConfigMap } from "../../kube/config-map.ts";
import type { Given } from "../command-line.ts";
import { openAccess } from "../open.ts";
import { counted, EXIT, paragraphs, placeText } from "../output.ts";
import { commandText } from "../shell.ts";

/** Approves the changes with the given ids, or shows those that wait: all, or those of one object. */
export async function approve({ flags, operands }: Given): Promise<number> {
  using access = await openAccess(flags);
  const map = new OwnConfigMap(access.client, access, "plan");
  const { waiting } = parsePending(await map.read());
  const head = placeText(access.place);
  const chosen = selectSteps(waiting, operands);
  if (!operands.some(isId)) {
    const next = (ids: readonly string[]) => commandText(["approve", ...ids], flags);
    process.stdout.write(`${head}: ${pendingText(forPeople(chosen), next)}`);
    return chosen.length > 0 ? EXIT.changes : EXIT.nothing;
  }
  const by = await whoAmI(access.client);
  const ids = chosen.map(({ id }) => id);
  await map.update((data) => {
    selectSteps(parsePending(data).waiting, ids);
    return withApprovals(data, ids, by);
  });
  const names = [...new Set(chosen.map(({ object }) => oneLine(object)))].join(", ");
  const next = "a running controller makes the changes within seconds";
  process.stdout.write(`${head}: ${names} approved by ${oneLine(by)}; ${next}\n`);
  return 0;
}

function isId(operand: string): boolean {
  return /^[0-9a-f]{32}$/.test(operand);
}

/** The waiting changes that operands name, all by id or all by object. Throws when one of them names none. */
export function selectSteps(waiting: readonly PendingStep[], operands: readonly string[]): readonly PendingStep[] {
  if (operands.length === 0) return waiting;
  const objects = operands.filter((operand) => !isId(operand));
  if (objects.length > 0 && objects.length < operands.length)
    throw new ConfigError(
      objects.map(
        (object) =>
          `${object} is not an id, and only ids can be approved: \`lotse approve ${object}\` shows the ids of its changes`,
      ),
    );
  const chosen = operands.map((operand) => waiting.filter((step) => isNamed(step, operand)));
  const mistakes = operands.flatMap((operand, index) =>
    chosen[index]?.length === 0
      ? [
          `no change ${isId(operand) ? "with the id" : "of"} ${operand} waits for approval: \`lotse approve\` lists those that do`,
        ]
      : [],
  );
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return chosen.flat();
}

function isNamed({ id, object }: PendingStep, operand: string): boolean {
  return id === operand || object === operand || object.split(" ")[1] === operand;
}

/** The waiting changes for a terminal, each with the command that approves it. */
export function pendingText(steps: readonly PendingStep[], next: (ids: readonly string[]) => string): string {
  if (steps.length === 0) return "no changes wait for approval\n";
  const blocks = steps.map(({ id, text, at }) =>
    [...text, `  waiting since ${at}; approve with: ${next([id])}`].join("\n"),
  );
  return paragraphs(`${counted(steps.length, "change waits", "changes wait")} for approval`, ...blocks);
}

/** The user name according to the API server. */
export async function whoAmI(client: Pick<KubeClient, "create">): Promise<string> {
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const review = await client.create<{ readonly status: { readonly userInfo: { readonly username: string } } }>(
    path,
    body,
  );
  return review.status.userInfo.username;
}
