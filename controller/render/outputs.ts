/** The stack's outputs, from what was rendered and decided. Pure. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { defined } from "../../stacks/units/defined.ts";
import { unitOf } from "../../stacks/units/names.ts";
import type { NodeOutput, ServiceOutput, StackOutputs } from "../../stacks/units/outputs.ts";
import type { LoadBalancerState } from "../../stacks/units/spec.ts";
import type { Rendered } from "./cluster.ts";
import { balancerIn } from "./intents.ts";
import type { NodeVerdict } from "./node/metadata.ts";
import { serviceName } from "./service/ours.ts";

/** The part of the outputs that units determine. */
export function unitOutputs({ services, routes, existing }: Rendered): Pick<StackOutputs, "services" | "routes"> {
  const served = services.flatMap((intent) => {
    const state = balancerIn(existing, intent.unit);
    if (intent.kind === "retire" || !state) return [];
    const hostname = intent.kind === "balance" ? intent.settings.options.hostname : undefined;
    return [[serviceName(intent.service), serviceOutput(intent.service, state, hostname)] as const];
  });
  const routed = (routes?.wanted ?? []).flatMap(({ node, spec }) => {
    const state = existing[unitOf(spec)];
    return state?.kind === "route" ? [[state.destination, { gateway: state.gateway, node }] as const] : [];
  });
  return { services: sorted(served), routes: sorted(routed) };
}

/** The part of the outputs that Nodes determine. */
export function nodeOutputs(decided: readonly { readonly node: V1Node; readonly verdict: NodeVerdict }[]) {
  const ready = decided.flatMap(({ node, verdict }): (readonly [string, NodeOutput])[] =>
    verdict.kind === "ready" ? [[node.metadata?.name ?? "", verdict.output]] : [],
  );
  return { nodes: sorted(ready) };
}

function serviceOutput(
  { metadata, spec }: V1Service,
  { id, name, ipv4, ipv6, network, publicInterface }: LoadBalancerState,
  hostname: string | undefined,
): ServiceOutput {
  return {
    uid: metadata?.uid ?? "",
    loadBalancerId: id,
    name,
    ...(publicInterface && defined({ ipv4, ipv6 })),
    ...defined({ privateIp: network?.ip, hostname: hostname || undefined }),
    ports: (spec?.ports ?? []).map(({ port, nodePort = 0, protocol = "TCP" }) => ({ port, nodePort, protocol })),
  };
}

/** By key, so that equal outputs have equal texts. */
function sorted<T>(entries: readonly (readonly [string, T])[]): Readonly<Record<string, T>> {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
