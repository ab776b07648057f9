/** Mistakes that no single option makes: what does not fit together, or not into the cluster. */
import type { V1Service } from "@kubernetes/client-node";
import type { LoadBalancerState } from "../../stacks/spec.ts";
import { type ListenerOptionName, type OptionName, PREFIX, type ServiceOptions } from "./annotations.ts";
import { tcpPorts } from "./listeners.ts";
import type { ServiceSettings, Settings } from "./settings.ts";

/** What a Service's settings must fit. */
export interface Surroundings {
  readonly networkId?: number;
  /** The balancer that exists for the Service, if one does. */
  readonly present?: LoadBalancerState;
}

/** One mistake, and the options that must not be applied because of it: of one port, or of the whole Service. */
interface Problem {
  readonly message: string;
  readonly options: readonly OptionName[];
  readonly port?: number;
}

/** The settings with everything marked that does not fit, and the mistakes that were found before and here. */
export function checkSettings(service: V1Service, settings: ServiceSettings, around: Surroundings): ServiceSettings {
  const problems = [
    ...placeProblems(settings, around),
    ...networkProblems(settings, around),
    ...tcpPorts(service).flatMap((port) => portProblems(port, settings.ports.get(port.port) ?? settings)),
  ];
  if (problems.length === 0) return settings;
  const ports = [...settings.ports].map(
    ([port, own]) =>
      [
        port,
        withBroken(
          own,
          problems.filter((problem) => (problem.port ?? port) === port),
        ),
      ] as const,
  );
  return {
    ...settings,
    ...withBroken(
      settings,
      problems.filter((problem) => problem.port === undefined),
    ),
    ports: new Map(ports),
    mistakes: [...settings.mistakes, ...new Set(problems.map(({ message }) => message))],
  };
}

function withBroken({ options, sources, broken }: Settings, problems: readonly Problem[]): Settings {
  return { options, sources, broken: new Set([...broken, ...problems.flatMap(({ options: names }) => names)]) };
}

/** An existing balancer stays where it is; a new one needs to be told where to go. */
function placeProblems({ options }: Settings, { present }: Surroundings): readonly Problem[] {
  if (present || options.location || options.networkZone) return [];
  const message = `neither annotation ${PREFIX}location nor ${PREFIX}network-zone is set: set one of them, or HCLOUD_LOAD_BALANCERS_LOCATION for all Services`;
  return [{ message, options: [] }];
}

function networkProblems({ options, sources }: Settings, { networkId }: Surroundings): readonly Problem[] {
  if (networkId !== undefined) return [];
  const needing = ["usePrivateIp", "disablePublicNetwork", "privateIpv4"] as const satisfies (keyof ServiceOptions)[];
  return needing
    .filter((name) => options[name])
    .map((name) => ({
      message: `${sources[name]}: needs a network, and HCLOUD_NETWORK is not set`,
      options: [name],
    }));
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
  if (options.protocol === "https") {
    refuse("protocol", `${sources.protocol}: https needs certificates, which this version does not support yet`);
  }
  if (options.redirectHttp && options.protocol !== "https") {
    refuse("redirectHttp", `${sources.redirectHttp}: needs protocol https`);
  }
  return problems;
}
