/** Mistakes that no single option makes: what does not fit together, or not into the cluster. */
import type { V1Service } from "@kubernetes/client-node";
import { listenerPart } from "../../../../stacks/units/names.ts";
import type { LoadBalancerState } from "../../../../stacks/units/spec.ts";
import type { Catalogue, Network } from "../../../hcloud/api.ts";
import type { CertificateSurroundings } from "../../certificate/plan.ts";
import { tcpPorts } from "../listeners.ts";
import { type ListenerOptionName, type OptionName, PREFIX } from "../options/annotations.ts";
import type { ServiceSettings, Settings } from "../options/settings.ts";
import type { ForeignParts } from "../ownership/foreign.ts";
import { catalogueProblems } from "./catalogue.ts";
import { certificateProblems } from "./certificates.ts";
import { networkProblems } from "./network.ts";

/** What a Service's settings must fit. */
export interface Surroundings {
  readonly networkId?: number;
  /** The cluster's network, where it is known. */
  readonly network?: Network;
  /** Addresses in that network that others have. */
  readonly takenIps?: ReadonlySet<string>;
  /** What the provider offers, where it is known. */
  readonly catalogue?: Catalogue;
  /** The balancer that exists for the Service, if one does, without its foreign parts. */
  readonly existing?: LoadBalancerState;
  readonly foreign?: ForeignParts;
  /** What the certificates of the Service are planned with. */
  readonly certificates: Omit<CertificateSurroundings, "present">;
}

/** One mistake, and the options that must not be applied because of it: of one port, or of the whole Service. */
export interface Problem {
  readonly message: string;
  readonly options: readonly OptionName[];
  readonly port?: number;
}

/** The settings with everything marked that does not fit, and the mistakes that were found before and here. */
export function checkSettings(service: V1Service, settings: ServiceSettings, around: Surroundings): ServiceSettings {
  const problems = [
    ...placeProblems(settings, around),
    ...networkProblems(settings, around),
    ...catalogueProblems(service, settings, around),
    ...tcpPorts(service).flatMap((port) => portProblems(port, settings.ports.get(port.port) ?? settings)),
    ...redirectProblems(service, settings, around),
    ...certificateProblems(settings, around.certificates.secrets !== undefined),
  ];
  if (problems.length === 0) return settings;
  const ofPort = (port: number) => problems.filter((problem) => (problem.port ?? port) === port);
  return {
    ...settings,
    ...withBroken(
      settings,
      problems.filter(({ port }) => port === undefined),
    ),
    ports: new Map([...settings.ports].map(([port, own]) => [port, withBroken(own, ofPort(port))])),
    mistakes: [...settings.mistakes, ...new Set(problems.map(({ message }) => message))],
  };
}

function withBroken({ options, sources, broken }: Settings, problems: readonly Problem[]): Settings {
  return { options, sources, broken: new Set([...broken, ...problems.flatMap(({ options: names }) => names)]) };
}

/** An existing balancer stays where it is, and the one it is; a new one needs to be told where to go. */
function placeProblems({ options, sources, broken }: Settings, { existing }: Surroundings): readonly Problem[] {
  if (existing) {
    if (options.id === undefined || options.id === existing.id) return [];
    const message = `${sources.id}: this Service already has balancer ${existing.id}; to change to ${options.id}, make a new Service`;
    return [{ message, options: ["id"] }];
  }
  if (options.location || options.networkZone || broken.has("location") || broken.has("networkZone")) return [];
  const message = `neither annotation ${PREFIX}location nor ${PREFIX}network-zone is set: set one of them, or HCLOUD_LOAD_BALANCERS_LOCATION for all Services`;
  return [{ message, options: [] }];
}

function portProblems(
  { port, nodePort }: { readonly port: number; readonly nodePort?: number },
  { options, sources }: Settings,
): readonly Problem[] {
  const problems: Problem[] = [];
  const refuse = (name: ListenerOptionName, message: string) => problems.push({ port, message, options: [name] });
  if (!nodePort) {
    refuse("protocol", `port ${port} has no node port: set allocateLoadBalancerNodePorts, or give it a nodePort`);
  }
  if (options.redirectHttp && options.protocol !== "https") {
    refuse("redirectHttp", `${sources.redirectHttp}: needs protocol https`);
  }
  return problems;
}

/** A redirect occupies port 80, and there can be only one. */
function redirectProblems(
  service: V1Service,
  { ports }: ServiceSettings,
  { foreign }: Surroundings,
): readonly Problem[] {
  const redirects = [...ports].filter(([, { options }]) => options.redirectHttp && options.protocol === "https");
  const isTaken = tcpPorts(service).some(({ port }) => port === 80) || foreign?.has(listenerPart(80));
  return redirects.slice(isTaken ? 0 : 1).map(([port, { sources }]) => ({
    port,
    options: ["redirectHttp"],
    message: `${sources.redirectHttp}: port 80 is taken${isTaken ? "" : " by the redirect to another port"}`,
  }));
}
