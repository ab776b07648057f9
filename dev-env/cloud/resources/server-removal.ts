import type { Project } from "../state/project.ts";
import type { ServerRecord } from "../state/records.ts";
import { releaseIps } from "./primary-ip-rules.ts";

/** Deletes a server and every trace of it: targets, firewall scopes, addresses; attachments go with the row. */
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
