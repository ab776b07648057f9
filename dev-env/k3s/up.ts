/** `dev-env up` and `dev-env preview`: build what is missing and change what differs, or say what would be done. */
import { fileURLToPath } from "node:url";
import kubernetesPackage from "@pulumi/kubernetes/package.json" with { type: "json" };
import { CloudError, messageOf } from "../../controller/diagnostics/errors.ts";
import { describeResource, type ResourceStep } from "../../stacks/engine/progress.ts";
import type { StoredStack } from "../../stacks/engine/stack.ts";
import { CHART } from "../chart/render.ts";
import { startController } from "./controller.ts";
import { checkTypes, describeCost, renderCost } from "./cost.ts";
import { type Environment, openCluster, openStack } from "./environment.ts";
import { DevEnvError } from "./errors.ts";
import { openProject } from "./inventory.ts";
import { applyMachines, type MachineOutputs } from "./machines.ts";
import { SETTINGS } from "./settings.ts";
import { obtainKubeconfig } from "./ssh.ts";
import { resumeController } from "./watch.ts";

const DEMO = fileURLToPath(new URL("../examples/ingress.yaml", import.meta.url));

/** Builds the environment. May be repeated at any time, and continues where the last call ended. */
export async function up(env: Environment): Promise<void> {
  const { screen, name } = env;
  screen.say("cost", `${await checkedCost(env)}; "dev-env down" ends it`);
  await using ends = new AsyncDisposableStack();
  ends.defer(() => screen.say("cost", 'resources that exist already cost money: "up" continues, "down" removes them'));
  const outputs = await buildMachines(env);
  await obtainKubeconfig(env, outputs.apiAddress, outputs.servers[`${name}-control-plane-1`] ?? outputs.apiAddress);
  await buildCluster(env, outputs);
  ends.move();
  screen.say("ready", `${name} is up`);
  screen.write(nextSteps(env));
}

/** Shows what `up` would do to the machines. Remembers no setting. Sets the exit code to 2 if there are changes. */
export async function preview(env: Environment, isJson: boolean): Promise<void> {
  const { screen, folder, choices } = env;
  const cost = await checkedCost(env);
  await configureMachines(env, {});
  const file = `${folder.path}/preview.yaml`;
  await folder.configure("lotse-dev-env", choices, file);
  const stack = await openStack(env, "lotse-dev-env", file);
  const steps = await stack.preview();
  if (steps.length > 0) process.exitCode = 2;
  if (isJson) return void process.stdout.write(`${JSON.stringify(steps)}\n`);
  for (const step of steps) screen.say("preview", describeChange(step));
  screen.say("preview", `${steps.length} changes${steps.length > 0 ? '; "dev-env up" makes them' : ""}`);
  screen.say("cost", cost);
}

const SIGNS: Readonly<Record<string, string>> = { create: "+", update: "~", delete: "-", replace: "±" };

function describeChange({ operation, urn, fields }: ResourceStep): string {
  const changed = fields.length > 0 ? ` (${fields.join(", ")})` : "";
  return `${SIGNS[operation]} ${operation} ${describeResource(urn)}${changed}`;
}

/** Checks token and server types with the price list. Only a price list that cannot be read is no reason to stop. */
export async function checkedCost({ access, settings }: Environment): Promise<string> {
  using api = openProject(access);
  const pricing = await api.prices().catch((error: unknown) => {
    if (error instanceof CloudError && (error.status === 401 || error.status === 403)) throw error;
    return messageOf(error);
  });
  if (typeof pricing === "string") return `prices cannot be read: ${pricing}`;
  checkTypes(settings, pricing, (name) => `--${SETTINGS[name].flag}`);
  return describeCost(renderCost(settings, pricing), pricing.currency);
}

