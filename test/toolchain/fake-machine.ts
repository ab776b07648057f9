import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Host, RunOptions, RunResult } from "../../dev-env/toolchain/host.ts";
import { type Progress, provisionTools } from "../../dev-env/toolchain/provision.ts";
import { loadTools } from "../../dev-env/toolchain/toolchain.ts";
import type { Tool, ToolName } from "../../dev-env/toolchain/tools.ts";

const tools = await loadTools("test-cpu");

/** What a binary of this name and version prints when asked; also the content of the fake file. */
const answers: Readonly<Record<ToolName, (version: string) => string>> = {
  pulumi: (version) => `v${version}\n`,
  "pulumi-language-nodejs": () => "Usage of pulumi-language-nodejs:\n",
  "pulumi-resource-hcloud": (version) => `${version}\n`,
  etcd: (version) => `etcd Version: ${version}\nGit SHA: none\n`,
  "kube-apiserver": (version) => `Kubernetes v${version}\n`,
  kubectl: (version) => `Client Version: v${version}\nKustomize Version: v5.0.0\n`,
  helm: (version) => `v${version}`,
};

/**
 * A machine with its own PATH and cache in a temporary folder. "Binaries" are text files that hold what the real
 * one would answer when asked for its version.
 */
export class FakeMachine implements Host {
  readonly platform = "test-cpu";
  readonly env: Record<string, string | undefined>;
  readonly dir: string;
  /** Commands that were run, shortened: "build etcd", "probe etcd", "install pulumi", "install plugin". */
  readonly commands: string[] = [];
  hasGo = true;
  isOnline = false;
  /** Answer of `go build` instead of a binary. */
  buildOutput: string | undefined;

  private constructor(dir: string) {
    this.dir = dir;
    this.env = { HOME: dir, PATH: join(dir, "path"), XDG_CACHE_HOME: join(dir, "cache") };
  }

  static async create(): Promise<FakeMachine> {
    return new FakeMachine(await mkdtemp(join(tmpdir(), "lotse-toolchain-")));
  }

  remove(): Promise<void> {
    return rm(this.dir, { recursive: true });
  }

  /** Puts a binary into a folder of the machine, in the pinned version unless told otherwise. */
  async place(folder: string, name: ToolName, version = toolNamed(name).version): Promise<string> {
    const path = join(this.dir, folder, name);
    await writeBinary(path, answers[name](version));
    return path;
  }

  /** Provides tools and returns what was reported, as "phase tool (source)", without the searching. */
  async provide(...wanted: ToolName[]): Promise<{ readonly binDir: string; readonly events: readonly string[] }> {
    const events: string[] = [];
    const report = (progress: Progress) => {
      const source = progress.phase === "ready" ? ` (${progress.source})` : "";
      if (progress.phase !== "searching") events.push(`${progress.phase} ${progress.tool.name}${source}`);
    };
    const { binDir } = await provisionTools({ tools, wanted, goDir: "/go", host: this, report });
    return { binDir, events };
  }

  async run(command: string, args: readonly string[], options: RunOptions): Promise<RunResult> {
    if (command === "go") return this.#runGo(args);
    if (command === process.execPath) {
      this.commands.push("install pulumi");
      const bin = join(args[1] ?? "", "bin");
      await writeBinary(join(bin, "pulumi"), answers.pulumi(toolNamed("pulumi").version));
      await writeBinary(join(bin, "pulumi-language-nodejs"), answers["pulumi-language-nodejs"](""));
      return exited("");
    }
    if (args.includes("install")) {
      this.commands.push("install plugin");
      const { name, version } = toolNamed("pulumi-resource-hcloud");
      const plugins = join(options.env?.PULUMI_HOME ?? "", "plugins");
      await writeBinary(join(plugins, `resource-hcloud-v${version}`, name), answers[name](version));
      return exited("");
    }
    this.commands.push(`probe ${basename(command)}`);
    return exited(await readFile(command, "utf8"));
  }

  async whyUnreachable(): Promise<string | undefined> {
    return this.isOnline ? undefined : "getaddrinfo ENOTFOUND";
  }

  async #runGo(args: readonly string[]): Promise<RunResult> {
    if (!this.hasGo) return { kind: "not-started", reason: "spawn go ENOENT" };
    if (args[0] === "version") return exited("go version go1.26.6");
    const output = args[args.indexOf("-o") + 1] ?? "";
    const { name, version } = toolNamed(basename(output));
    this.commands.push(`build ${name}`);
    if (this.buildOutput !== undefined) return { kind: "exited", code: 1, output: this.buildOutput };
    await writeBinary(output, answers[name](version));
    return exited("");
  }
}

/** The pinned tool of that name. */
export function toolNamed(name: string): Tool {
  const tool = Object.values(tools).find((each) => each.name === name);
  if (!tool) throw new Error(`no tool named ${name}`);
  return tool;
}

async function writeBinary(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await chmod(path, 0o755);
}

const exited = (output: string): RunResult => ({ kind: "exited", code: 0, output });
