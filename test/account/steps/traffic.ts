/** Requests through a load balancer to a pod. */
import { equal, ok } from "node:assert/strict";
import type { Stage } from "../stage.ts";
import type { Step } from "./step.ts";

const SERVICE = "traffic";
/** Above the privileged ports, which a local load balancer may not open. */
const PORT = 8080;
const REQUEST_MS = 10_000;
/** Pulling the image and the first health checks take their time. */
const PATIENCE_MS = 300_000;

async function sendRequests(stage: Stage): Promise<void> {
  const { core, namespace, image = "", timeoutMs } = stage.parts;
  const selector = { app: SERVICE };
  const containers = [{ name: "server", image, ports: [{ containerPort: 80 }] }];
  await core.createNamespacedPod({
    namespace,
    body: { metadata: { name: SERVICE, labels: selector }, spec: { containers } },
  });
  await stage.apply(SERVICE, {}, { selector, ports: [{ name: "http", port: PORT, targetPort: 80 }] });
  const address = await stage.until("the Service has an IPv4 address", async () => {
    const ip = (await stage.ingress(SERVICE)).find((entry) => entry.ip && /^(?!10\.)[\d.]+$/.test(entry.ip))?.ip;
    ok(ip, "there is none that is public");
    return ip;
  });
  const answered = async () => {
    const signal = AbortSignal.any([stage.parts.signal, AbortSignal.timeout(REQUEST_MS)]);
    equal((await fetch(`http://${address}:${PORT}/`, { signal })).status, 200);
  };
  await stage.until(`http://${address}:${PORT}/ answers`, answered, Math.max(timeoutMs, PATIENCE_MS));
  await stage.remove(SERVICE);
}

export const TRAFFIC_STEP: Step = {
  id: "traffic",
  title: "A request to the load balancer reaches a pod.",
  needs: "traffic",
  service: SERVICE,
  run: sendRequests,
};
