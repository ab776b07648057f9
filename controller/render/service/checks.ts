/** Mistakes that no parser can find: options that contradict each other or do not fit the cluster. */
import type { V1Service, V1ServicePort } from "@kubernetes/client-node";
import { listenerPart } from "../../../stacks/units/names.ts";
import type { LoadBalancerState } from "../../../stacks/units/spec.ts";
import type { Catalogue, Network } from "../../hcloud/api.ts";
import type { CertificateSurroundings } from "../certificate/plan.ts";
import { catalogueProblems, networkProblems } from "./cloud-checks.ts";
import { takenLabels } from "./labels.ts";
import { tcpPorts } from "./listeners.ts";
import { type ListenerOptionName, type OptionName, PREFIX } from "./options/annotations.ts";
import { CERTIFICATE_OPTIONS } from "./options/certificate-options.ts";
import type { ServiceSettings, Settings } from "./options/settings.ts";
import type { ForeignParts } from "./ours.ts";

/** What the settings of a Service are checked against. */
export interface Surroundings {
  readonly networkId?: number;
  /** The cluster's network, if known. */
  readonly network?: Network;
  /** Addresses in the network that are in use by others. */
  readonly takenIps?: ReadonlySet<string>;
  /** Ids of all load balancers, by name. */
  readonly balancerIds?: ReadonlyMap<string, number>;
  /** What Hetzner offers, if known. */
  readonly catalogue?: Catalogue;
  /** The Service's existing load balancer, without its foreign parts. */
  readonly existing?: LoadBalancerState;
  readonly foreign?: ForeignParts;
  /** What the certificates of the Service are planned from. */
  readonly certificates: CertificateSurroundings;
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
    ...nameProblems(settings, around),
    ...labelProblems(settings, around),
    ...portlessProblems(service, around),
    ...networkProblems(settings, around),
    ...catalogueProblems(service, settings, around),
    ...tcpPorts(service).flatMap((port) => portProblems(port, settings.ports.get(port.port) ?? settings)),
    ...redirectProblems(service, settings, around),
    ...certificateProblems(settings, around.certificates.secrets !== undefined),
  ];
  if (problems.length === 0) return settings;
  const byPort = Map.groupBy(problems, ({ port }) => port);
  const ofAll = byPort.get(undefined) ?? [];
  const ofPort = (port: number) => [...ofAll, ...(byPort.get(port) ?? [])];
  return {
    ...settings,
    ...withBroken(settings, ofAll),
    ports: new Map([...settings.ports].map(([port, own]) => [port, withBroken(own, ofPort(port))])),
    mistakes: [...settings.mistakes, ...new Set(problems.map(({ message }) => message))],
  };
}

function withBroken({ options, sources, broken }: Settings, problems: readonly Problem[]): Settings {
  return { options, sources, broken: new Set([...broken, ...problems.flatMap(({ options: names }) => names)]) };
}

/** A new load balancer would cost money for nothing without a port that it can serve. */
function portlessProblems(service: V1Service, { existing }: Surroundings): readonly Problem[] {
  if (existing || tcpPorts(service).length > 0) return [];
  const protocols = [...new Set((service.spec?.ports ?? []).map(({ protocol }) => protocol))];
  const found = protocols.length === 0 ? "no ports" : `only ${protocols.join(" and ")} ports`;
  const message = `the Service has ${found}, and Hetzner load balancers forward TCP only: no load balancer is created; add a TCP port, or change spec.type`;
  return [{ message, options: [] }];
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

/** Names are unique in a project. Only an existing load balancer is renamed: a new one would adopt the other. */
function nameProblems({ options, sources }: Settings, { existing, balancerIds }: Surroundings): readonly Problem[] {
  const id = balancerIds?.get(options.name ?? "");
  if (!existing || id === undefined || id === existing.id) return [];
  const message = `${sources.name}: load balancer ${id} has this name already: choose another, or create a new Service to adopt it`;
  return [{ message, options: ["name"] }];
}

function labelProblems({ options, sources }: Settings, { existing }: Surroundings): readonly Problem[] {
  const taken = takenLabels(options.labels ?? {}, existing?.labels ?? {});
  if (taken.length === 0) return [];
  const message = `${sources.labels}: ${taken.join(", ")} of load balancer "${existing?.name}" has another value, which was set elsewhere: remove it there, or choose another key`;
  return [{ message, options: ["labels"] }];
}

function portProblems({ port, nodePort }: V1ServicePort, { options, sources }: Settings): readonly Problem[] {
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

/** Problems of all ports. Whether the certificates exist is not checked here: they may be created later. */
export function certificateProblems({ ports }: ServiceSettings, readsSecrets: boolean): readonly Problem[] {
  return [...ports].flatMap(([port, own]) => problemsOf(port, own, readsSecrets));
}

function problemsOf(port: number, { options, sources, broken }: Settings, readsSecrets: boolean): readonly Problem[] {
  const problems: Problem[] = [];
  const refuse = (name: ListenerOptionName, message: string) => problems.push({ port, message, options: [name] });
  const { protocol, certificateType, certificates = [], managedDomains = [], tlsSecrets = [] } = options;
  const isManaged = certificateType === "managed";
  const isUnread = NAMES.some((name) => broken.has(name));
  if (isManaged && managedDomains.length === 0 && !isUnread) {
    refuse("certificateType", `${sources.certificateType}: managed requires ${PREFIX}http-managed-certificate-domains`);
  }
  if (protocol === "https" && !isManaged && certificates.length + tlsSecrets.length === 0 && !isUnread) {
    refuse(
      "protocol",
      `${sources.protocol}: https requires a certificate: set ${PREFIX}http-certificates, ${PREFIX}certificate-type to managed, or ${PREFIX}tls-secret`,
    );
  }
  if (tlsSecrets.length > 0 && !readsSecrets) {
    refuse(
      "tlsSecrets",
      `${sources.tlsSecrets}: Secrets in this namespace are not read: set LOTSE_TLS_SECRETS to true or add the namespace to it, and allow the controller to list and watch Secrets`,
    );
  }
  return problems;
}

const NAMES = Object.keys(CERTIFICATE_OPTIONS) as (keyof typeof CERTIFICATE_OPTIONS)[];
