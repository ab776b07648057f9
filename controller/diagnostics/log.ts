import { type DestinationStream, type Logger, pino } from "pino";
import { forPeople, printable } from "./printable.ts";

export type { Logger } from "pino";

export interface LogOptions {
  readonly format: "json" | "text";
  readonly level: "error" | "warn" | "info" | "debug";
  /** Where lines go instead of standard error. */
  readonly destination?: DestinationStream;
}

/** Fields that may hold a credential wherever they turn up; their values are never written. */
const SECRET_FIELDS = ["token", "authorization", "password", "passphrase", "privateKey"];

/** The root logger. Lines go to standard error; standard output belongs to commands that print results. */
export async function createLogger({ format, level, destination }: LogOptions): Promise<Logger> {
  const options = {
    level,
    redact: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.headers.${field}`]),
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  if (format === "json") {
    const sink = destination ?? pino.destination({ fd: 2, sync: true });
    return pino(options, { write: (line) => void sink.write(printable(line)) });
  }
  // Loaded only where a person reads along: it costs memory that a controller in a cluster does not need.
  const { default: pretty } = await import("pino-pretty");
  const lines = pretty({
    destination: (destination ?? 2) as NodeJS.WritableStream | number,
    sync: true,
    translateTime: "SYS:HH:MM:ss.l",
    singleLine: true,
  });
  // What it prints has colours in it: the texts of others must be harmless before.
  return pino(options, { write: (line) => void lines.write(`${JSON.stringify(forPeople(JSON.parse(line)))}\n`) });
}
