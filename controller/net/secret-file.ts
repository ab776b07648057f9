/** A secret in a file that the kubelet, or an operator, may replace at any time. */
import { readFileSync, statSync } from "node:fs";
import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";

/** Identifies a version of the file without reading it. */
function versionOf(file: string): string {
  const { ino, mtimeMs, size } = statSync(file);
  return `${ino} ${mtimeMs} ${size}`;
}

/**
 * Returns a function for the current secret, trimmed. The file is read only when it has changed. While it is unreadable or
 * empty, for example during a replacement, the previous secret is kept. Without a file, the first one stays.
 */
export function secretFile(file: string | undefined, first: string, log: Logger): () => string {
  if (file === undefined) return () => first;
  let secret = first;
  let version: string | undefined;
  let failure: string | undefined;
  const update = () => {
    const now = versionOf(file);
    if (now === version) return;
    const text = readFileSync(file, "utf8").trim();
    version = now;
    if (text === "") throw new Error("the file is empty");
    if (text !== secret) log.info({ file }, "secret replaced");
    secret = text;
  };
  return () => {
    try {
      update();
      failure = undefined;
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== failure) log.warn({ file, error: reason }, "secret file unreadable, keeping the previous value");
      failure = reason;
    }
    return secret;
  };
}
