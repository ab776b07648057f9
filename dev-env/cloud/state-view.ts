import type { Kind } from "./api/resource.ts";
import { type Certificate, certificateKind } from "./resources/certificates.ts";
import { settle } from "./resources/effects.ts";
import { type Firewall, firewallKind } from "./resources/firewalls.ts";
import type { LoadBalancer } from "./resources/load-balancer-view.ts";
import { loadBalancerKind } from "./resources/load-balancers.ts";
import { type Network, networkKind } from "./resources/networks.ts";
import { type PlacementGroup, placementGroupKind } from "./resources/placement-groups.ts";
import { type PrimaryIp, primaryIpKind } from "./resources/primary-ips.ts";
import type { Server } from "./resources/server-view.ts";
import { serverKind } from "./resources/servers.ts";
import { type SshKey, sshKeyKind } from "./resources/ssh-keys.ts";
import type { Action } from "./state/actions.ts";
import type { Project } from "./state/project.ts";
import type { Row } from "./state/table.ts";

/** One kind of resource as a read-only map by id; values are rendered when asked for. */
export interface View<V> {
  readonly size: number;
  ids(): readonly number[];
  get(id: number): V | undefined;
  find(name: string): V | undefined;
  values(): readonly V[];
}

/** Everything in the cloud, in API shape. */
export interface CloudState {
  readonly servers: View<Server>;
  readonly networks: View<Network>;
  readonly loadBalancers: View<LoadBalancer>;
  readonly certificates: View<Certificate>;
  readonly placementGroups: View<PlacementGroup>;
  readonly firewalls: View<Firewall>;
  readonly sshKeys: View<SshKey>;
  readonly primaryIps: View<PrimaryIp>;
  readonly actions: { get(id: number): Action | undefined; values(): readonly Action[] };
}

/** A live view of the project; actions that are due take effect before anything is read. */
export function stateOf(project: Project): CloudState {
  return {
    servers: viewOf(project, serverKind),
    networks: viewOf(project, networkKind),
    loadBalancers: viewOf(project, loadBalancerKind),
    certificates: viewOf(project, certificateKind),
    placementGroups: viewOf(project, placementGroupKind),
    firewalls: viewOf(project, firewallKind),
    sshKeys: viewOf(project, sshKeyKind),
    primaryIps: viewOf(project, primaryIpKind),
    actions: {
      get: (id) => {
        const action = project.actions.table.get(id);
        return action && project.actions.view(action);
      },
      values: () => [...project.actions.table.values()].map(project.actions.view),
    },
  };
}

function viewOf<R extends Row & { readonly name: string }, V>(project: Project, kind: Kind<R, V>): View<V> {
  const rows = () => {
    settle(project);
    return kind.rows(project);
  };
  const all = () => [...rows().values()];
  return {
    get size() {
      return all().length;
    },
    ids: () => all().map(({ id }) => id),
    get: (id) => {
      const row = rows().get(id);
      return row && kind.view(project, row);
    },
    find: (name) => {
      const row = all().find((candidate) => candidate.name === name);
      return row && kind.view(project, row);
    },
    values: () => all().map((row) => kind.view(project, row)),
  };
}
