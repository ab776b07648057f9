/** The machines of the suite: a network and two servers in the project, and their kubelets at a local API server. */
import type { Network, Server } from "../../controller/hcloud/api.ts";
import type { Cluster } from "../../dev-env/cluster/cluster.ts";
import type { ProjectApi } from "../../dev-env/project/api.ts";
import { SERVERS } from "./price.ts";
import type { Machines } from "./stage.ts";
import { BALANCER_SUBNET } from "./steps/services.ts";

export interface MachineOptions {
  readonly api: ProjectApi;
  readonly cluster: Cluster;
  readonly location: string;
  readonly serverType: string;
  readonly signal: AbortSignal;
}

const SERVER_SUBNET = "10.0.1.0/24";
const IMAGE = "debian-13";
/** Pod ranges of all nodes, for the controller. */
export const CLUSTER_CIDR = "10.244.0.0/16";

/** Creates network and servers, and registers a Node for each server. */
export async function createMachines(options: MachineOptions): Promise<Machines> {
  const { api, location, signal } = options;
  const { locations } = await api.send<{ locations: readonly { network_zone: string }[] }>(
    "GET",
    `/locations?name=${location}`,
  );
  const zone = locations[0]?.network_zone;
  if (zone === undefined) throw new Error(`there is no location ${location}: choose another one with --location`);
  const subnets = [SERVER_SUBNET, BALANCER_SUBNET.range].map((ip_range) => {
    return { type: "cloud", ip_range, network_zone: zone };
  });
  const wanted = { name: "lotse-test", ip_range: "10.0.0.0/16", subnets };
  const { network } = await api.send<{ network: Network }>("POST", "/networks", wanted);
  const nodes: Machines["nodes"][number][] = [];
  for (let index = 1; index <= SERVERS; index++) {
    signal.throwIfAborted();
    nodes.push(await createMachine(options, network.id, index));
  }
  return { api, networkId: network.id, zone, nodes };
}

async function createMachine(
  { api, cluster, location, serverType, signal }: MachineOptions,
  network: number,
  index: number,
) {
  const podCidr = `10.244.${index}.0/24`;
  const wanted = { name: `lotse-test-${index}`, server_type: serverType, image: IMAGE, location };
  const { server: made } = await api.make<{ server: Server }>("/servers", wanted, signal);
  const attachment = { network, ip: `10.0.1.${index + 1}` };
  await api.make(`/servers/${made.id}/actions/attach_to_network`, attachment, signal);
  const { server } = await api.send<{ server: Server }>("GET", `/servers/${made.id}`);
  const nodeIp = server.private_net[0]?.ip ?? "";
  const kubelet = await cluster.registerNode({ name: server.name, nodeIp, podCidrs: [podCidr] });
  return { server, kubelet, podCidr };
}
