/**
 * The stack's state, made to say what the cloud says. Before a run the units it may touch are written into the state
 * from the cloud's lists: what a crash left behind, what somebody changed by hand, what another controller built and
 * what vanished are all the same case, and the engine's diff is against the truth. No resource is read one by one.
 */
import { createHash } from "node:crypto";
import {
  attachmentInputs,
  balancerInputs,
  listenerInputs,
  managedInputs,
  PRIVATE_KEY,
  routeInputs,
  targetInputs,
  uploadedInputs,
} from "./inputs.ts";
import {
  COMPONENT_TYPE,
  componentUrn,
  listenerPart,
  PROJECT,
  partName,
  rootUrn,
  targetPart,
  unitOf,
  unitOfUrn,
} from "./names.ts";
import type { RunRequest } from "./run.ts";
import type {
  CertificateState,
  LoadBalancerState,
  RouteSpec,
  TargetSpec,
  UnitId,
  UnitSpec,
  UnitState,
} from "./spec.ts";

/** One resource of a state, as far as we write it; what else the engine wrote is kept as it is. */
export interface ResourceRecord {
  readonly urn: string;
  readonly type: string;
  readonly custom: boolean;
  readonly id?: string;
  readonly parent?: string;
  readonly provider?: string;
  readonly dependencies?: readonly string[];
  readonly propertyDependencies?: Readonly<Record<string, readonly string[]>>;
  readonly deletedWith?: string;
  readonly inputs?: object;
  readonly outputs?: object;
}

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
 * Terraform, and whatever it encrypted. It does well without, and the state stays small and readable.
 */
function withoutNotes(record: ResourceRecord & EngineNotes): ResourceRecord {
  const { sourcePosition: _position, stackTrace: _trace, ...kept } = record;
  if (!kept.outputs) return kept;
  const { __pulumi_raw_state_delta: _delta, ...outputs } = kept.outputs as Record<string, unknown>;
  return { ...kept, ...(kept.inputs && { inputs: withoutKey(kept.inputs) }), outputs: withoutKey(outputs) };
}

