/**
 * States, written from what the cloud lists. Leftovers of a crash, manual changes, resources of another controller and
 * vanished resources thus become the same case: the engine compares with reality, without reading each resource.
 */
import type { RunRequest } from "../engine/run.ts";
import { differences } from "../units/difference.ts";
import { listenerPart, PROJECT, rootUrn, targetPart, unitOf } from "../units/names.ts";
import { type ResourceRecord, recordsOf } from "../units/records.ts";
import type {
  AttachmentState,
  IpVersion,
  LoadBalancerSpec,
  LoadBalancerState,
  NetworkAttachment,
  UnitId,
  UnitSpec,
  UnitState,
  UnitStates,
} from "../units/spec.ts";

/** The resources of a state, each after its dependencies. */
export type Checkpoint = readonly ResourceRecord[];

/** Pulumi type token of the provider. */
export const PROVIDER_TYPE = "pulumi:providers:hcloud";

/** The version of the state format. */
export const FORMAT = 3;

/** The stack of a state, and the provider plugin of its resources. */
export interface StateContext {
  readonly stack: string;
  readonly provider: { readonly version: string; readonly config: Readonly<Record<string, string>> };
}

/** The text of a state file. */
export function renderCheckpoint(resources: Checkpoint, stack: string, at = new Date(0)): string {
  const latest = { manifest: { time: at.toISOString(), magic: "", version: "" }, resources };
  return JSON.stringify({ version: FORMAT, checkpoint: { stack: `organization/${PROJECT}/${stack}`, latest } });
}

/** The records of all units that exist. Stack and provider come first. A spec leaves parts open that no run may remove. */
export function recordsFor(existing: UnitStates, specs: readonly UnitSpec[], context: StateContext): Checkpoint {
  const wanted = new Map<UnitId, UnitSpec>(specs.map((spec) => [unitOf(spec), spec]));
  const { stack, provider: plugin } = context;
  const root = rootRecord(stack);
  const inputs = { ...plugin.config, version: plugin.version };
  const provider = providerRecord(`urn:pulumi:${stack}::${PROJECT}`, "6c6f7473-6500-4000-8000-000000000001", inputs);
  const observed = (Object.keys(existing) as UnitId[]).flatMap((unit) =>
    recordsOf(unit, concernedState(existing[unit], wanted.get(unit)), { ...context, root, provider }),
  );
  return [root, provider, ...observed];
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

/**
 * The part of a request that the engine sees: its units, without listeners and targets that match their spec. The cost of
 * a run thus depends on the number of changes, not on the size of the cluster, and a run cannot change what it does not
 * see.
 */
export function narrow(request: RunRequest): RunRequest {
  const existing: Partial<Record<UnitId, UnitState>> = {};
  for (const unit of request.removals) existing[unit] = request.existing[unit];
  const units = request.units.map((spec): UnitSpec => {
    const unit = unitOf(spec);
    const state = request.existing[unit];
    const isBalancer = spec.kind === "load-balancer" && state?.kind === "load-balancer";
    const narrowed = isBalancer ? narrowBalancer(spec, state) : { spec, state };
    existing[unit] = narrowed.state;
    return narrowed.spec;
  });
  return { ...request, units, existing };
}

/** The load balancer itself stays, because its parts refer to it. */
function narrowBalancer(spec: LoadBalancerSpec, state: LoadBalancerState) {
  const dirty = new Set(differences(spec, state).map(({ part }) => part));
  const isMoving = dirty.has("network");
  const { network: wanted, ...restOfSpec } = spec;
  const { network: existing, ...restOfState } = state;
  const keep = <T extends LoadBalancerSpec | LoadBalancerState>(of: T) => ({
    listeners: of.listeners.filter(({ listenPort }) => dirty.has(listenerPart(listenPort))),
    // Replacing the attachment drops the private targets, so they must be in the same run.
    targets: of.targets.filter((target) => isMoving || dirty.has(targetPart(target))),
  });
  return {
    spec: { ...restOfSpec, ...(wanted && isMoving && { network: wanted }), ...keep(spec) },
    state: { ...restOfState, ...(existing && isMoving && { network: existing }), ...keep(state) },
  };
}

function rootRecord(stack: string): ResourceRecord {
  return { urn: rootUrn(stack), type: "pulumi:pulumi:Stack", custom: false, outputs: {} };
}

/** The provider of resources whose URNs begin with `urnPrefix`. The engine generates a random id; any stable text works. */
export function providerRecord(urnPrefix: string, id: string, inputs: { readonly version: string }): ResourceRecord {
  const urn = `${urnPrefix}::${PROVIDER_TYPE}::default_${inputs.version.replaceAll(".", "_")}`;
  return { urn, type: PROVIDER_TYPE, custom: true, id, inputs, outputs: inputs };
}
