/** What the demo prints: lines with a time and a topic, and what to try next. */
import { relative } from "node:path";
import { Screen } from "../terminal/screen.ts";
import { CONTROLLER_FLAGS, type Local } from "./local.ts";

/** Prints lines on the terminal. */
export const { elapsed, say, show } = new Screen(process.stdout, { time: 7, topic: 13 });

/** The path of a file as the user would type it. */
function shown(file: string): string {
  return relative(process.cwd(), file);
}

/** Commands to try while the controller runs. */
export function nextSteps({ cloud, envFile }: Local, example: string, logFile: string): string {
  const commands = [
    [`source ${shown(envFile)}`, "KUBECONFIG, HCLOUD_*, kubectl and lotse"],
    ...trafficOf(cloud).map((url) => [`curl ${url}`, "through the load balancer to a node"]),
    ["lotse preview", "what the controller would change right now"],
    [`kubectl delete -f ${shown(example)}`, "deletes the load balancer, too"],
  ];
  return `
Try it from another terminal:

${commands.map(([command, comment]) => `  ${command?.padEnd(46)} # ${comment}`).join("\n")}

  the cloud:       curl -s -H "Authorization: Bearer $HCLOUD_TOKEN" $HCLOUD_ENDPOINT/load_balancers
  the controller:  tail -f ${logFile}

Ctrl-C stops everything and cleans up.

`;
}

/** The URL of the first listener that is open; none without a load balancer or without traffic. */
function trafficOf(cloud: Local["cloud"]): readonly string[] {
  const [balancer] = cloud.state.loadBalancers.values();
  const { ip } = balancer?.public_net.ipv4 ?? {};
  const [open] = (balancer?.services ?? [])
    .map(({ listen_port }) => `${ip}:${listen_port}`)
    .filter((socket) => socket.startsWith("127.") && !cloud.problems().some((it) => it.startsWith(`${socket}:`)));
  return open === undefined ? [] : [`http://${open}/`];
}

/** Commands to try on a cluster without a controller. */
export function stepsWithoutController({ envFile }: Local): string {
  return `
From another terminal:

  source ${shown(envFile)}
  kubectl get nodes -o 'custom-columns=NAME:.metadata.name,TAINTS:.spec.taints[*].key,PROVIDER:.spec.providerID'
  lotse run --kubeconfig $KUBECONFIG ${CONTROLLER_FLAGS.join(" ")}

Ctrl-C stops everything and cleans up.

`;
}
