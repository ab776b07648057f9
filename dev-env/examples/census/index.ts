/** The smallest controller: whenever a Node changes, it counts those that wait for a cloud-controller-manager. */
import { once } from "node:events";
import type { V1Node } from "@kubernetes/client-node";
import { createLogger } from "../../../controller/diagnostics/log.ts";
import { KubeClient } from "../../../controller/kube/client.ts";
import { Informer } from "../../../controller/kube/informer.ts";
import { loadAccess } from "../../../controller/kube/kubeconfig.ts";
import { paths } from "../../../controller/kube/paths.ts";
import { isUninitialised } from "../../../controller/render/node/patch.ts";
import { Loops } from "../../../controller/work/loop.ts";

const log = await createLogger({ format: "json", level: "warn" });
const client = new KubeClient(await loadAccess(process.env.KUBECONFIG));
const nodes = new Informer<V1Node>({ client, path: paths.nodes, log, onChange: () => loops.wake("census") });
const loops = new Loops({ census }, { quietMs: 100, patienceMs: 1_000, everyMs: 60_000, log });

await nodes.start();
loops.start();
await once(process, "SIGTERM");
await nodes.stop();
await loops.stop(0, async () => {});
client.close();

/** One turn. It looks at all Nodes, not at the event that woke it: a lost event is repaired by the next turn. */
async function census(): Promise<undefined> {
  const all = [...nodes.items.values()];
  process.stdout.write(`${all.length} nodes, ${all.filter(isUninitialised).length} wait for a controller\n`);
}
