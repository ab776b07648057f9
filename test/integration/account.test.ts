/** `npm run test:account` before it creates anything. */

import { afterEach, expect, it } from "vitest";
import { type Cloud, startCloud } from "../../dev-env/cloud/cloud.ts";
import { LABEL } from "../account/project.ts";
import { changeCloud } from "../support/change-cloud.ts";
import { startSuite } from "../support/suite.ts";

const TOKEN = "token-of-the-project-".padEnd(64, "0");
let cloud: Cloud;
afterEach(() => cloud.stop());

/** Runs the suite to its end. */
async function run(args: readonly string[] = [], env: Readonly<Record<string, string | undefined>> = {}) {
  const suite = startSuite("account", args, { HCLOUD_TOKEN: TOKEN, HCLOUD_ENDPOINT: cloud.url, ...env });
  return { code: await suite.ended, output: suite.output() };
}

it.each([
  ["without a token", { HCLOUD_TOKEN: "" }, "HCLOUD_TOKEN is not set"],
  ["with a wrong token", { HCLOUD_TOKEN: "x".repeat(64) }, "check HCLOUD_TOKEN"],
  ["without an API", { HCLOUD_ENDPOINT: "http://127.0.0.1:9/v1" }, "does not respond"],
  ["without consent to the price", {}, "pass --yes to agree to the price"],
])("creates nothing %s", async (_, env, message) => {
  cloud = await startCloud({ token: TOKEN });
  const { code, output } = await run([], env);
  expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining(message) });
  expect(output).not.toContain("\n    at "); // a stack trace
  expect(cloud.journal.writes).toEqual([]);
});

it("shows the price of what it will create", async () => {
  cloud = await startCloud({ token: TOKEN });
  // 2 × 3.49, 2 × 0.5 and 6 × 5.39 + 16.40 EUR a month, each per 624 hours, with 19 % tax.
  expect((await run()).output).toMatch(
    /at most 0\.11 EUR per started hour, taxes included: 2 × server \(cx23\) 0\.0133/,
  );
  expect((await run(["--location", "ash"])).output).toContain("server type cx23 is not available in ash");
});

it.each([
  ["server", (it: Cloud) => it.addServer({ name: "theirs" })],
  ["network", (it: Cloud) => it.addNetwork({ name: "theirs" })],
])("refuses a project with a %s, and does not touch it", async (kind, add) => {
  cloud = await startCloud({ token: TOKEN });
  add(cloud);
  const { code, output } = await run(["--yes"]);
  expect({ code, output }).toEqual({
    code: 1,
    output: expect.stringContaining(`the project is not empty: ${kind} theirs`),
  });
  expect(cloud.journal.writes).toEqual([]);
});

it.each([
  [["--timeout", "soon"], "not a whole number of seconds"],
  [["--yes", "--only", "nodes,rotes"], "there is no step rotes; the steps are nodes, "],
])("rejects %j before it creates anything", async (args, message) => {
  cloud = await startCloud({ token: TOKEN });
  expect(await run(args)).toEqual({ code: 1, output: expect.stringContaining(message) });
  expect(cloud.journal.writes).toEqual([]);
});

it("--clean removes what carries its label, also if protected or busy, and nothing else", async () => {
  cloud = await startCloud({ token: TOKEN });
  cloud.addServer({ name: "left", labels: { [LABEL]: "run-1" } });
  cloud.addServer({ name: "theirs", labels: { other: "label" } });
  const balancer = { load_balancer_type: "lb11", location: "fsn1" };
  const post = (path: string, body: object) => changeCloud(cloud, "POST", path, body);
  await post("/networks", { name: "left", ip_range: "10.0.0.0/16", labels: { [LABEL]: "run-1" } });
  await post("/load_balancers", { ...balancer, name: "theirs" });
  const made = await post("/load_balancers", { ...balancer, name: "left", labels: { [LABEL]: "run-1" } });
  await post(`/load_balancers/${made.load_balancer.id}/actions/change_protection`, { delete: true });
  cloud.faults.add({ method: "DELETE", path: "/servers/*", times: 1, effect: { kind: "error", code: "locked" } });
  cloud.faults.add({ method: "DELETE", path: "/**", times: 1, effect: { kind: "error", code: "rate_limit_exceeded" } });

  const { code, output } = await run(["--clean"]);
  expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining("3 removed") });
  const { servers, networks, loadBalancers } = cloud.state;
  expect([servers, networks, loadBalancers].map((view) => view.values().map(({ name }) => name))).toEqual([
    ["theirs"],
    [],
    ["theirs"],
  ]);
  expect((await run(["--clean"])).output).toContain("there are none");
});
