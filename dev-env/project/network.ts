/** Refuses settings that would replace a network in use. */
import { ConfigError } from "../../controller/diagnostics/errors.ts";
import type { ProjectApi, Resource } from "./api.ts";

/** A network of the API, with the fields used here. */
interface Network extends Resource {
  readonly ip_range: string;
  readonly subnets: readonly { readonly network_zone: string }[];
}

/** What a network should be. */
export interface NetworkSettings {
  readonly network: string;
  /** Network zone of its subnets. */
  readonly zone: string;
}

/**
 * Throws a ConfigError if the network that a selector finds has another range or zone. The engine would replace it, which
 * fails: its name is in use, and the plugin tries for 45 minutes to remove a subnet in which servers are.
 */
export async function checkNetwork(
  api: Pick<ProjectApi, "list">,
  selector: string,
  { network, zone }: NetworkSettings,
): Promise<void> {
  const found = await api.list<Network>("networks", selector);
  const mistakes = found.flatMap(({ name, ip_range, subnets }) => {
    const zones = subnets.map(({ network_zone }) => network_zone);
    const remedy = 'cannot be changed while it exists: run "npm run dev-env down" first';
    return [
      ...(ip_range === network ? [] : [`--network: ${ip_range} of ${name} ${remedy}`]),
      ...(zones.every((it) => it === zone) ? [] : [`--location: the zone ${zones.join(", ")} of ${name} ${remedy}`]),
    ];
  });
  if (mistakes.length > 0) throw new ConfigError(mistakes);
}
