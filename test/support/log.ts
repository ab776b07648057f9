/** A logger for unit tests. */
import { type Logger, pino } from "pino";

/** A logger that keeps its records, with the names of their levels. */
export function aLog(): { readonly log: Logger; readonly lines: readonly Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const formatters = { level: (level: string) => ({ level }) };
  const log = pino(
    { level: "trace", base: null, timestamp: false, formatters },
    { write: (line) => lines.push(JSON.parse(line)) },
  );
  return { log, lines };
}
