import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { descendantsOf } from "../support/process-tree.ts";
import { startWorld } from "../support/world.ts";

const TOKEN = "S3cr3tT0ken".padEnd(64, "x");

it("keeps the token in the controller: it is not in state, log, Events, or any child process", async () => {
  const dir = await mkdtemp(join(tmpdir(), "lotse-secrets-"));
  await using ends = new AsyncDisposableStack();
  // Deleted last: a running controller would add files to it.
  ends.defer(() => rm(dir, { recursive: true, force: true }));
  await using world = await startWorld({ nodes: 1, cloud: { token: TOKEN, actionMs: 200 } });
  const controller = world.startController(["-v=9"], { TMPDIR: dir });
  const seen = new Map<string, string>();
  const look = () => {
    // Between fork and exec, a child is still a copy of the controller.
    const others = descendantsOf(controller.pid).filter(({ command }) => !command.includes("controller/main.ts"));
    for (const { pid, command } of others)
      seen.set(command, (seen.get(command) ?? command) + read(`/proc/${pid}/environ`));
  };
  await world.createService("web");
  await eventually(
    async () => {
      look();
      const { status } = await world.core.readNamespacedService({ namespace: "default", name: "web" });
      expect(status?.loadBalancer?.ingress?.length).toBeGreaterThan(0);
    },
    { intervalMs: 20, timeoutMs: 30_000 },
  );
  const commands = [...seen.keys()].join("\n");
  expect(commands).toMatch(/worker\.ts/);
  expect(commands).toMatch(/pulumi up/);
  expect(commands).toMatch(/pulumi-resource-hcloud/);
  for (const [command, all] of seen) expect(all.includes(TOKEN), command).toBe(false);

  const files = await eventually(() => filesIn(dir));
  expect(files.map(read).join("")).not.toBe("");
  for (const file of files) expect(read(file).includes(TOKEN), file).toBe(false);
  expect(controller.output).toContain('"msg":"api request"');
  expect(controller.output).not.toContain(TOKEN);
  expect(JSON.stringify(await world.core.listNamespacedEvent({ namespace: "default" }))).not.toContain(TOKEN);
});

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // the process has exited, or the engine has deleted the file
  }
}

/** Fails if a folder is deleted while it is read: the engine is prepared for the next run, and cleans up before it. */
function filesIn(dir: string): readonly string[] {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
