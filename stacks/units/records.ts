/** Converts what exists of a unit into state records, as the engine itself would have written them. */
import { createHash } from "node:crypto";
import { attachmentArgs } from "./args.ts";
import {
  attachmentInputs,
  balancerInputs,
  isPrivate,
  listenerInputs,
  managedInputs,
  PRIVATE_KEY,
  routeInputs,
  targetInputs,
  uploadedInputs,
} from "./inputs.ts";
import { COMPONENT_TYPE, componentUrn, listenerPart, partName, rdnsPart, targetPart } from "./names.ts";
import type {
  AttachmentState,
  CertificateState,
  LoadBalancerState,
  RouteSpec,
  TargetSpec,
  UnitId,
  UnitState,
} from "./spec.ts";

/** One resource of a state. */
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
  readonly retainOnDelete?: boolean;
  readonly inputs?: object;
  readonly outputs?: object;
}

/** What all records refer to. */
export interface Surroundings {
  readonly stack: string;
  readonly root: ResourceRecord;
  readonly provider: ResourceRecord;
}

/** The records of one unit, its component first. Empty if nothing of it exists. */
export function recordsOf(unit: UnitId, state: UnitState | undefined, within: Surroundings): readonly ResourceRecord[] {
  if (!state) return [];
  const urn = componentUrn(within.stack, unit);
  const component = { urn, type: COMPONENT_TYPE[state.kind], custom: false, parent: within.root.urn };
  const builder = new UnitRecords(unit, component, within.provider);
  switch (state.kind) {
    case "route":
      return builder.route(state);
    case "certificate":
      return builder.certificate(state);
    case "load-balancer":
      return builder.balancer(state);
  }
}

/** Builds the records of one unit. */
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
    const own = { id: `${route.networkId}-${route.destination}`, inputs: routeInputs(route) };
    return [this.#component, this.#record("networkRoute:NetworkRoute", "route", own)];
  }

  certificate(state: CertificateState): readonly ResourceRecord[] {
    const { content } = state;
    const [token, inputs] =
      content.type === "managed"
        ? ["managedCertificate:ManagedCertificate", managedInputs(state, content.domains)]
        : [
            "uploadedCertificate:UploadedCertificate",
            uploadedInputs(state, { certificate: content.pem, privateKey: PRIVATE_KEY }),
          ];
    const record = this.#record(token, "certificate", { id: String(state.id), inputs });
    // The provider would otherwise take the record for one of an older schema, and convert it.
    return [this.#component, { ...record, outputs: { ...record.outputs, __meta: '{"schema_version":"1"}' } }];
  }

  balancer(state: LoadBalancerState): readonly ResourceRecord[] {
    const { id, networkZone, ipv4, ipv6, network } = state;
    const { networkZone: _computed, ...inputs } = balancerInputs(state);
    const own = { id: String(id), inputs };
    const record = this.#record("loadBalancer:LoadBalancer", "balancer", own);
    const balancer = { ...record, outputs: { ...record.outputs, networkZone, ipv4, ipv6 } };
    const part = { balancer: balancer.urn };
    const attachment = network && this.#attachment(state, network, part);
    return [
      this.#component,
      balancer,
      ...(attachment ? [attachment] : []),
      ...this.#names(state, part),
      ...state.listeners.map((listener) =>
        this.#record(
          "loadBalancerService:LoadBalancerService",
          listenerPart(listener.listenPort),
          { id: `${id}__${listener.listenPort}`, inputs: { ...listenerInputs(listener), loadBalancerId: String(id) } },
          part,
        ),
      ),
      ...state.targets.map((target) =>
        this.#record(
          "loadBalancerTarget:LoadBalancerTarget",
          targetPart(target),
          { id: targetId(target, id), inputs: { ...targetInputs(target), loadBalancerId: id } },
          attachment ? { ...part, [isPrivate(target) ? "through" : "after"]: attachment.urn } : part,
        ),
      ),
    ];
  }

  #names({ id, rdns = {}, ...state }: LoadBalancerState, part: PartOf): readonly ResourceRecord[] {
    return (["ipv4", "ipv6"] as const).flatMap((version) => {
      const [ipAddress, dnsPtr] = [state[version], rdns[version]];
      if (ipAddress === undefined || dnsPtr === undefined) return [];
      const inputs = { loadBalancerId: id, ipAddress, dnsPtr };
      const record = this.#record("rdns:Rdns", rdnsPart(version), { id: `l-${id}-${ipAddress}`, inputs }, part);
      return [{ ...record, propertyDependencies: { ...record.propertyDependencies, ipAddress: [part.balancer] } }];
    });
  }

  #attachment({ id, publicInterface }: LoadBalancerState, { ip, ...network }: AttachmentState, part: PartOf) {
    const inputs = { ...attachmentInputs(attachmentArgs({ ...network, publicInterface })), loadBalancerId: id };
    const { networkId } = network;
    const own = { id: `${id}-${networkId}`, inputs };
    const record = this.#record("loadBalancerNetwork:LoadBalancerNetwork", "network", own, part);
    return { ...record, outputs: { ...record.outputs, networkId, ip } };
  }

  #record(token: string, part: string, { id, inputs }: Own, of?: PartOf): ResourceRecord {
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
        dependencies: of.through ? [of.through] : [...(of.after ? [of.after] : []), of.balancer],
        propertyDependencies: { loadBalancerId: [of.through ?? of.balancer] },
        deletedWith: of.balancer,
      }),
    };
  }
}

/** The provider's id of a resource, and its inputs. */
type Own = Required<Pick<ResourceRecord, "id" | "inputs">>;

/** The load balancer that a part belongs to. */
interface PartOf {
  readonly balancer: string;
  /** URN of the network attachment, for a private target, which needs it … */
  readonly through?: string;
  /** … and for other targets, which are merely added after it. */
  readonly after?: string;
}

/** The id that the provider gives a target. */
function targetId(target: TargetSpec, balancer: number): string {
  return target.kind === "server"
    ? `lb-srv-tgt-${target.serverId}-${balancer}`
    : `lb-ip-tgt-${createHash("sha256").update(target.ip).digest("hex")}-${balancer}`;
}
