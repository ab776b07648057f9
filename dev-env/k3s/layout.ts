/**
 * Names, labels and addresses of a development environment. The label is how its parts are found again when the state
 * does not know them: what is here must not change while somebody's environment is up.
 */

/** The network, and in it one subnet for the machines and a range for the pods, which are reached by routes. */
export const NETWORK_CIDR = "10.0.0.0/8";
export const SUBNET_CIDR = "10.0.0.0/24";
export const POD_CIDR = "10.244.0.0/16";
export const NETWORK_ZONE = "eu-central";

/** Locations of the network zone. */
export const LOCATIONS = ["fsn1", "nbg1", "hel1"] as const;

/** Private address of the control plane; 10.0.0.1 is the network's gateway. */
export const CONTROL_PLANE_IP = "10.0.0.2";

/** Where the API server listens, on the private network and in public. */
export const API_PORT = 6443;

/** A spread placement group takes ten servers, and one is the control plane. */
export const MAX_WORKERS = 9;

/** The image of all machines. */
export const IMAGE = "ubuntu-24.04";

/** Label on everything that an environment is made of; its value is the environment's name. */
export const LABEL = "lotse-dev-env";

/** Private address of a worker; workers count from 1. */
export function workerIp(index: number): string {
  return `10.0.0.${10 + index}`;
}

/** Labels of an environment's parts. */
export function labelsOf(environment: string): Readonly<Record<string, string>> {
  return { [LABEL]: environment };
}

/** Name of a part in the cloud, where names are unique per project: `lotse-dev-worker-1`. */
export function cloudName(environment: string, part: string): string {
  return `${environment}-${part}`;
}
