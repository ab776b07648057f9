/** Checks type, location and number of listeners against what Hetzner offers. */
import type { V1Service } from "@kubernetes/client-node";
import type { Catalogue } from "../../../hcloud/api.ts";
import { tcpPorts } from "../listeners.ts";
import type { Settings } from "../options/settings.ts";
import { countForeign } from "../ownership/foreign.ts";
import type { Problem, Surroundings } from "./checks.ts";
import { limitsOf } from "./limits.ts";

/** The official controller's default type. */
export const DEFAULT_TYPE = "lb11";

/** Problems with the catalogue; none while it is unknown. */
export function catalogueProblems(service: V1Service, settings: Settings, around: Surroundings): readonly Problem[] {
  const { catalogue } = around;
  if (!catalogue) return [];
  const type = typeProblems(settings, catalogue);
  return [
    ...type,
    ...(around.existing ? [] : locationProblems(settings, catalogue)),
    ...listenerProblems(service, type.length > 0 ? undefined : settings.options.type, around),
  ];
}

function typeProblems({ options, sources }: Settings, { types }: Catalogue): readonly Problem[] {
  if (!options.type || types.some(({ name }) => name === options.type)) return [];
  return [unknown({ source: sources.type, value: options.type, kind: "type", known: types, option: "type" })];
}

function locationProblems({ options, sources }: Settings, { locations }: Catalogue): readonly Problem[] {
  const { location, networkZone } = options;
  if (location) {
    if (locations.some(({ name }) => name === location)) return [];
    const source = sources.location;
    return [unknown({ source, value: location, kind: "location", known: locations, option: "location" })];
  }
  const zones = [...new Set(locations.map(({ network_zone }) => network_zone))];
  if (!networkZone || zones.includes(networkZone)) return [];
  const known = zones.map((name) => ({ name }));
  const source = sources.networkZone;
  return [unknown({ source, value: networkZone, kind: "network zone", known, option: "networkZone" })];
}

interface Unknown {
  /** The annotation or variable that set the value. */
  readonly source: string | undefined;
  readonly value: string;
  readonly kind: string;
  readonly known: readonly { readonly name: string }[];
  readonly option: Problem["options"][number];
}

function unknown({ source, value, kind, known, option }: Unknown): Problem {
  const names = known.map(({ name }) => name).join(", ");
  return {
    message: `${source}: ${JSON.stringify(value)} is not a known ${kind}; known are ${names}`,
    options: [option],
  };
}

/** Ports beyond the limit get no listener; existing listeners are kept. */
function listenerProblems(
  service: V1Service,
  wantedType: string | undefined,
  { catalogue, existing, foreign }: Surroundings,
): readonly Problem[] {
  const type = wantedType || (existing?.type ?? DEFAULT_TYPE);
  const limits = limitsOf(catalogue?.types ?? [], type);
  const ports = tcpPorts(service).map(({ port }) => port);
  const places = (limits?.listeners ?? ports.length) - countForeign(foreign).listeners;
  if (ports.length <= places) return [];
  const has = (port: number) => existing?.listeners.some(({ listenPort }) => listenPort === port) ?? false;
  const inOrder = ports.toSorted((a, b) => Number(has(b)) - Number(has(a)) || a - b);
  const message = `${ports.length} ports need one listener each, but type ${type} only has room for ${Math.max(places, 0)}: choose a larger type`;
  return inOrder.slice(Math.max(places, 0)).map((port) => ({ message, port, options: ["protocol"] }));
}
