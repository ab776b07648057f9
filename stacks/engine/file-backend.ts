/** A `file://` backend in a folder of this program: creates stacks, and repairs it after a killed run. */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isCommandLine } from "./leftovers.ts";

/**
 * Makes the backend usable again, unless a command line that a user started works on it. State files are replaced
 * atomically. Their optional attributes are not, and half a file of them makes the state unreadable.
 */
export async function repairBackend(directory: string): Promise<void> {
  const locks = join(directory, ".pulumi", "locks");
  const holders = (await list(locks)).map((name) => holderOf(join(locks, name)));
  if ((await Promise.all(holders)).some(isCommandLine)) return;
  await rm(locks, { recursive: true, force: true });
  const stacks = join(directory, ".pulumi", "stacks");
  const names = await list(stacks);
  for (const name of names.filter((it) => /\.(attrs|tmp)$/.test(it))) await rm(join(stacks, name), { force: true });
}

/**
 * The backend that variables name; undefined if it is the folder of a stack, whose variables a shell has taken over: it must
 * not receive the state of another one.
 */
export function namedBackend({ PULUMI_BACKEND_URL: url, PULUMI_HOME = "" }: Variables): string | undefined {
  return !url || url === folderUrl(dirname(PULUMI_HOME)) ? undefined : url;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** The URL of the backend in a folder for files of stacks. */
export const folderUrl = (directory: string) => `file://${join(directory, "backend")}`;

/** The process that has created a lock; 0 for a folder, and for a lock that was not written completely. */
async function holderOf(lock: string): Promise<number> {
  const { pid } = await readFile(lock, "utf8")
    .then((text) => JSON.parse(text) as { readonly pid?: number })
    .catch(() => ({ pid: 0 }));
  return pid ?? 0;
}

const list = (folder: string) => readdir(folder, { recursive: true }).catch(() => []);

/**
 * Creates an empty stack of the project in a folder, unless it exists. `pulumi stack init` would do the same, but also write
 * a configuration file beside the program, even when another one is selected.
 */
export async function createStack(directory: string, program: string, name: string): Promise<void> {
  const [, project] = /^name: (\S+)$/m.exec(await readFile(join(program, "Pulumi.yaml"), "utf8")) ?? [];
  const file = join(directory, ".pulumi", "stacks", String(project), `${name}.json`);
  if (existsSync(file)) return;
  await mkdir(dirname(file), { recursive: true });
  const manifest = { time: "1970-01-01T00:00:00Z", magic: "", version: "" };
  const checkpoint = { stack: `organization/${project}/${name}`, latest: { manifest } };
  await writeFile(file, JSON.stringify({ version: 3, checkpoint }), { mode: 0o600 });
}
