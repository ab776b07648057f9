/** Notes about requests that have no effect or need attention. The Service is served nevertheless. */
import type { V1Service } from "@kubernetes/client-node";
import type { LoadBalancerSpec, LoadBalancerState } from "../../../stacks/units/spec.ts";
import type { Catalogue } from "../../hcloud/api.ts";
import type { Notice } from "../../publish/writes.ts";
import { shortened } from "../refusals.ts";
import type { Surroundings } from "./checks.ts";
import { tcpPorts } from "./listeners.ts";
import { overridesLocalCheck } from "./local-traffic.ts";
import type { ServiceSettings, Settings } from "./options/settings.ts";

/** Notes that follow from the Service alone. */
export function adviseOn(service: V1Service, settings: ServiceSettings): readonly Note[] {
  return [...protocolNotes(service), ...fieldNotes(service), ...localNotes(service, settings)];
}

/** Notes that follow from its load balancer, existing or new. */
export function adviseOnBalancer(settings: Settings, spec: LoadBalancerSpec, { existing, catalogue }: Surroundings) {
  return [...typeNotes(spec, catalogue), ...(existing ? placeNotes(settings, existing) : [])];
}

/** Maximum number of ports in one Event, whose length is limited. */
const MOST = 10;

/** Ports that are not TCP (HCCM V1). */
function protocolNotes(service: V1Service): readonly Note[] {
  const served = new Set(tcpPorts(service));
  const others = (service.spec?.ports ?? []).filter((port) => !served.has(port));
  if (others.length === 0) return [];
  const all = others.map(
    ({ port, protocol }) => `port ${port}/${protocol} is not served: Hetzner load balancers only forward TCP`,
  );
  return [{ reason: "UnsupportedProtocolConfigured", message: shortened(all, MOST).join("; ") }];
}

const RANGES_ANNOTATION = "service.beta.kubernetes.io/load-balancer-source-ranges";

function fieldNotes({ spec, metadata }: V1Service): readonly Note[] {
  const ranges = spec?.loadBalancerSourceRanges ?? metadata?.annotations?.[RANGES_ANNOTATION]?.split(",") ?? [];
  const isFiltering = ranges.some((range) => !["", "0.0.0.0/0", "::/0"].includes(range.trim()));
  const messages = [
    isFiltering &&
      "loadBalancerSourceRanges has no effect: Hetzner load balancers cannot filter by source address, so every client has access",
    spec?.sessionAffinity === "ClientIP" &&
      "sessionAffinity ClientIP has no effect on the load balancer: for http, set annotation load-balancer.hetzner.cloud/http-sticky-sessions",
    spec?.loadBalancerIP &&
      "loadBalancerIP has no effect: to use an existing address, adopt its load balancer with annotation load-balancer.hetzner.cloud/id",
  ].filter((message) => typeof message === "string" && message !== "");
  return messages.length > 0 ? [{ reason: "UnsupportedFieldConfigured", message: messages.join("; ") }] : [];
}

function localNotes(service: V1Service, settings: ServiceSettings): readonly Note[] {
  const sources = new Set(
    tcpPorts(service).flatMap(({ port }) => overridesLocalCheck(service, settings.ports.get(port) ?? settings)),
  );
  if (sources.size === 0) return [];
  const message = `externalTrafficPolicy is Local, but health checks are configured by ${[...sources].join(", ")}: nodes without endpoints may receive traffic`;
  return [{ reason: "HealthCheckOverridden", message }];
}

function typeNotes({ type }: LoadBalancerSpec, catalogue: Catalogue | undefined): readonly Note[] {
  const found = catalogue?.types.find(({ name }) => name === type);
  if (!found?.deprecation) return [];
  const message = `type ${type} is deprecated and cannot be ordered after ${found.deprecation.unavailable_after}: choose another type`;
  return [{ reason: "LoadBalancerTypeDeprecated", message }];
}

/** Only for annotations: the environment variables concern new load balancers. */
function placeNotes({ options, sources }: Settings, existing: LoadBalancerState): readonly Note[] {
  const { location, networkZone } = options;
  const isAsked = (source: string | undefined) => source?.startsWith("annotation") ?? false;
  const isElsewhere = location
    ? isAsked(sources.location) && location !== existing.location
    : networkZone && isAsked(sources.networkZone) && networkZone !== existing.networkZone;
  if (!isElsewhere) return [];
  const message = `the load balancer stays in ${existing.location}: it cannot move to ${location || networkZone} and keep its address; create a new Service to move`;
  return [{ reason: "LoadBalancerNotMoved", message }];
}

/** One note, reported as an Event. */
export type Note = Pick<Notice, "reason" | "message">;
