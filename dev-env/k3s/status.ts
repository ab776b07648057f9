/** `dev-env status`: what exists in the cloud, and what it costs. */
import { existsSync } from "node:fs";
import { type Found, kindOf } from "../project/inventory.ts";
import { checkedCost } from "./cost.ts";
import type { Environment } from "./environment.ts";
import { listMade, listOwn } from "./inventory.ts";

/** Shows the environment, and the commands to type next. Changes nothing. */
export async function status(env: Environment): Promise<void> {
  const { api, name, screen, folder } = env;
  const own = await listOwn(api.list, name);
  if (own.length === 0) return screen.say("cloud", `nothing of ${name} exists: "npm run dev-env up" builds it`);
  for (const resource of [...own, ...(await listMade(api.list, own))]) screen.say("cloud", describe(resource));
  screen.say("cost", await checkedCost(env));
  if (existsSync(folder.kubeconfig))
    screen.say("next", `kubectl --kubeconfig ${folder.kubeconfig} get nodes,services --all-namespaces`);
  else screen.say("next", 'the cluster is not built yet: run "npm run dev-env up" again');
  screen.say("next", '"npm run dev-env preview" shows differences, "npm run dev-env down" removes everything');
}

function describe(found: Found): string {
  const details = [found.status, found.public_net?.ipv4?.ip].filter((it) => typeof it === "string");
  return `${kindOf(found)} ${found.name}${details.length > 0 ? `: ${details.join(", ")}` : ""}`;
}
