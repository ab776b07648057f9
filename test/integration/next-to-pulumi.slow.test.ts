/** The habits in docs/how-to/next-to-pulumi.md: what each does, and that none of them changes the cloud. */
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { aPulumiUser, type PulumiUser } from "../support/pulumi-user.ts";
import { startWorld, type World } from "../support/world.ts";

/** A habit as the page names it, its arguments, and what it prints; undefined where it does not apply. */
interface Habit {
  readonly name: string;
  readonly args: readonly string[];
  readonly written: RegExp | undefined;
  readonly saved: RegExp | undefined;
}

const FAILS = /^FAILED/;
/** The age depends on how long the command takes to start. */
const JUST_WRITTEN = /^kubernetes +(now|(?<age>\d+) seconds? ago) +9$/m;
const UNCHANGED = /\n {4}8 unchanged\n/;
const RETAINED = /\[retain\](.|\n)*\n {4}- [78] deleted\n/;
const HABITS: readonly Habit[] = [
  { name: "pulumi stack ls", args: [], written: JUST_WRITTEN, saved: /^kubernetes +.+ ago +9$/m },
  { name: "pulumi stack output", args: ["services"], written: /"default\/web":/, saved: /"default\/web":/ },
  { name: "pulumi stack export", args: [], written: /"retainOnDelete": true/, saved: /"retainOnDelete": true/ },
  { name: "pulumi stack history", args: [], written: /never been updated/, saved: /never been updated/ },
  { name: "pulumi preview", args: ["--diff"], written: UNCHANGED, saved: undefined },
  { name: "pulumi refresh", args: ["--yes"], written: UNCHANGED, saved: UNCHANGED },
  { name: "pulumi cancel", args: ["--yes"], written: /has been canceled/, saved: /has been canceled/ },
  { name: "pulumi up", args: ["--yes", "--skip-preview"], written: /^FAILED(.|\n)*only previews/, saved: RETAINED },
  { name: "pulumi destroy", args: ["--yes"], written: RETAINED, saved: /\n {4}- \d deleted\n/ },
  { name: "pulumi state", args: ["delete", "--all", "--yes"], written: /Resources deleted/, saved: undefined },
];
/** Commands that would write a configuration file into the checkout, where another test counts them. */
const CONFIGURED = /pulumi (preview|refresh|up|destroy)/;

const ends = new AsyncDisposableStack();
let world: World;
let user: PulumiUser;
let folder: string;
let other: string;
let before: string;

beforeAll(async () => {
  world = ends.use(await startWorld({ nodes: 1 }));
  user = ends.use(await aPulumiUser(world));
  folder = await mkdtemp(join(tmpdir(), "lotse-habits-"));
  ends.defer(() => rm(folder, { recursive: true, force: true }));
  other = await anotherProject();
  const controller = world.startController([`--state=${user.backend}`]);
  await world.createService("web");
  const saved = () => user.pulumi(["stack", "output", "--stack", "kubernetes"]);
  await eventually(async () => expect(await saved()).toMatch(/routes +\{"10(.|\n)*default\/web/), {
    timeoutMs: 60_000,
  });
  await controller.stop();
  before = JSON.stringify(world.cloud.snapshot());
});
afterAll(() => ends.disposeAsync());

/** A program of the same name that declares nothing. */
async function anotherProject(): Promise<string> {
  const project = join(user.folder, "other");
  await mkdir(project);
  await writeFile(join(project, "Pulumi.yaml"), "name: lotse\nruntime: nodejs\nmain: index.js\n");
  await writeFile(join(project, "package.json"), JSON.stringify({ name: "other", main: "index.js" }));
  await writeFile(join(project, "index.js"), `require(${JSON.stringify(resolve("node_modules/@pulumi/pulumi"))});\n`);
  await mkdir(join(project, "node_modules", "@pulumi"), { recursive: true });
  await symlink(resolve("node_modules/@pulumi/pulumi"), join(project, "node_modules", "@pulumi", "pulumi"));
  return project;
}

function argsOf({ name, args }: Habit): readonly string[] {
  const stack = name.endsWith(" ls") ? [] : ["--stack", "kubernetes"];
  return [...name.split(" ").slice(1), ...args, ...stack];
}

describe("a habit", () => {
  it.each(HABITS.filter(({ written }) => written))("$name on what `lotse stack` wrote", async (habit) => {
    const { paths } = await ensureToolchain(["pulumi", "pulumi-language-nodejs"]);
    const config = CONFIGURED.test(habit.name) ? [`--config-file=${join(folder, "config.yaml")}`] : [];
    const command = ["--", paths.pulumi, ...argsOf(habit), ...config, "--non-interactive"];
    const inStack = ["stack", `--dir=${folder}`, "--cluster-cidr=10.244.0.0/16", ...command];
    const started = performance.now();
    const { code, stdout } = await runCommand(world, inStack, { HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: "true" });
    const seconds = (performance.now() - started) / 1_000;
    expect(`${code === 0 ? "" : "FAILED "}${stdout}`).toMatch(habit.written ?? FAILS);
    expect(Number(JUST_WRITTEN.exec(stdout)?.groups?.age ?? 0), "written by this command").toBeLessThan(seconds);
    expect(JSON.stringify(world.cloud.snapshot())).toBe(before);
  });

  it.each(HABITS.filter(({ saved }) => saved))("$name on what the controller saved", async (habit) => {
    const printed = await user.pulumi(argsOf(habit), other).catch((error: Error) => `FAILED ${error.message}`);
    expect(printed).toMatch(habit.saved ?? FAILS);
    expect(JSON.stringify(world.cloud.snapshot())).toBe(before);
  });

  it.each(HABITS)("$name is on the page", async ({ name }) => {
    expect(await readFile("docs/how-to/next-to-pulumi.md", "utf8")).toContain(`\`${name}\``);
  });
});
