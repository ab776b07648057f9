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

/** As Pulumi writes the time of a lock: in the time zone of its owner. */
const ago = (minutes: number, hours = 0) =>
  new Date(Date.now() - minutes * 60_000 + hours * 3_600_000)
    .toISOString()
    .replace(/\.\d+Z/, hours === 0 ? "Z" : `+0${hours}:00`);

it.each([
  ["that was left behind long ago is removed", [ago(20)], true],
  ["that was left behind in another time zone is removed", [ago(20, 2)], true],
  ["of someone who works on the stack is respected", [ago(1)], false],
  ["of someone in another time zone is respected, beside one left behind", [ago(20), ago(1, 2)], false],
])("a lock %s", async (_, times, isSaved) => {
  const pulumi = join(directory, "pulumi");
  const locks = times.map((at) => `s3://bucket/.pulumi/locks/1.json: created by root@lotse-0 (pid 7) at ${at}`);
  const script = `#!/bin/sh
case "$1 $2" in
  "cancel "*) touch '${directory}/cancelled' ;;
  "stack import") [ -e '${directory}/cancelled' ] || {
    echo "error: could not import deployment: the stack is currently locked by ${locks.length} lock(s)." >&2
    echo "  ${locks.join("\n  ")}" >&2
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