/** The engine encrypts what it takes for a private key; it is only ever the text that stands for one. */
function withoutKey(properties: object): object {
  return "privateKey" in properties ? { ...properties, privateKey: PRIVATE_KEY } : properties;
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

/** The state with the request's units replaced by what is present of them in the cloud. */
export function reconcile(state: Checkpoint, request: RunRequest, context: StateContext): Checkpoint {
  const specs = new Map<UnitId, UnitSpec>(request.units.map((spec) => [unitOf(spec), spec]));
  const touched = new Set<UnitId>([...specs.keys(), ...request.removals]);
  const kept = state.filter(({ urn }) => !touched.has(unitOfUrn(urn) ?? ("" as UnitId)));
  const root = kept.find(({ type }) => type === "pulumi:pulumi:Stack") ?? rootRecord(context.stack);
  const provider = kept.find(({ urn }) => urn === providerUrn(context)) ?? providerRecord(context);
  const rest = kept.filter((record) => record !== root && record !== provider);
  const observed = [...touched].flatMap((unit) =>
    recordsOf(unit, concernedState(request.present[unit], specs.get(unit)), { ...context, root, provider }),
  );
  return [root, provider, ...rest, ...observed];
}

/** Which stack a state belongs to, and the provider plugin its resources are made with. */
export interface StateContext {
  readonly stack: string;
  readonly provider: { readonly version: string; readonly config: Readonly<Record<string, string>> };
}

interface Surroundings {
  readonly stack: string;
  readonly root: ResourceRecord;
  readonly provider: ResourceRecord;
}

/** What exists, as far as the spec speaks of it: what it leaves open is not in the state, and so cannot be taken away. */
function concernedState(state: UnitState | undefined, spec: UnitSpec | undefined): UnitState | undefined {
  if (state?.kind !== "load-balancer" || spec?.kind !== "load-balancer" || spec.network) return state;
  const { network: _, ...rest } = state;
  return rest;
}

function recordsOf(unit: UnitId, present: UnitState | undefined, within: Surroundings): readonly ResourceRecord[] {
  if (!present) return [];
  const urn = componentUrn(within.stack, unit);
  const component = { urn, type: COMPONENT_TYPE[present.kind], custom: false, parent: within.root.urn };
  const builder = new UnitRecords(unit, component, within.provider);
  switch (present.kind) {
    case "route":
      return builder.route(present);
    case "certificate":
      return builder.certificate(present);
    case "load-balancer":
      return builder.balancer(present);
  }
}

/** Writes the records of one unit. */
class UnitRecords {
  readonly #unit: UnitId;
  readonly #component: ResourceRecord;
  readonly #provider: string;

  constructor(unit: UnitId, component: ResourceRecord, provider: ResourceRecord) {
    this.#unit = unit;
    this.#component = component;
    this.#provider = `${provider.urn}::${provider.id}`;
  }

  route(route: RouteSpec): readonly ResourceRecord[] {
    const id = `${route.networkId}-${route.destination}`;
    return [this.#component, this.#record("networkRoute:NetworkRoute", "route", id, routeInputs(route))];
  }

  certificate(state: CertificateState): readonly ResourceRecord[] {
    const { id, content } = state;
    const record =
      content.type === "managed"
        ? this.#record(
            "managedCertificate:ManagedCertificate",
            "certificate",
            String(id),
            managedInputs(state, content.domains),
          )
        : this.#record(
            "uploadedCertificate:UploadedCertificate",
            "certificate",
            String(id),
            uploadedInputs(state, content.pem),
          );
    return [this.#component, record];
  }

  balancer(state: LoadBalancerState): readonly ResourceRecord[] {
    const { id, location, networkZone, ipv4, ipv6, network } = state;
    const record = this.#record("loadBalancer:LoadBalancer", "balancer", String(id), {
      ...balancerInputs(state),
      location,
    });
    const balancer = { ...record, outputs: { ...record.outputs, networkZone, ipv4, ipv6 } };
    const part = { balancer: balancer.urn, loadBalancerId: id };
    const attachment = network && this.#attachment(state, network, part);
    return [
      this.#component,
      balancer,
      ...(attachment ? [attachment] : []),
      ...state.listeners.map((listener) =>
        this.#record(
          "loadBalancerService:LoadBalancerService",
          listenerPart(listener.listenPort),
          `${id}__${listener.listenPort}`,
          { ...listenerInputs(listener), loadBalancerId: String(id) },
          part,
        ),
      ),
      ...state.targets.map((target) =>
        this.#record(
          "loadBalancerTarget:LoadBalancerTarget",
          targetPart(target),
          targetId(target, id),
          { ...targetInputs(target), loadBalancerId: id },
          part,
        ),
      ),
    ];
  }

  #attachment({ id, publicInterface }: LoadBalancerState, network: { networkId: number; ip: string }, part: PartOf) {
    const inputs = { ...attachmentInputs({ networkId: network.networkId, publicInterface }), loadBalancerId: id };
    const record = this.#record(
      "loadBalancerNetwork:LoadBalancerNetwork",
      "network",
      `${id}-${network.networkId}`,
      inputs,
      part,
    );
    return { ...record, outputs: { ...record.outputs, ip: network.ip } };
  }

  #record(token: string, part: string, id: string, inputs: object, of?: PartOf): ResourceRecord {
    const type = `hcloud:index/${token}`;
    const [head] = this.#component.urn.split(`::${this.#unit}`);
    return {
      urn: `${head}$${type}::${partName(this.#unit, part)}`,
      type,
      custom: true,
      id,
      parent: this.#component.urn,
      provider: this.#provider,
      inputs,
      outputs: { ...inputs, id },
      ...(of && {
        dependencies: [of.balancer],
        propertyDependencies: { loadBalancerId: [of.balancer] },
        deletedWith: of.balancer,
      }),
    };
  }
}

interface PartOf {
  readonly balancer: string;
  readonly loadBalancerId: number;
}

/** As the provider writes them. */
function targetId(target: TargetSpec, balancer: number): string {
  return target.kind === "server"
    ? `lb-srv-tgt-${target.serverId}-${balancer}`
    : `lb-ip-tgt-${createHash("sha256").update(target.ip).digest("hex")}-${balancer}`;
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
