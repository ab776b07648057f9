/** `dev-env status`: what exists in the cloud, and what it costs. */
import { existsSync } from "node:fs";
import { describeType } from "../../stacks/engine/progress.ts";
import type { Environment } from "./environment.ts";
import { listMade, listOwn, openProject, type Resource } from "./inventory.ts";
import { checkedCost } from "./up.ts";

/** Shows the environment, and the commands to type next. Changes nothing. */
export async function status(env: Environment): Promise<void> {
  const { access, name, screen, folder } = env;
  using api = openProject(access);
  const own = await listOwn(api.list, name);
  if (own.length === 0) return screen.say("cloud", `nothing of ${name} exists: "npm run dev-env up" builds it`);
  for (const resource of [...own, ...(await listMade(api.list, own))]) screen.say("cloud", describe(resource));
  screen.say("cost", await checkedCost(env));
  const next = existsSync(folder.kubeconfig)
    ? `kubectl --kubeconfig ${folder.kubeconfig} get nodes,services --all-namespaces`
    : 'the cluster is not built yet: run "npm run dev-env up" again';
  screen.say("next", next);
  screen.say("next", '"npm run dev-env preview" shows differences, "npm run dev-env down" removes everything');
}

function describe({ type, name, listed }: Resource): string {
  const details = [listed.status, listed.public_net?.ipv4?.ip].filter((it) => it !== undefined);
  return `${describeType(type)} ${name}${details.length > 0 ? `: ${details.join(", ")}` : ""}`;
}
