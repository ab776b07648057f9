/** `lotse run`: the controller, or with `--dry-run` only its previews. */
import { runController } from "../app/controller.ts";
import { loadConfig } from "../config/config.ts";
import type { FlagValues } from "../config/flags.ts";
import { createLogger } from "../diagnostics/log.ts";

/** Reads the configuration and runs until a signal. */
export async function run(flags: FlagValues): Promise<void> {
  const config = loadConfig(flags, process.env);
  const log = await createLogger({ format: config.logFormat, level: config.verbosity >= 2 ? "debug" : "info" });
  for (const warning of config.warnings) log.warn(warning);
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  if (config.isDryRun) await (await import("./preview/dry-run.ts")).previewForever(config, log, stop.signal);
  else await runController(config, log, stop.signal);
}
