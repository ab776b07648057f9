/** What the API lists of an environment: its own resources by their label, and those that its controller created. */
import { SERVICE_UID_LABEL } from "../../stacks/units/names.ts";
import { type Found, type ListReader, listAll } from "../project/inventory.ts";
import { LABEL } from "./settings.ts";

/** The kinds that a cluster consists of, each after those that it may depend on. */
const OWN = ["ssh_keys", "firewalls", "placement_groups", "networks", "load_balancers", "servers"] as const;

/** Everything that carries the environment's label, in the order of dependencies. */
export function listOwn(read: ListReader, environment: string): Promise<readonly Found[]> {
  return listAll(read, OWN, `${LABEL}=${environment}`);
}

/**
 * What the controller of an environment created. It carries the controller's label, not the environment's: load balancers
 * in the environment's network or with its servers as targets, and certificates of the same Services.
 */
export async function listMade(read: ListReader, own: readonly Found[]): Promise<readonly Found[]> {
  const all = await listAll(read, ["certificates", "load_balancers"], SERVICE_UID_LABEL);
  const isOwn = (id: number | undefined) => own.some((it) => it.id === String(id));
  const isBalancer = ({ private_net = [], targets = [] }: Found) =>
    private_net.some(({ network }) => isOwn(network)) || targets.some(({ server }) => isOwn(server?.id));
  const uidOf = ({ labels = {} }: Found) => labels[SERVICE_UID_LABEL];
  const uids = new Set(all.filter(isBalancer).map(uidOf));
  return all.filter((it) => isBalancer(it) || (it.collection === "certificates" && uids.has(uidOf(it))));
}
