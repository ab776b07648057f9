/** The state that a spec leads to, for what a forecast says about load balancers that do not exist yet. Pure. */
import type { V1Service } from "@kubernetes/client-node";
import { namedAddresses } from "../../stacks/units/args.ts";
import { type Difference, differences } from "../../stacks/units/difference.ts";
import { SERVICE_UID_LABEL } from "../../stacks/units/names.ts";
import type { LoadBalancerSpec, LoadBalancerState } from "../../stacks/units/spec.ts";
import { isMark } from "../formats/marks.ts";
import { renderListeners } from "../render/service/listeners.ts";
import type { Settings } from "../render/service/options/settings.ts";
import { defaultName } from "../render/service/wanted.ts";

/** The load balancer after the spec was applied, without addresses. */
export function asApplied({ service: _, place, network, rdns = {}, ...spec }: LoadBalancerSpec): LoadBalancerState {
  return {
    ...spec,
    id: 0,
    location: "",
    networkZone: "",
    ...place,
    publicInterface: network?.publicInterface ?? true,
    ...(network && { network: { ip: "", ...network } }),
    rdns: namedAddresses(rdns),
  };
}

/** The fields of a load balancer that differ from what the same ports would get without any option. */
export function customFields(spec: LoadBalancerSpec, service: V1Service): readonly Difference[] {
  return differences(spec, asApplied(withoutOptions(spec, service)))
    .filter(({ want }) => want)
    .map(({ have: _, ...difference }) => difference);
}

const NO_SETTINGS: Settings = { options: {}, sources: {}, broken: new Set() };

/** Keeps type and place, which every load balancer has to have, and the protocols of the listeners. */
function withoutOptions({ rdns: _, ...spec }: LoadBalancerSpec, { spec: asked }: V1Service): LoadBalancerSpec {
  const { listeners, network } = spec;
  const ports = new Map(
    listeners.map(({ listenPort, protocol }) => [listenPort, { ...NO_SETTINGS, options: { protocol } }]),
  );
  const certificates = new Map(listeners.map(({ listenPort, http }) => [listenPort, http?.certificateIds ?? []]));
  const labels = Object.entries(spec.labels).filter(([key]) => key === SERVICE_UID_LABEL || isMark(key));
  return {
    ...spec,
    name: defaultName(spec.service.uid),
    algorithm: "round_robin",
    deleteProtection: false,
    labels: Object.fromEntries(labels),
    ...(network && { network: { networkId: network.networkId, publicInterface: true } }),
    listeners: renderListeners(
      { spec: { ports: asked?.ports ?? [] } },
      { ...NO_SETTINGS, ports, mistakes: [], notes: [] },
      { certificates },
    ),
  };
}
