/** A secret in a file that may be replaced at any time: by a kubelet that mounts a Secret, or by hand. */
import { readFileSync, statSync } from "node:fs";
import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";

/** What tells one version of a file from another without reading it. */
function versionOf(file: string): string {
  const { ino, mtimeMs, size } = statSync(file);
  return `${ino} ${mtimeMs} ${size}`;
}

/**
 * The secret as the file has it now, trimmed; read only when the file is another one than last time. A file that cannot be
 * read or is empty changes nothing: in the middle of a replacement the old secret is the better guess.
 */
export function secretFile(file: string, first: string, log: Logger): () => string {
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
