import { ChildProcess } from "node:child_process";
import { expect, it, vi } from "vitest";
import { WarmPlugin } from "../../../../stacks/engine/warm-plugin.ts";

it("a plugin that could not be started is sent no signal: Node would send it to any process", async () => {
  const kill = vi.spyOn(ChildProcess.prototype, "kill").mockReturnValue(false);
  const plugin = new WarmPlugin("/nowhere/pulumi-resource-hcloud", {});
  plugin[Symbol.dispose]();
  expect(kill).not.toHaveBeenCalled();
  await plugin.ended;
  expect(await plugin.environment()).toEqual({});
});
