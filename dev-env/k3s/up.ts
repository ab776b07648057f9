/** `dev-env up` and `dev-env preview`: build what is missing and change what differs, or say what would be done. */
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import kubernetesPackage from "@pulumi/kubernetes/package.json" with { type: "json" };
import type { Unwrap } from "@pulumi/pulumi";
import { messageOf } from "../../controller/diagnostics/errors.ts";
import { describePlan, type ResourceStep } from "../../stacks/engine/progress.ts";
import { settle } from "../../stacks/engine/recovery.ts";
import type { StoredStack } from "../../stacks/engine/stack.ts";
import { CHART } from "../chart/render.ts";
import { describeFound } from "../project/inventory.ts";
import { checkNetwork } from "../project/network.ts";
import { checkedCost } from "./cost.ts";
import { type Environment, openCluster, openStack } from "./environment.ts";
import { DevEnvError } from "./errors.ts";
import { listOwn } from "./inventory.ts";
import { LABEL } from "./settings.ts";
import { obtainKubeconfig } from "./ssh.ts";
import { resumeController, startController } from "./watch.ts";

/** The outputs of the machines' stack. */
export type MachineOutputs = Unwrap<typeof import("./program.ts")>;

const DEMO = fileURLToPath(new URL("../examples/ingress.yaml", import.meta.url));

/** Builds the environment. May be repeated at any time, and continues where the last call ended. */
export async function up(env: Environment): Promise<void> {
  const { screen, name, settings, api } = env;
  screen.say("cost", `${await checkedCost(env)}; "dev-env down" ends it`);
  await checkNetwork(api, `${LABEL}=${name}`, settings);
  const stack = await configureMachines(env, env.choices);
  // Everything that may fail comes before a resource costs money: without the plugin, the second half cannot be built.
  await screen.during("pulumi", "checking the Kubernetes plugin", () => providePlugin(stack));
  await using ends = new AsyncDisposableStack();
  ends.defer(() => screen.say("cost", 'resources that exist already cost money: "up" continues, "down" removes them'));
  const { servers, apiAddress, networkId } = await screen.during("machines", "network, firewall and servers", () =>
    applyMachines(env, stack),
  );
  const count = Object.keys(servers).length;
  screen.say("machines", `${count} servers in ${settings.location}, API at ${apiAddress}`);
  const clusterUid = await obtainKubeconfig(env, apiAddress, servers[`${name}-control-plane-1`] ?? apiAddress);
  await buildCluster(env, { networkId, clusterUid });
  ends.move();
  screen.say("ready", `${name} is up`);
  screen.write(nextSteps(env));
}

/** Shows what `up` would do to the machines. Remembers no setting. Sets the exit code to 2 if there are changes. */
export async function preview(env: Environment, isJson: boolean): Promise<void> {
  const { screen } = env;
  const { cost, steps } = await screen.during("preview", "comparing with the cloud", async () => ({
    cost: await checkedCost(env),
    steps: await previewMachines(env),
  }));
  if (steps.length > 0) process.exitCode = 2;
  if (isJson) return void process.stdout.write(`${JSON.stringify(steps)}\n`);
  for (const step of steps) screen.say("preview", describePlan(step));
  screen.say("preview", `${steps.length} changes${steps.length > 0 ? '; "dev-env up" makes them' : ""}`);
  screen.say("cost", cost);
}

async function previewMachines(env: Environment): Promise<readonly ResourceStep[]> {
  const { folder, choices } = env;
  await configureMachines(env, {});
  const configFile = join(folder.path, "preview.yaml");
  await copyFile(folder.configFile("lotse-dev-env"), configFile);
  // A preview reports its steps as finished, too, but nothing was changed.
  const stack = await openStack(env, "lotse-dev-env", { configFile, onChange: () => {} });
  await stack.configure(choices);
  return stack.preview();
}

/** Opens the machines' stack, and writes its configuration: settings, keys and tokens. */
export async function configureMachines(env: Environment, choices: Environment["choices"]): Promise<StoredStack> {
  const { sshKey, hostKey, k3sToken } = await env.folder.secrets(env.name);
  const stack = await openStack(env, "lotse-dev-env");
  const values = { ...choices, sshPublicKey: sshKey.publicKey };
  await stack.configure(values, { k3sToken, hostKey: hostKey.privateKey });
  return stack;
}

/** Makes the machines match the program. Refuses to work beside resources that the state does not know. */
export async function applyMachines({ name, api }: Environment, stack: StoredStack): Promise<MachineOutputs> {
  const unknown = await settle(stack, () => listOwn(api.list, name));
  if (unknown.length > 0)
    throw new DevEnvError(
      `the state of ${name} does not know ${describeFound(unknown)}. It may have been lost; nothing was changed.\n` +
        `Restore it, import the resources with "pulumi import", or remove them with "npm run dev-env down", which asks first`,
    );
  return (await stack.up()) as unknown as MachineOutputs;
}

/** The plugin is too large for the toolchain; Pulumi downloads it from its own site, unless a variable names a file. */
async function providePlugin(stack: StoredStack): Promise<void> {
  const { version } = kubernetesPackage;
  const { LOTSE_KUBERNETES_PLUGIN: file } = process.env;
  try {
    const source = file ? ["--file", file] : [];
    await stack.pulumi(["plugin", "install", "resource", "kubernetes", `v${version}`, ...source]);
  } catch (error) {
    const reason = messageOf(error).replace(/^.*downloading from : /, "");
    throw new DevEnvError(
      `the Pulumi plugin kubernetes ${version} is not installed and could not be downloaded: ${reason}\n` +
        `It comes from get.pulumi.com: connect to the internet (HTTPS_PROXY is honoured), or set LOTSE_KUBERNETES_PLUGIN ` +
        `to a file with the plugin, and run the same command again. No resource was created or changed`,
      { cause: error },
    );
  }
}

/** Installs what belongs into the cluster. Without an image, the controller runs here until that is done. */
async function buildCluster(env: Environment, identity: { networkId: number; clusterUid: string }): Promise<void> {
  const { folder, settings, screen } = env;
  const { image, location, pods } = settings;
  const { clusterUid } = identity;
  const stack = await openStack(env, "lotse-dev-cluster");
  const { clusterUid: before = clusterUid } = await stack.outputs();
  // The state describes a cluster that no longer exists.
  if (before !== clusterUid) await stack.amend((state) => ({ ...state, resources: [] }));
  const values = { kubeconfig: folder.kubeconfig, chart: CHART, demo: DEMO, image, location, pods };
  await stack.configure({ ...values, ...identity });
  await using ends = new AsyncDisposableStack();
  if (image === "") {
    screen.say("controller", "no --image given: runs from the sources until the cluster is built");
    ends.adopt(startController(env), (it) => it.stop());
  }
  await screen.during("cluster", "Cilium, controller, ingress and demo", () => stack.up());
  using client = await openCluster(env);
  // An earlier `watch` may have been killed before it could.
  if (client && image !== "") await resumeController(client);
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
