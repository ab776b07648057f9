/** The logger: pino with secrets redacted and control characters escaped. */
import { type DestinationStream, type Logger, pino } from "pino";
import { forPeople, printable } from "./printable.ts";

export type { Logger } from "pino";

interface LogOptions {
  readonly format: "json" | "text";
  readonly level: "error" | "warn" | "info" | "debug";
  /** Destination instead of standard error. */
  readonly destination?: DestinationStream;
}

/** Fields that may contain a credential; their values are never logged. */
const SECRET_FIELDS = ["token", "authorization", "password", "passphrase", "privateKey"];

/** The root logger. It writes to standard error, because standard output is for the results of commands. */
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
  // Loaded only for text logs, to save memory in a cluster.
  const { default: pretty } = await import("pino-pretty");
  const lines = pretty({
    destination: (destination ?? 2) as NodeJS.WritableStream | number,
    sync: true,
    translateTime: "SYS:HH:MM:ss.l",
    singleLine: true,
  });
  // pino-pretty adds escape sequences of its own, so untrusted text must be escaped before.
  return pino(options, { write: (line) => void lines.write(`${JSON.stringify(forPeople(JSON.parse(line)))}\n`) });
}
