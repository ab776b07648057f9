/** A read-only view of all resources in the shape of the API. */
import type { Kind } from "./api/resource.ts";
import { certificateKind } from "./resources/certificates.ts";
import { settle } from "./resources/effects.ts";
import { firewallKind } from "./resources/firewalls.ts";
import { loadBalancerKind } from "./resources/load-balancers.ts";
import { networkKind } from "./resources/networks.ts";
import { placementGroupKind } from "./resources/placement-groups.ts";
import { primaryIpKind } from "./resources/primary-ips.ts";
import { serverKind } from "./resources/servers.ts";
import { sshKeyKind } from "./resources/ssh-keys.ts";
import { viewRrset } from "./resources/zone-rrsets.ts";
import { zoneKind } from "./resources/zones.ts";
import type { Action } from "./state/actions.ts";
import type { Project } from "./state/project.ts";
import type { Row } from "./state/table.ts";

/** All resources in the shape of the API. */
export type CloudState = ReturnType<typeof stateOf>;

/** A live view of the project. Actions that have ended take effect before each read. */
export function stateOf(project: Project) {
  return {
    servers: viewOf(project, serverKind),
    networks: viewOf(project, networkKind),
    loadBalancers: viewOf(project, loadBalancerKind),
    certificates: viewOf(project, certificateKind),
    placementGroups: viewOf(project, placementGroupKind),
    firewalls: viewOf(project, firewallKind),
    sshKeys: viewOf(project, sshKeyKind),
    primaryIps: viewOf(project, primaryIpKind),
    zones: viewOf(project, zoneKind),
    rrsets: () => [...project.rrsets.values()].map(viewRrset),
    actions: {
      get: (id: number): Action | undefined => {
        const action = project.actions.table.get(id);
        return action && project.actions.view(action);
      },
      values: (): readonly Action[] => [...project.actions.table.values()].map(project.actions.view),
    },
  };
}

/** One kind of resource as a read-only map by id. Values are rendered on access. */
function viewOf<R extends Row & { readonly name: string }, V>(project: Project, kind: Kind<R, V>) {
  const rows = () => {
    settle(project);
    return kind.rows(project);
  };
  const all = () => [...rows().values()];
  return {
    get size() {
      return all().length;
    },
    ids: (): readonly number[] => all().map(({ id }) => id),
    get: (id: number) => {
      const row = rows().get(id);
      return row && kind.view(project, row);
    },
    find: (name: string) => {
      const row = all().find((candidate) => candidate.name === name);
      return row && kind.view(project, row);
    },
    values: (): readonly V[] => all().map((row) => kind.view(project, row)),
  };
}
