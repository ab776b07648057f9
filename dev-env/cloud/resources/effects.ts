/** What happens to resources when actions end. */
import type { ActionRecord } from "../state/actions.ts";
import type { Project } from "../state/project.ts";
import type { LoadBalancerRecord, ServerRecord } from "../state/records.ts";
import { finishIssuance } from "./certificate-rules.ts";
import { releaseIps } from "./primary-ip-rules.ts";

/** Applies the effects of all actions that have ended since the last call, in order. */
export function settle(project: Project): void {
  for (const action of project.actions.settle()) finish(project, action);
}

function finish(project: Project, { effect, error }: ActionRecord): void {
  if (effect?.kind === "issue-certificate") {
    const row = project.certificates.get(effect.certificate);
    if (row) project.certificates.put(finishIssuance(project, row, error));
  }
  if (!effect || error) return;
  switch (effect.kind) {
    case "server-status": {
      const server = project.servers.get(effect.server);
      if (server) project.servers.put({ ...server, status: effect.status });
      return;
    }
    case "remove-server": {
      const server = project.servers.get(effect.server);
      if (server) removeServer(project, server);
      return;
    }
    case "remove-load-balancer": {
      const balancer = project.loadBalancers.get(effect.loadBalancer);
      if (balancer) removeBalancer(project, balancer);
      return;
    }
  }
}

/** Deletes a load balancer and frees its primary IPs. */
export function removeBalancer(project: Project, balancer: LoadBalancerRecord): void {
  for (const ip of project.primaryIps.rowsWith(`load_balancer/${balancer.id}`)) {
    project.primaryIps.put({ ...ip, assignee: null });
  }
  project.loadBalancers.delete(balancer.id);
}

/** Deletes a server, with its targets, firewall scopes and addresses. */
export function removeServer(project: Project, server: ServerRecord): void {
  for (const balancer of project.loadBalancers.rowsWith(`server/${server.id}`)) {
    const targets = balancer.targets.filter((target) => target.type !== "server" || target.server.id !== server.id);
    project.loadBalancers.put({ ...balancer, targets });
  }
  for (const firewall of project.firewalls.rowsWith(`server/${server.id}`)) {
    const applied_to = firewall.applied_to.filter((scope) => scope.type !== "server" || scope.server.id !== server.id);
    project.firewalls.put({ ...firewall, applied_to });
  }
  releaseIps(project, server);
  project.servers.delete(server.id);
}
