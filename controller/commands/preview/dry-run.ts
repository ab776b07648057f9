/**
 * `lotse run --dry-run`, the observe-only mode: previews at every resync and logs the result when it differs from the last one.
 * It writes nothing, not even Events, and takes no Lease, so it can run next to a controller.
 */
import type { Config } from "../../config/config.ts";
import { messageOf } from "../../diagnostics/errors.ts";
import type { Logger } from "../../diagnostics/log.ts";
import { SYSTEM_CLOCK } from "../../work/clock.ts";
import type { Forecast } from "./forecast.ts";
import { forecastChanges } from "./preview.ts";

/** Previews until the signal fires. */
export async function previewForever(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  log.info({ cluster: config.clusterName }, "dry run: observing only, no changes are made");
  let last = "";
  while (!signal.aborted) {
    try {
      const forecast = await forecastChanges(config, []);
      const current = JSON.stringify(forecast);
      if (current !== last) report(forecast, log);
      last = current;
    } catch (error) {
      log.warn({ error: messageOf(error) }, "observation failed, retrying");
    }
    await SYSTEM_CLOCK.pause(config.resyncMs, signal);
  }
}

/** Logs each unit that would change and each object that is refused. */
export function report({ units, refused, heldBack, notes }: Forecast, log: Logger): void {
  for (const { unit, object, action, parts, failure } of units) {
    const resources = parts.map(({ part, operation }) => `${operation} ${part}`);
    if (failure === undefined) log.info({ unit, object, action, resources }, "would change");
    else log.warn({ unit, object, action, error: failure }, "would fail");
  }
  for (const { object, mistakes } of refused) log.warn({ object, mistakes }, "would be refused");
  if (heldBack !== undefined) log.warn({ heldBack }, "would be held back by the guard");
  for (const note of notes) log.info({ note }, "noted");
  if (units.length === 0) log.info("nothing to change");
}
