/** Where the engine works: folders, the state file of its local backend, and the environment of the command line. */
import { chmod, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import type { RunRequest } from "../engine/run.ts";
import { PROJECT } from "../units/names.ts";
import { VERSIONS } from "./versions.ts";

/** What the engine is made of, and where it may write. */
export interface EngineHome {
  /** The `pulumi` binary. */
  readonly pulumi: string;
  /** Folder of Pulumi plugins, as in `$PULUMI_HOME/plugins`. */
  readonly plugins: string;
  /** Folder that belongs to this engine alone: state, settings, scratch. Made when absent. */
  readonly directory: string;
  /** True when the folder is worth nothing once the engine has ended. */
  readonly isScratch: boolean;
  /** The stack's name: the cluster's. */
  readonly stack: string;
}

const PATHS = {
  project: "project",
  remote: "remote",
  home: "home",
  backend: "state",
} as const;

/** Absolute folders inside the engine's directory. */
export function folders(home: EngineHome): Readonly<Record<keyof typeof PATHS, string>> {
  const within = (name: string) => join(home.directory, name);
  return {
    project: within(PATHS.project),
    remote: within(PATHS.remote),
    home: within(PATHS.home),
    backend: within(PATHS.backend),
  };
}

/** The provider's plugin in the engine's own folder: by this path it is found when its engine has died. */
export function pluginFile(home: EngineHome): string {
  const folder = `resource-hcloud-v${VERSIONS.hcloud}`;
  return join(folders(home).home, "plugins", folder, "pulumi-resource-hcloud");
}

/** The file with the whole state of the stack. */
export function stateFile(home: EngineHome): string {
  return join(home.directory, "stack.json");
}

/** The file that the command line takes for the state: as much of it as the run is about. */
export function backendFile(home: EngineHome): string {
  return join(folders(home).backend, ".pulumi", "stacks", PROJECT, `${home.stack}.json`);
}

/** Makes the folders that an engine works in. */
export async function prepareFolders(home: EngineHome): Promise<void> {
  const { project, remote, home: pulumiHome } = folders(home);
  for (const folder of [project, remote, pulumiHome, dirname(backendFile(home))])
    await mkdir(folder, { recursive: true });
  await chmod(home.directory, 0o700);
  const plugins = join(pulumiHome, "plugins");
  await rm(plugins, { recursive: true, force: true });
  await symlink(home.plugins, plugins);
}

/**
 * Removes locks on the state. They belong to a command line that died: a folder has one engine, and that calls this only
 * while it runs nothing. One that waits for its run has no lock yet.
 */
export async function removeLocks(home: EngineHome): Promise<void> {
  await rm(join(folders(home).backend, ".pulumi", "locks"), { recursive: true, force: true });
}

/** The text of one of the files above; nothing when there is none yet. */
export async function readState(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Replaces a state file in one step: a crash leaves the old one or the new one. */
export async function writeState(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** Removes what engine and backend keep of every run: the audit log has it in a better form, and it would grow for ever. */
export async function pruneHistory(home: EngineHome): Promise<void> {
  const { backend, home: pulumiHome } = folders(home);
  const kept = [join(backend, ".pulumi", "history"), join(backend, ".pulumi", "backups"), join(pulumiHome, "logs")];
  for (const folder of kept) await rm(folder, { recursive: true, force: true });
}

/**
 * The whole environment of the command line and its plugins; nothing else is inherited. The API credential is the
 * gateway's for this run, never the real token.
 */
export function cliEnvironment(home: EngineHome, access?: RunRequest["access"]): Record<string, string> {
  const { home: pulumiHome, backend } = folders(home);
  return {
    PATH: [dirname(home.pulumi), "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter),
    HOME: home.directory,
    // The engine asks who it is run by, and gives up where the system does not know: a container's user may have no name.
    USER: "lotse",
    PULUMI_HOME: pulumiHome,
    PULUMI_BACKEND_URL: `file://${backend}`,
    // For states kept elsewhere: nothing secret is in them, and an empty passphrase keeps the engine from asking for one.
    PULUMI_CONFIG_PASSPHRASE: "",
    // Less room for what Go has not cleaned up yet: 30 MB less in a run, and no time that could be measured.
    GOGC: "50",
    PULUMI_SKIP_UPDATE_CHECK: "true",
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
    PULUMI_IGNORE_AMBIENT_PLUGINS: "true",
    // The state is written once, at the end of a run: the cloud is the truth and tells what a killed run has done.
    PULUMI_EXPERIMENTAL: "true",
    PULUMI_SKIP_CHECKPOINTS: "true",
    PULUMI_DIY_BACKEND_DISABLE_CHECKPOINT_BACKUPS: "true",
    ...(access && { HCLOUD_ENDPOINT: access.endpoint, HCLOUD_TOKEN: access.token }),
  };
}

/** The same for the worker, which starts from what Node made of the sources when the image was built. */
export function workerEnvironment(home: EngineHome, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE, NODE_COMPILE_CACHE_PORTABLE } = env;
  return { ...cliEnvironment(home), ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE, NODE_COMPILE_CACHE_PORTABLE }) };
}
