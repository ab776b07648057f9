import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readRobot } from "../../../../controller/config/config.ts";

function load(env: Readonly<Record<string, string>>) {
  const source = { flags: {}, env: { ROBOT_ENABLED: "true", ...env }, mistakes: [], warnings: [] };
  return { config: readRobot(source), mistakes: source.mistakes };
}

describe("dedicated servers", () => {
  it("HCCM E26: are ignored by default", () => {
    expect(load({ ROBOT_ENABLED: "false", ROBOT_USER: "u", ROBOT_CACHE_TIMEOUT: "nonsense" })).toEqual({
      config: undefined,
      mistakes: [],
    });
  });

  it("HCCM E27 to E30: have the official defaults", () => {
    expect(load({ ROBOT_USER: "u", ROBOT_PASSWORD: "p" })).toEqual({
      config: {
        endpoint: "https://robot-ws.your-server.de",
        credentials: { user: "u", password: "p" },
        cacheMs: 300_000,
        rateLimitWaitMs: 60_000,
        forwardInternalIps: true,
      },
      mistakes: [],
    });
  });

  it("HCCM E27: need no credentials, but reject half of them", () => {
    expect(load({}).config).not.toHaveProperty("credentials");
    expect(load({ ROBOT_USER: "u" }).mistakes).toEqual([expect.stringContaining("set both")]);
  });

  it("HCCM E27: take credentials from files", () => {
    const folder = mkdtempSync(join(tmpdir(), "lotse-robot-"));
    const file = join(folder, "password");
    writeFileSync(file, "p\n");
    expect(load({ ROBOT_USER: "u", ROBOT_PASSWORD_FILE: file }).config?.credentials).toEqual({
      user: "u",
      password: "p",
      passwordFile: file,
    });
    rmSync(folder, { recursive: true });
    expect(load({ ROBOT_USER: "u", ROBOT_PASSWORD_FILE: file }).mistakes[0]).toContain("ROBOT_PASSWORD_FILE");
    expect(load({ ROBOT_ENABLED: "" }).mistakes).toEqual(['ROBOT_ENABLED: "" is not true or false']);
  });

  it("HCCM E28 to E30: can be set, and every mistake is reported", () => {
    const env = { ROBOT_CACHE_TIMEOUT: "1m", ROBOT_RATE_LIMIT_WAIT_TIME: "5m", ROBOT_FORWARD_INTERNAL_IPS: "false" };
    expect(load(env).config).toMatchObject({ cacheMs: 60_000, rateLimitWaitMs: 300_000, forwardInternalIps: false });
    expect(load({ ROBOT_CACHE_TIMEOUT: "x", ROBOT_FORWARD_INTERNAL_IPS: "y" }).mistakes).toHaveLength(2);
  });
});
