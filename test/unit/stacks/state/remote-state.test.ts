import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { RemoteState } from "../../../../stacks/state/remote-state.ts";

const LATEST = { resources: [{ type: "pulumi:pulumi:Stack", outputs: {} }] };
const MIRROR = JSON.stringify({ version: 3, checkpoint: { latest: LATEST } });
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "lotse-remote-"));
  mkdirSync(join(directory, "remote"));
});
afterEach(() => rmSync(directory, { recursive: true }));

it.each([
  ["postgres://user:pa/s3cret@db/x", "postgres://…@db/x"],
  ["postgres://user:s3cret?y@db/x?sslmode=require", "postgres://…@db/x?…"],
  ["postgres://user:%2Fs3cret%3F@db/x", "postgres://…@db/x"],
  ["s3://bucket?accessKey=s3cret", "s3://bucket?…"],
])("a failure to save a state says where, without the password: %s", async (url, place) => {
  const pulumi = join(directory, "pulumi");
  const decoded = decodeURIComponent(url);
  // Repeats the URL as programs do: whole, decoded, and its password alone.
  const password = decoded.replace(/^.*?(:|=)(?!\/\/)/, "").replace(/@.*$/, "");
  const script = `#!/bin/sh\necho "error: '$PULUMI_BACKEND_URL' ${decoded} (${password}): no route" >&2\nexit 1\n`;
  writeFileSync(pulumi, script, { mode: 0o755 });
  const home = { directory, pulumi, plugins: directory, stack: "test" };
  const saved = new RemoteState(home as never, url, {}).save(MIRROR);
  const error = await saved.then(
    () => undefined,
    (reason: Error) => reason,
  );
  expect(error?.message).toMatch(`cannot save the state at ${place} (pulumi stack select)`);
  expect(error?.message).toContain("no route");
  expect(`${error?.message}${error?.stack}${error?.cause}`).not.toContain("s3cret");
});

it.each([
  ["that was left behind long ago is removed", 20, true],
  ["of someone who works on the stack is respected", 1, false],
])("a lock %s", async (_, minutes, isSaved) => {
  const pulumi = join(directory, "pulumi");
  const at = new Date(Date.now() - minutes * 60_000).toISOString().replace(/\.\d+/, "");
  const script = `#!/bin/sh
case "$1 $2" in
  "cancel "*) touch '${directory}/cancelled' ;;
  "stack import") [ -e '${directory}/cancelled' ] || {
    echo "error: could not import deployment: the stack is currently locked by 1 lock(s)." >&2
    echo "  s3://bucket/.pulumi/locks/1.json: created by root@lotse-0 (pid 7) at ${at}" >&2
    exit 255
  } ;;
esac
`;
  writeFileSync(pulumi, script, { mode: 0o755 });
  const home = { directory, pulumi, plugins: directory, stack: "test" };
  const saved = new RemoteState(home as never, "s3://bucket", {}).save(MIRROR);
  if (isSaved) await saved;
  else await expect(saved).rejects.toThrow("currently locked");
  expect(existsSync(join(directory, "cancelled"))).toBe(isSaved);
});
