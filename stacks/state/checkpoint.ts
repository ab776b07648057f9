/**
 * Writes what the cloud lists into the stack's state. Before a run, the records of the units it may change are replaced
 * by what exists. Leftovers of a crash, manual changes, resources of another controller and vanished resources thus
 * become the same case: the engine compares with reality, without reading each resource.
 */
import type { RunRequest } from "../engine/run.ts";
import { PRIVATE_KEY } from "../units/inputs.ts";
import { PROJECT, rootUrn, unitOf, unitOfUrn } from "../units/names.ts";
import { type ResourceRecord, recordsOf } from "../units/records.ts";
import type { AttachmentState, IpVersion, NetworkAttachment, UnitId, UnitSpec, UnitState } from "../units/spec.ts";

/** The resources of a state, each after its dependencies. */
export type Checkpoint = readonly ResourceRecord[];

/** The version of the state format. The engine rejects newer versions, and so does `parseCheckpoint`. */
const FORMAT = 3;

/** Parses a state file. A missing or truncated file counts as empty, because its content is rebuilt from the cloud. */
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
      `the state has format ${file.version}, newer than ${FORMAT}: run the version of lotse that wrote it, or delete the state; it is rebuilt from the cloud`,
    );
  }
  return (file?.checkpoint?.latest?.resources ?? []).map(withoutNotes);
}

/**
 * Drops what the engine does not need: source positions, the bridge's raw Terraform state, and encrypted values, whose
 * key does not outlive the run. This keeps the state small and readable.
 */
function withoutNotes(record: ResourceRecord & EngineNotes): ResourceRecord {
  const { sourcePosition: _position, stackTrace: _trace, inputs, outputs, ...kept } = record;
  return { ...kept, ...(inputs && { inputs: readable(inputs) }), ...(outputs && { outputs: readable(outputs) }) };
}

/** The property that marks a secret value in a state. */
const SECRET = "4dabf18193072939515e22adb298388d";

/** The engine encrypts `privateKey`, although it only ever contains the placeholder, which is restored here. */
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

/** The text of a state file. */
export function renderCheckpoint(resources: Checkpoint, stack: string): string {
  const manifest = { time: "1970-01-01T00:00:00Z", magic: "", version: "" };
  const latest = { manifest, resources };
  return JSON.stringify({ version: FORMAT, checkpoint: { stack: `organization/${PROJECT}/${stack}`, latest } });
}

/** Replaces the records of all units in the request by what exists. Stack and provider come first. */
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

/** The stack of a state, and the provider plugin of its resources. */
export interface StateContext {
  readonly stack: string;
  readonly provider: { readonly version: string; readonly config: Readonly<Record<string, string>> };
}

/** What exists, without what the spec leaves open: no run may remove that. */
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

/** Leaves out the subnet if the spec has none; otherwise the run would replace the attachment. */
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
    // The engine generates a random id; any stable text works.
    id: "6c6f7473-6500-4000-8000-000000000001",
    inputs,
    outputs: inputs,
  };
}
