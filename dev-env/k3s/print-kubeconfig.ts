/** `dev-env kubeconfig`: prints where the kubeconfig is, and fetches it when it is not there. */
import { existsSync } from "node:fs";
import { CloudApi } from "./cloud-api.ts";
import type { Environment } from "./environment.ts";
import { DevEnvError } from "./errors.ts";
import { cloudName } from "./layout.ts";
import { listEnvironment } from "./listing.ts";
import { obtainKubeconfig } from "./obtain-kubeconfig.ts";

/** Prints the path alone, so that a shell can use it: `export KUBECONFIG=$(npm run -s dev-env kubeconfig)`. */
export async function printKubeconfig(env: Environment): Promise<void> {
  const { folder, config, access } = env;
  if (!existsSync(folder.kubeconfig)) {
    using api = new CloudApi(access);
    const { servers } = await listEnvironment(api.list, config.name);
    const controlPlane = servers.find(({ name }) => name === cloudName(config.name, "control-plane"));
    const address = controlPlane?.public_net?.ipv4?.ip;
    if (!address || !folder.exists)
      throw new DevEnvError(`${config.name} has no control plane: run "npm run dev-env up"`);
    await obtainKubeconfig(env, address);
  }
  process.stdout.write(`${folder.kubeconfig}\n`);
}
