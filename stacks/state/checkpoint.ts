/**
 * The stack's state, made to say what the cloud says. Before a run the units it may touch are written into the state
 * from the cloud's lists: what a crash left behind, what somebody changed by hand, what another controller built and
 * what vanished are all the same case, and the engine's diff is against the truth. No resource is read one by one.
 */

import type { RunRequest } from "../engine/run.ts";
import { PRIVATE_KEY } from "../units/inputs.ts";
import { PROJECT, rootUrn, unitOf, unitOfUrn } from "../units/names.ts";
import { type ResourceRecord, recordsOf } from "../units/records.ts";
import type { AttachmentState, IpVersion, NetworkAttachment, UnitId, UnitSpec, UnitState } from "../units/spec.ts";

/** The resources of a state, in an order in which each stands behind what it depends on. */
export type Checkpoint = readonly ResourceRecord[];

/** Version of the state format that we write; the engine refuses a newer one, and so do we. */
const FORMAT = 3;

/** Reads a state file. None, or one that a crash cut off, is empty: what was in it comes back from the cloud. */
export function parseCheckpoint(text: string | undefined): Checkpoint {
  if (text === undefined) return [];
  let file: { version?: number; checkpoint?: { latest?: { resources?: ResourceRecord[] } } };
  try {
    file = JSON.parse(text);
  } catch {
    return [];
  }
  if ((file?.version ?? FORMAT) > FORMAT) {
    throw new Error(
      `the state has format ${file.version}, newer than ${FORMAT}: run the version of lotse that wrote it, or delete the state, which is rebuilt from the cloud`,
    );
  }
  return (file?.checkpoint?.latest?.resources ?? []).map(withoutNotes);
}

/**
 * Without what the engine notes for itself: paths of the machine that ran it, the bridge's record of how a resource looked in
 * Terraform, and whatever it encrypted, because no key outlives a run. It does well without, and the state stays small and
 * readable.
 */
function withoutNotes(record: ResourceRecord & EngineNotes): ResourceRecord {
  const { sourcePosition: _position, stackTrace: _trace, inputs, outputs, ...kept } = record;
  return { ...kept, ...(inputs && { inputs: readable(inputs) }), ...(outputs && { outputs: readable(outputs) }) };
}

/** The engine's mark of a secret value. */
const SECRET = "4dabf18193072939515e22adb298388d";

/** The engine encrypts what it takes for a private key; it is only ever the text that stands for one. */
function readable(properties: object): object {
  const isNote = (name: string, value: unknown) =>
    name === "__pulumi_raw_state_delta" || (typeof value === "object" && value !== null && SECRET in value);
  const kept = Object.entries(properties).filter(([name, value]) => !isNote(name, value));
  return { ...Object.fromEntries(kept), ...("privateKey" in properties && { privateKey: PRIVATE_KEY }) };
}

interface EngineNotes {
  readonly sourcePosition?: unknown;
  readonly stackTrace?: unknown;
}

/** The state file's text. */
export function renderCheckpoint(resources: Checkpoint, stack: string): string {
  const manifest = { time: "1970-01-01T00:00:00Z", magic: "", version: "" };
  const latest = { manifest, resources };
  return JSON.stringify({ version: FORMAT, checkpoint: { stack: `organization/${PROJECT}/${stack}`, latest } });
}

/** The state with the request's units, and all others that it tells of, replaced by what is present of them. Begins with the stack and its provider. */
export function reconcile(
  state: Checkpoint,
  request: RunRequest,
  context: StateContext,
): readonly [root: ResourceRecord, provider: ResourceRecord, ...rest: ResourceRecord[]] {
  const specs = new Map<UnitId, UnitSpec>(request.units.map((spec) => [unitOf(spec), spec]));
  const touched = new Set<UnitId>([
    ...specs.keys(),
    ...request.removals,
    ...(Object.keys(request.existing) as UnitId[]),
  ]);
  const kept = state.filter(({ urn }) => !touched.has(unitOfUrn(urn) ?? ("" as UnitId)));
  const root = kept.find(({ type }) => type === "pulumi:pulumi:Stack") ?? rootRecord(context.stack);
  const provider = kept.find(({ urn }) => urn === providerUrn(context)) ?? providerRecord(context);
  const rest = kept.filter((record) => record !== root && record !== provider);
  const observed = [...touched].flatMap((unit) =>
    recordsOf(unit, concernedState(request.existing[unit], specs.get(unit)), { ...context, root, provider }),
  );
  return [root, provider, ...rest, ...observed];
}

/** Which stack a state belongs to, and the provider plugin its resources are made with. */
export interface StateContext {
  readonly stack: string;
  readonly provider: { readonly version: string; readonly config: Readonly<Record<string, string>> };
}

/** What exists, as far as the spec speaks of it: what it leaves open is not in the state, and so cannot be taken away. */
function concernedState(state: UnitState | undefined, spec: UnitSpec | undefined): UnitState | undefined {
  if (state?.kind !== "load-balancer" || spec?.kind !== "load-balancer") return state;
  const { network, rdns = {}, ...rest } = state;
  const named = Object.entries(rdns).filter(([version]) => spec.rdns?.[version as IpVersion] !== undefined);
  return {
    ...rest,
    ...(network && spec.network && { network: concernedAttachment(network, spec.network) }),
    ...(named.length > 0 && { rdns: Object.fromEntries(named) }),
  };
}

/** A subnet that nobody asks for is none of the attachment's inputs: asking for none would attach it anew. */
function concernedAttachment({ subnet, ...rest }: AttachmentState, wanted: NetworkAttachment): AttachmentState {
  return subnet === undefined || wanted.subnet === undefined ? rest : { ...rest, subnet };
}

function rootRecord(stack: string): ResourceRecord {
  return { urn: rootUrn(stack), type: "pulumi:pulumi:Stack", custom: false, outputs: {} };
}

function providerUrn({ stack, provider }: StateContext): string {
  const name = `default_${provider.version.replaceAll(".", "_")}`;
  return `urn:pulumi:${stack}::${PROJECT}::pulumi:providers:hcloud::${name}`;
}

function providerRecord(context: StateContext): ResourceRecord {
  const inputs = { ...context.provider.config, version: context.provider.version };
  return {
    urn: providerUrn(context),
    type: "pulumi:providers:hcloud",
    custom: true,
    // The engine makes a random one; any stable text does.
    id: "6c6f7473-6500-4000-8000-000000000001",
    inputs,
    outputs: inputs,
  };
}
