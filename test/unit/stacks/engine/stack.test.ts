import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { StoredStack } from "../../../../stacks/engine/stack.ts";

it("reports why a command failed that did not read its input", async () => {
  const directory = await mkdtemp(join(tmpdir(), "lotse-stack-"));
  const pulumi = join(directory, "pulumi");
  await writeFile(pulumi, '#!/bin/sh\n[ "$1" != config ] || { echo "error: no such key" >&2; exit 1; }\n', {
    mode: 0o755,
  });
  await writeFile(join(directory, "Pulumi.yaml"), "name: project\nruntime: nodejs\n");
  const files = { directory, configFile: join(directory, "config.yaml"), program: directory, plugins: directory };
  const stack = await StoredStack.open({ ...files, name: "dev", pulumi, env: { PATH: process.env.PATH } });
  // More than a pipe holds.
  const setting = stack.pulumi(["config", "set"], "x".repeat(1_000_000));
  await expect(setting).rejects.toThrow("no such key");
  await rm(directory, { recursive: true });
});
