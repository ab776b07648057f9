import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const MAIN = fileURLToPath(new URL("../../../../dev-env/cloud/main.ts", import.meta.url));

it("refuses a port above 65535 before it starts", () => {
  const { status, stderr } = spawnSync(process.execPath, [MAIN, "--port", "70000"], { encoding: "utf8" });
  expect(stderr).toContain("not a whole number from 0 to 65535");
  expect(status).toBe(1);
});