/** Writes the configuration of the machines' stack: settings, keys and tokens. */
export async function configureMachines(env: Environment, choices: Environment["choices"]): Promise<void> {
  const { folder, name } = env;
  const { sshKey, hostKey, k3sToken } = await folder.secrets(name);
  await folder.configure("lotse-dev-env", { ...choices, sshPublicKey: sshKey.publicKey });
  const config = folder.config("lotse-dev-env");
  const missing = Object.entries({ k3sToken, hostKey: hostKey.privateKey }).filter(([key]) => !(key in config));
  if (missing.length === 0) return;
  const stack = await openStack(env, "lotse-dev-env");
  // By standard input: other users can read arguments.
  for (const [key, value] of missing) await stack.pulumi(["config", "set", "--secret", key], value);
}

async function buildMachines(env: Environment): Promise<MachineOutputs> {
  const { name, screen, settings, access, choices } = env;
  await configureMachines(env, choices);
  const stack = await openStack(env, "lotse-dev-env");
  // Before any resource costs money: without this plugin the second half cannot be built.
  await screen.during("pulumi", "checking the Kubernetes plugin", () => providePlugin(stack));
  using api = openProject(access);
  const outputs = await screen.during("machines", "network, firewall and servers", () =>
    applyMachines({ name, stack, list: api.list }),
  );
  const count = Object.keys(outputs.servers).length;
  screen.say("machines", `${count} servers in ${settings.location}, API at ${outputs.apiAddress}`);
  return outputs;
}

/** The plugin is too large for the toolchain; Pulumi downloads it from its own site, unless a variable names a file. */
async function providePlugin(stack: StoredStack): Promise<void> {
  const { version } = kubernetesPackage;
  const { LOTSE_KUBERNETES_PLUGIN: file } = process.env;
  try {
    const source = file ? ["--file", file] : [];
    await stack.pulumi(["plugin", "install", "resource", "kubernetes", `v${version}`, ...source]);
  } catch (error) {
    throw new DevEnvError(
      `the Pulumi plugin kubernetes ${version} is not installed and could not be downloaded: ${messageOf(error)}\n` +
        `It comes from get.pulumi.com: connect to the internet (HTTPS_PROXY is honoured) and run the same command again. ` +
        `No resource was created yet`,
      { cause: error },
    );
  }
}

/** Installs what belongs into the cluster. Without an image, the controller runs here until that is done. */
async function buildCluster(env: Environment, outputs: MachineOutputs): Promise<void> {
  const { folder, settings, screen } = env;
  const { image, location, pods } = settings;
  const { clusterId } = outputs;
  const { clusterId: before = clusterId } = folder.config("lotse-dev-cluster");
  const values = { kubeconfig: folder.kubeconfig, chart: CHART, demo: DEMO, image, location, pods, clusterId };
  await folder.configure("lotse-dev-cluster", { ...values, networkId: outputs.networkId });
  const stack = await openStack(env, "lotse-dev-cluster");
  // The state describes a cluster that no longer exists.
  if (before !== clusterId) await stack.setDeployment({ ...(await stack.deployment()), resources: [] });
  await using ends = new AsyncDisposableStack();
  if (image === "") {
    screen.say("controller", "no --image given: runs from the sources until the cluster is built");
    ends.adopt(startController(env), (it) => it.stop());
  }
  await screen.during("cluster", "Cilium, controller, ingress and demo", () => stack.up());
  const client = await openCluster(env);
  // An earlier `watch` may have been killed before it could.
  if (client && image !== "") await resumeController(client);
  client?.close();
}

function nextSteps({ name }: Environment): string {
  const flag = name === "lotse-dev" ? "" : ` -- --name ${name}`;
  return `
  eval "$(npm run -s dev-env env${flag})"      # KUBECONFIG, and variables for plain pulumi
  kubectl get nodes,services --all-namespaces
  curl http://$(kubectl --namespace traefik get service traefik --output jsonpath='{.status.loadBalancer.ingress[0].ip}')/

  npm run dev-env watch${flag}      # the controller from the sources, restarted when they change
  npm run dev-env down${flag}       # it costs money until then
`;
}
