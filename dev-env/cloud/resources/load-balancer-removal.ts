import type { Project } from "../state/project.ts";
import type { LoadBalancerRecord } from "../state/records.ts";

/** Deletes a balancer; primary IPs it borrowed become free again. */
export function removeBalancer(project: Project, balancer: LoadBalancerRecord): void {
  for (const ip of project.primaryIps.rowsWith(`load_balancer/${balancer.id}`)) {
    project.primaryIps.put({ ...ip, assignee: null });
  }
  project.loadBalancers.delete(balancer.id);
}
