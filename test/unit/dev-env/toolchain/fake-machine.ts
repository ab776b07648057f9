import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type Host, type RunResult, thisHost } from "../../../../dev-env/toolchain/host.ts";
import { provisionTools } from "../../../../dev-env/toolchain/provision.ts";
import { loadTools } from "../../../../dev-env/toolchain/toolchain.ts";
import type { Tool, ToolName, Tools } from "../../../../dev-env/toolchain/tools.ts";

const pinned = loadTools("linux-x64");

/** A machine with its own cache in a temporary folder, and a fake Go that writes "built NAME" into binaries. */
export class FakeMachine implements Host {
  readonly platform = "linux-x64";
  readonly env: Record<string, string | undefined>;
  readonly dir: string;
  readonly root: string;
  /** Names of tools that Go was asked to build. */
  readonly builds: string[] = [];
  tools: Tools = pinned;
  /** Nothing listens there. */
  site = { url: "http://127.0.0.1:2", silenceMs: 200 };
  hasGo = true;
  /** Makes `go build` fail with this output. */
  buildOutput: string | undefined;

  private constructor(dir: string) {
    this.dir = dir;
    this.root = join(dir, "cache", "lotse");
    this.env = { HOME: dir, XDG_CACHE_HOME: join(dir, "cache") };
  }

  static async create(): Promise<FakeMachine> {
    return new FakeMachine(await mkdtemp(join(tmpdir(), "lotse-toolchain-")));
  }

  remove(): Promise<void> {
    return rm(this.dir, { recursive: true });
  }

  /** Provides tools. Returns the reported events, and the reasons for failed downloads. */
  async provide(...wanted: readonly ToolName[]) {
    const events: string[] = [];
    const reasons: string[] = [];
    const { binDir, pulumiHome } = await provisionTools({
      tools: this.tools,
      wanted,
      goDir: "/go",
      site: this.site,
      host: this,
      report: (progress) => {
        events.push("label" in progress ? `${progress.phase} ${progress.label}` : progress.phase);
        if (progress.phase === "not-downloaded") reasons.push(progress.reason);
      },
    });
    return { binDir, pulumiHome, events, reasons };
  }

  async run(command: string, args: readonly string[]): Promise<RunResult> {
    if (command !== "go") return thisHost.run(command, args);
    if (!this.hasGo) return { kind: "not-started", output: "spawn go ENOENT" };
    const file = args[args.indexOf("-o") + 1] ?? "";
    const { name } = toolNamed(basename(file));
    this.builds.push(name);
    if (this.buildOutput !== undefined) return { kind: "failed", output: this.buildOutput };
    await writeFile(file, `built ${name}`, { mode: 0o755 });
    return { kind: "ok", output: "" };
  }
}

/** The pinned tool of that name. */
export function toolNamed(name: string): Tool {
  const tool = Object.values(pinned).find((each) => each.name === name);
  if (!tool) throw new Error(`no tool named ${name}`);
  return tool;
}
