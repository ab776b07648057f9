/** `dev-env up`: builds what is missing, changes what differs, and leaves the rest alone. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import kubernetesPackage from "@pulumi/kubernetes/package.json" with { type: "json" };
import { messageOf } from "../../controller/diagnostics/errors.ts";
import { CHART } from "../chart/render.ts";
import type { CloudOutputs } from "./cloud.ts";
import { CloudApi } from "./cloud-api.ts";
import { applyCloud } from "./cloud-stage.ts";
import { clusterProgram } from "./cluster.ts";
import { OPTIONS } from "./config.ts";
import { startController } from "./controller.ts";
import { describeCost, renderCost } from "./cost.ts";
import { type Environment, openCloudStage, openCluster, openStage } from "./environment.ts";
import { DevEnvError } from "./errors.ts";
import { listBalancedServices, putControllerBack } from "./in-cluster.ts";
import { obtainKubeconfig } from "./obtain-kubeconfig.ts";
import type { Stage } from "./stage.ts";

const DEMO = fileURLToPath(new URL("../examples/ingress.yaml", import.meta.url));

/** Builds the environment. May be called again at any time, and goes on where the last call ended. */
export async function up(env: Environment): Promise<void> {
  const { screen, config } = env;
  screen.say("cost", `${await priceOf(env)}; "dev-env down" ends it`);
  await using ends = new AsyncDisposableStack();
  ends.defer(() => screen.say("cost", 'what was built stays, and costs money: "up" goes on, "down" removes it'));
  const outputs = await buildCloud(env);
  await obtainKubeconfig(env, outputs.controlPlane.ipv4);
  await buildCluster(env, outputs);
  ends.move();
  screen.say("ready", `${config.name} is up`);
  screen.write(nextSteps(env, await demoAddress(env)));
}

/** Where the demo answers; nothing when the ingress has no address. */
async function demoAddress(env: Environment): Promise<string | undefined> {
  const client = await openCluster(env);
  const services = client ? await listBalancedServices(client) : [];
  client?.close();
  const ingress = services.find(({ metadata }) => metadata?.namespace === "traefik");
  return ingress?.status?.loadBalancer?.ingress?.find(({ ip }) => ip?.includes("."))?.ip;
}

function nextSteps({ folder, config }: Environment, address: string | undefined): string {
  const name = config.name === OPTIONS.name.fallback ? "" : ` -- --name ${config.name}`;
  return `
  export KUBECONFIG=${folder.kubeconfig}
  kubectl get nodes,services --all-namespaces
${address ? `  curl http://${address}/      # the demo, behind the ingress and its balancer\n` : ""}
  npm run dev-env watch${name}      # the controller from the sources, started anew when they change
  npm run dev-env down${name}       # it costs money until then
`;
}

/** What the environment costs; a price list that cannot be had is no reason to stop. */
export async function priceOf({ access, config }: Environment): Promise<string> {
  try {
    using api = new CloudApi(access);
    const pricing = await api.pricing();
    return describeCost(renderCost(config, pricing), pricing.currency);
  } catch (error) {
    return `prices cannot be read: ${messageOf(error)}`;
  }
}

async function buildCloud(env: Environment): Promise<CloudOutputs> {
  const { folder, config, screen } = env;
  const secrets = await folder.secrets(config.name);
  const cloud = await openCloudStage(env);
  // Before anything that costs money: without this plugin the second half cannot be built.
  await screen.during("pulumi", "looking for the Kubernetes plugin", () => providePlugin(cloud.stage));
  const outputs = await screen.during("cloud", "network, firewall and servers", () =>
    applyCloud(cloud, { config, secrets }),
  );
  screen.say(
    "cloud",
    `${1 + config.workers} servers in ${config.location}, control plane at ${outputs.controlPlane.ipv4}`,
  );
  return outputs;
}

/** Plugins of this size are not part of the toolchain; Pulumi downloads them from its own site. */
async function providePlugin(stage: Pick<Stage, "installPlugin">): Promise<void> {
  const { version } = kubernetesPackage;
  try {
    await stage.installPlugin("kubernetes", version);
  } catch (error) {
    throw new DevEnvError(
      `the Pulumi plugin kubernetes ${version} is not installed and could not be downloaded: ${messageOf(error)}\n` +
        `It comes from get.pulumi.com: connect to the internet (HTTPS_PROXY is honoured) and run the same command again. ` +
        `Nothing was built yet`,
      { cause: error },
    );
  }
}

/** Installs what belongs into the cluster. Without an image in it, the controller runs here for as long as that takes. */
async function buildCluster(env: Environment, { networkId, controlPlane }: CloudOutputs): Promise<void> {
  const { folder, config, access, screen } = env;
  await folder.forgetOtherClusters(controlPlane.id);
  const stage = await openStage(env, `${config.name}-cluster`, folder.cluster(controlPlane.id));
  const image = parseImage(config.image);
  await using ends = new AsyncDisposableStack();
  if (!image) {
    screen.say("controller", "no --image given: runs from the sources until the cluster is built");
    ends.adopt(startController(env), (it) => it.stop());
  }
  await screen.during("cluster", "Cilium, controller, ingress and demo", () =>
    stage.up(
      clusterProgram({
        kubeconfig: folder.kubeconfig,
        token: access.token,
        networkId,
        chart: CHART,
        location: config.location,
        demo: readFileSync(DEMO, "utf8"),
        ...(image && { image }),
      }),
    ),
  );
  const client = await openCluster(env);
  // Somebody's `watch` may have been killed before it could.
  if (client && image) await putControllerBack(client);
  client?.close();
}

/** Splits an image reference; nothing when there is none. */
function parseImage(reference: string): { readonly repository: string; readonly tag: string } | undefined {
  const colon = reference.lastIndexOf(":");
  return colon < 0 ? undefined : { repository: reference.slice(0, colon), tag: reference.slice(colon + 1) };
}

/** What is missing in this checkout before an environment can be built. */
export function missingParts(): readonly string[] {
  return [CHART, DEMO]
    .filter((path) => !existsSync(path))
    .map((path) => `${path} is missing: this checkout is incomplete`);
}
