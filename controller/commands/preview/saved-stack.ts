/** `lotse stack export` and `lotse stack outputs`: the stack that the controller saved. Need no Hetzner token. */
import { parseMirror, type SavedMirror } from "../../../stacks/state/mirror.ts";
import type { NodeOutput, ServiceOutput } from "../../../stacks/units/outputs.ts";
import { ConfigError } from "../../diagnostics/errors.ts";
import { type Paint, plain } from "../../diagnostics/paint.ts";
import { forPeople, jsonText } from "../../diagnostics/printable.ts";
import { SecretState } from "../../kube/state-secrets.ts";
import type { Given } from "../command-line.ts";
import { openAccess } from "../open.ts";
import { type Place, paragraphs, placeText, print, type Row, table } from "../output.ts";

const WORDS = ["export", "outputs"] as const;

/** Which part of the saved stack is printed. */
export type SavedWord = (typeof WORDS)[number];

/** Whether an operand of `lotse stack` asks for the saved stack instead of naming a program. */
export function isSavedWord(operand: string | undefined): operand is SavedWord {
  return WORDS.some((word) => word === operand);
}

/** Prints the saved stack or its outputs. */
export async function printSaved(word: SavedWord, { flags, operands: [, ...more] }: Given): Promise<void> {
  const mistakes = [
    ...(more.length > 0 ? [`stack ${word}: unexpected ${JSON.stringify(more[0])}; it takes no operands`] : []),
    ...(flags.dir === undefined ? [] : [`--dir: has no effect with stack ${word}, which writes no files`]),
  ];
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  using access = await openAccess(flags);
  const store = new SecretState(access.client, access.namespace, access.clusterName);
  const saved = savedMirror(await store.load(), store.place);
  if (word === "export") process.stdout.write(jsonText(saved.exported));
  else print(saved.outputs, flags, (_, paint) => outputsText(saved, access.place, paint));
}

/** The mirror in the text. Throws with a remedy if there is none. */
export function savedMirror(text: string | undefined, place: string): SavedMirror {
  if (text === undefined)
    throw new ConfigError([
      `there is no saved stack (${place} does not exist): the controller saves one there with --state=cluster, the default; check --cluster-name and --namespace`,
    ]);
  const saved = parseMirror(text);
  if (!saved)
    throw new ConfigError([`${place} has an unknown format: use the same version of lotse as the controller`]);
  return saved;
}

/** The outputs as tables. */
export function outputsText({ outputs, savedAt }: SavedMirror, place: Place, paint: Paint = plain): string {
  if (outputs.schemaVersion !== 1)
    throw new ConfigError([
      `the outputs have version ${outputs.schemaVersion}: use --json, or the same version of lotse as the controller`,
    ]);
  const { services, nodes, routes } = forPeople(outputs);
  return paragraphs(
    `${placeText(place)}: outputs of ${forPeople(savedAt)}`,
    table("SERVICES", ["service", "id", "addresses", "ports"], Object.entries(services).map(serviceRow), paint),
    table("NODES", ["name", "provider id", "addresses", "pods"], Object.entries(nodes).map(nodeRow), paint),
    table(
      "ROUTES",
      ["destination", "gateway", "node"],
      Object.entries(routes).map(([destination, { gateway, node }]) => [destination, gateway, node]),
      paint,
    ),
  );
}

function serviceRow([name, service]: readonly [string, ServiceOutput]): Row {
  const { loadBalancerId, hostname, ipv4, ipv6, privateIp, ports } = service;
  const addresses = [hostname, ipv4, ipv6, privateIp].filter((address) => address !== undefined);
  const listeners = ports.map(({ port, nodePort, protocol }) => `${port}:${nodePort}/${protocol}`);
  return [name, String(loadBalancerId), addresses.join(" "), listeners.join(" ")];
}

function nodeRow([name, { providerID, addresses, podCIDRs }]: readonly [string, NodeOutput]): Row {
  return [name, providerID, addresses.map(({ address }) => address).join(" "), podCIDRs.join(" ")];
}
