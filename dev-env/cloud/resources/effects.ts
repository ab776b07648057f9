import type { ActionRecord } from "../state/actions.ts";
import type { Project } from "../state/project.ts";
import { finishIssuance } from "./certificate-rules.ts";
import { removeBalancer } from "./load-balancer-removal.ts";
import { removeServer } from "./server-removal.ts";

/** Brings the project up to its clock: what ended since the last call takes effect, in order. */
export function settle(project: Project): void {
  for (const action of project.actions.settle()) finish(project, action);
}

function finish(project: Project, { effect, error }: ActionRecord): void {
  if (!effect) return;
  switch (effect.kind) {
    case "server-status": {
      const server = project.servers.get(effect.server);
      if (server && !error) project.servers.put({ ...server, status: effect.status });
      return;
    }
    case "remove-server": {
      const server = project.servers.get(effect.server);
      if (server && !error) removeServer(project, server);
      return;
    }
    case "remove-load-balancer": {
      const balancer = project.loadBalancers.get(effect.loadBalancer);
      if (balancer && !error) removeBalancer(project, balancer);
      return;
    }
    case "issue-certificate": {
      const row = project.certificates.get(effect.certificate);
      if (row) project.certificates.put(finishIssuance(project, row, error));
      return;
    }
  }
}
