/** `dev-env watch`: the controller from the sources against the environment's cluster, started anew when they change. */
import { fileURLToPath } from "node:url";
import { ConfigError } from "../../controller/diagnostics/errors.ts";
import { startController } from "./controller.ts";
import { type Environment, openCluster } from "./environment.ts";
import { putControllerBack, setControllerAside } from "./in-cluster.ts";
import { keepRunning } from "./restart.ts";

const SOURCES = ["controller", "stacks"].map((folder) => fileURLToPath(new URL(`../../${folder}`, import.meta.url)));
const QUIET_MS = 200;
const ASIDE = { deadlineMs: 90_000, intervalMs: 1_000 };

/** Runs until somebody wants to stop; then the controller in the cluster, if there was one, gets its place back. */
export async function watch(env: Environment): Promise<void> {
  const { screen, config, signal } = env;
  const client = await openCluster(env);
  if (!client) throw new ConfigError([`${config.name} has no cluster: run "npm run dev-env up" first`]);
  await using ends = new AsyncDisposableStack();
  ends.defer(() => client.close());
  await screen.during("cluster", "setting the controller in the cluster aside", () =>
    setControllerAside(client, ASIDE),
  );
  ends.defer(() => putControllerBack(client));
  screen.say("watch", "the controller runs from the sources; Ctrl-C ends it");
  await keepRunning({
    sources: SOURCES,
    start: () => startController(env),
    quietMs: QUIET_MS,
    signal,
    onChange: (file) => screen.say("watch", `${file} changed: starting again`),
    onEnd: () => screen.say("watch", "the controller ended by itself; it is started again when a source changes"),
  });
  screen.say("watch", "stopped; a controller in the cluster takes over again");
}
