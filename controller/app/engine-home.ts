/** Finds the engine's binaries: `pulumi` and the folder of its plugins. */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { EngineHome } from "../../stacks/state/workspace.ts";
import { ConfigError } from "../diagnostics/errors.ts";

/** Paths of the binaries. */
export type EngineBinaries = Pick<EngineHome, "pulumi" | "plugins">;

/** From `LOTSE_PULUMI` and `LOTSE_PULUMI_HOME` when both are set, as in the image; otherwise what `npm run setup` installed. */
export function findEngine(env: Readonly<Record<string, string | undefined>>): EngineBinaries {
  const { LOTSE_PULUMI: pulumi, LOTSE_PULUMI_HOME: home } = env;
  if (pulumi && home) return verified({ pulumi, plugins: join(home, "plugins") });
  const index = join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "lotse", "toolchain.json");
  if (!existsSync(index)) {
    throw new ConfigError([
      `the engine is not installed: ${index} does not exist. Run "npm run setup" in a checkout, or set LOTSE_PULUMI and LOTSE_PULUMI_HOME`,
    ]);
  }
  // What the toolchain writes into the cache; see dev-env/toolchain/README.md.
  const { binDir, pulumiHome } = JSON.parse(readFileSync(index, "utf8")) as { binDir: string; pulumiHome: string };
  return verified({ pulumi: join(binDir, "pulumi"), plugins: join(pulumiHome, "plugins") });
}

function verified(binaries: EngineBinaries): EngineBinaries {
  const missing = Object.values(binaries).filter((path) => !existsSync(path));
  if (missing.length > 0)
    throw new ConfigError([`the engine is incomplete, missing ${missing.join(" and ")}. Run "npm run setup"`]);
  return binaries;
}
