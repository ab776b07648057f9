import { expect, it } from "vitest";
import { loadConfig } from "../../../../controller/config/config.ts";
import { renderConfigz } from "../../../../controller/config/configz.ts";
import { secret } from "../../../../controller/config/flag-values.ts";
import type { Table } from "../../../../controller/config/setting.ts";
import * as settings from "../../../../controller/config/settings.ts";

const ENV = {
  HCLOUD_TOKEN: "t0ken".repeat(12),
  HCLOUD_ENDPOINT: "https://somebody:s3c@ret@api.example/v1",
  HCLOUD_NETWORK: "cluster",
  ROBOT_ENABLED: "true",
  ROBOT_USER: "robot-us3r",
  ROBOT_PASSWORD: "robot-passw0rd",
};
const shown = (flags: Record<string, string>, env: Record<string, string> = ENV) => {
  const text = renderConfigz(loadConfig(flags, env));
  return { text, config: JSON.parse(text)["cloudcontrollermanager.config.k8s.io"] };
};

it("framework 5.5: shows the effective values of flags, environment and defaults", () => {
  const { config } = shown({ "cluster-cidr": "10.244.0.0/16", "leader-elect-lease-duration": "30s" });
  expect(config).toMatchObject({
    clusterName: "kubernetes",
    clusterCidrs: ["10.244.0.0/16"],
    network: "cluster",
    lease: { durationMs: 30_000, deadlineMs: 10_000 },
    state: "cluster",
    robot: { hasCredentials: true },
  });
});

it("shows no secret, wherever it was set", () => {
  const { text, config } = shown({ state: "s3://bucket/path?region=eu&secret=h1dden" });
  expect(text).not.toMatch(/t0ken|s3c|ret@|robot-us3r|robot-passw0rd|h1dden/);
  expect(config.endpoint).toBe("https://…@api.example/v1");
  expect(config.state).toBe("s3://bucket/path?…");
});

it.each([
  ["postgres://user:pa/s3c@db.example/lotse", "postgres://…@db.example/lotse"],
  ["postgres://user:s3c?x@db.example/lotse?sslmode=s3c", "postgres://…@db.example/lotse?…"],
  ["https://user:#s3c#@api.example", "https://…@api.example"],
  ["https://s3c@api.example/a@b", "https://…@b"],
  ["https://api.example/#s3c", "https://api.example/?…"],
  ["s3://bucket/path", "s3://bucket/path"],
])("shows no password of any shape: %s", (state, expected) => {
  const { text, config } = shown({ state }, { ...ENV, PULUMI_ACCESS_TOKEN: "s3c" });
  expect(text).not.toContain("s3c");
  expect(config.state).toBe(expected);
});

it.each(["ftp://user:pa/s3c@host", "user:s3c@host", "postgres:/user:s3c/@host", "mysql://host?password=s3c"])(
  "repeats no password in a mistake: %s",
  (state) => {
    expect(() => loadConfig({ state }, ENV)).toThrow(/^(?!.*s3c).*--state: /);
  },
);

it("shows no setting that is a secret", () => {
  const rows = Object.values<Table>(settings).flatMap((table) => Object.values(table));
  const secrets = rows.flatMap(({ variable, parse }) => (variable && parse === secret ? [variable] : []));
  expect(secrets).toContain("HCLOUD_TOKEN");
  const { text } = shown({}, { ...ENV, ...Object.fromEntries(secrets.map((name) => [name, `shown-${name}`])) });
  for (const name of secrets) expect(text).not.toContain(`shown-${name}`);
});
