/** Taints the Nodes of servers that carry the label `maintenance`, so that no new pods are scheduled there. */
import type { V1Node, V1Taint } from "@kubernetes/client-node";
import type { Server } from "../../../controller/hcloud/api.ts";
import { findServer } from "../../../controller/render/node/metadata.ts";

const KEY = "example.com/maintenance";

/** The taints that a Node should have; undefined when it has them already, or when its server is not listed. */
export function decideMaintenance(node: V1Node, servers: readonly Server[]): readonly V1Taint[] | undefined {
  const server = findServer(node, servers);
  if (!server) return undefined;
  const taints = node.spec?.taints ?? [];
  const isTainted = taints.some(({ key }) => key === KEY);
  const isWanted = server.labels.maintenance === "true";
  if (isTainted === isWanted) return undefined;
  return isWanted ? [...taints, { key: KEY, effect: "NoSchedule" }] : taints.filter(({ key }) => key !== KEY);
}
