import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MESSAGES, narrate } from "../../../../dev-env/terminal/narrate.ts";

const UNIT = "load-balancer/default/web@0c7e1a529d3b";
const INFO = 30;
const WARN = 40;

describe("narrate", () => {
  it.each([
    [MESSAGES.running, { nodes: 3, services: 1 }, "controller", "running, watches 3 Nodes and 1 Service"],
    [
      MESSAGES.nodeUpdated,
      { node: "node-1", fields: ["labels", "addresses"] },
      "node",
      "node-1 updated: labels, addresses",
    ],
    [
      MESSAGES.nodeTainted,
      { node: "node-1", isOff: true },
      "node",
      "node-1: shutdown taint added, because the server is off",
    ],
    [MESSAGES.nodeTainted, { node: "node-1", isOff: false }, "node", "node-1: shutdown taint removed"],
    [MESSAGES.nodeDeleted, { node: "node-1" }, "node", "node-1 deleted, because the server no longer exists"],
    [
      MESSAGES.waitsForApproval,
      { units: [UNIT, "route/10.244.1.0/24"] },
      "approval",
      "2 changes wait for approval: load balancer default/web, route 10.244.1.0/24; review with: lotse approve",
    ],
    [
      MESSAGES.waitsForApproval,
      { units: [UNIT] },
      "approval",
      "1 change waits for approval: load balancer default/web; review with: lotse approve",
    ],
    [MESSAGES.changed, { unit: UNIT, part: "balancer", operation: "create" }, "load balancer", "default/web created"],
    [
      MESSAGES.changed,
      { unit: UNIT, part: "network", operation: "replace" },
      "load balancer",
      "default/web: network attachment replaced",
    ],
    [
      MESSAGES.changed,
      { unit: UNIT, part: "listener-80", operation: "update" },
      "load balancer",
      "default/web: listener 80 updated",
    ],
    [
      MESSAGES.changed,
      { unit: UNIT, part: "server-7", operation: "delete" },
      "load balancer",
      "default/web: target server 7 deleted",
    ],
    [
      MESSAGES.changed,
      { unit: UNIT, part: "rdns-ipv6", operation: "create" },
      "load balancer",
      "default/web: reverse DNS of IPv6 created",
    ],
    [
      MESSAGES.changed,
      { unit: "route/10.244.1.0/24", part: "route", operation: "create" },
      "route",
      "10.244.1.0/24 created",
    ],
    [
      MESSAGES.serviceReady,
      { service: "default/web", ingress: ["1.2.3.4", "10.0.1.4"] },
      "service",
      "default/web is reachable at 1.2.3.4, 10.0.1.4",
    ],
    [MESSAGES.runFinished, { units: 1, durationMs: 912 }, "pulumi", "run finished in 0.9 s"],
  ])("prints %j with %j", (msg, fields, topic, text) => {
    expect(narrate({ msg, level: INFO, ...fields })).toEqual({ topic, text });
  });

  it.each([
    [
      MESSAGES.changeFailed,
      { unit: UNIT, part: "server-7", operation: "create" },
      "failed",
      "load balancer default/web: could not create target server 7",
    ],
    [
      MESSAGES.changeFailed,
      { unit: UNIT, part: "balancer", operation: "delete" },
      "failed",
      "load balancer default/web: could not delete it",
    ],
    [
      MESSAGES.unitFailed,
      { unit: UNIT, message: "server 7 not found" },
      "failed",
      "load balancer default/web: server 7 not found",
    ],
    ["write failed", { object: "default/web", error: "timeout" }, "warning", "default/web: write failed: timeout"],
    ["not readable", { node: "node-1", error: "timeout" }, "warning", "node-1: not readable: timeout"],
    ["status not written", { error: "timeout" }, "warning", "controller: status not written: timeout"],
  ])("names the object of the problem %j", (msg, fields, topic, text) => {
    expect(narrate({ msg, level: WARN, ...fields })).toEqual({ topic, text, isProblem: true });
  });

  it("prints advice as a note", () => {
    const record = { object: "Service default/web", reason: "LoadBalancerTypeUnconfigured", msg: "Using lb11." };
    expect(narrate({ ...record, level: WARN })).toEqual({ topic: "note", text: "Service default/web: Using lb11." });
  });

  it("prints errors without a record of their own", () => {
    const line = { topic: "error", text: "controller: HCLOUD_TOKEN is not set", isProblem: true };
    expect(narrate({ msg: "HCLOUD_TOKEN is not set", level: 50 })).toEqual(line);
  });

  it("skips records for developers", () => {
    expect(narrate({ msg: "api exchange", level: INFO })).toBeUndefined();
  });

  it("recognises messages that the controller logs", () => {
    const files = readdirSync("controller", { recursive: true, encoding: "utf8" }).filter((file) =>
      file.endsWith(".ts"),
    );
    const sources = files.map((file) => readFileSync(join("controller", file), "utf8")).join("\n");
    expect(Object.values(MESSAGES).filter((message) => !sources.includes(`"${message}"`))).toEqual([]);
  });
});
