/** Mistakes that no parser can find: options that contradict each other or do not fit the cluster. */
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

/** What the settings of a Service are checked against. */
export interface Surroundings {
  readonly networkId?: number;
  /** The cluster's network, if known. */
  readonly network?: Network;
  /** Addresses in the network that are in use by others. */
  readonly takenIps?: ReadonlySet<string>;
  /** What Hetzner offers, if known. */
  readonly catalogue?: Catalogue;
  /** The Service's existing load balancer, without its foreign parts. */
  readonly existing?: LoadBalancerState;
  readonly foreign?: ForeignParts;
  /** What the certificates of the Service are planned from. */
  readonly certificates: Omit<CertificateSurroundings, "present">;
}

/** One mistake, and the options that must not be applied because of it, for one port or for the whole Service. */
export interface Problem {
  readonly message: string;
  readonly options: readonly OptionName[];
  readonly port?: number;
}

/** The settings with all problematic options marked as broken, and the mistakes added to those found before. */
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

/** An existing load balancer is neither moved nor exchanged; a new one needs a location or network zone. */
function placeProblems({ options, sources, broken }: Settings, { existing }: Surroundings): readonly Problem[] {
  if (existing) {
    if (options.id === undefined || options.id === existing.id) return [];
    const message = `${sources.id}: this Service already has load balancer ${existing.id}; to use ${options.id}, create a new Service`;
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
    refuse(
      "protocol",
      `port ${port} has no node port: set allocateLoadBalancerNodePorts to true, or specify a nodePort`,
    );
  }
  if (options.redirectHttp && options.protocol !== "https") {
    refuse("redirectHttp", `${sources.redirectHttp}: requires protocol https`);
  }
  return problems;
}

/** A redirect occupies port 80, so that there can be only one. */
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
    message: `${sources.redirectHttp}: port 80 is already in use${isTaken ? "" : " by the redirect to another port"}`,
  }));
}
