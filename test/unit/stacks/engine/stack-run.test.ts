import type { EngineEvent } from "@pulumi/pulumi/automation/index.js";
import { describe, expect, it } from "vitest";
import { describePlan, describeResource, describeStep } from "../../../../stacks/engine/progress.ts";
import { Failures, StackError } from "../../../../stacks/engine/stack-run.ts";

const urn = (type: string, name: string) => `urn:pulumi:dev::env::lotse:index:Cluster$${type}::${name}`;
const SERVER = urn("hcloud:index/server:Server", "dev-worker#server-1");
const STACK = "urn:pulumi:dev::env::pulumi:pulumi:Stack::env-dev";

const complaint = (message: string, about?: string) =>
  ({ diagnosticEvent: { severity: "error", message, ...(about && { urn: about }) } }) as EngineEvent;

function failures(...events: readonly EngineEvent[]) {
  const found = new Failures();
  for (const event of events) found.note(event);
  return found.all(new Error("the command line failed"));
}

describe("the failures of a run", () => {
  const limit =
    "sdk-v2/provider2.go:571: sdk.helper_schema: server limit exceeded (resource_limit_exceeded, 00ff): provider=hcloud@1.41.0";

  it("have the cause of each resource once, without the engine's wrapping", () => {
    const found = failures(
      complaint(limit, SERVER),
      complaint("1 error occurred:\n\t* again", SERVER),
      complaint("update failed"),
    );
    expect(found).toMatchObject([
      { urn: SERVER, failure: { code: "resource_limit_exceeded", message: "server limit exceeded" } },
    ]);
  });

  it("have all lines of the program's own message, and no URN", () => {
    expect(failures(complaint("error: workers: wrong\nlocation: wrong", STACK))).toMatchObject([
      { failure: { message: "workers: wrong\nlocation: wrong" } },
    ]);
  });

  it("are what the command line says if the engine names none, and ignore empty messages", () => {
    expect(failures(complaint("  ", SERVER))).toMatchObject([{ failure: { message: "the command line failed" } }]);
  });

  it.each([
    ["locked", SERVER, true],
    ["conflict", SERVER, true],
    ["resource_limit_exceeded", SERVER, false],
    ["locked", undefined, false],
  ])("%s of %s are transient: %s", (code, about, expected) => {
    const error = new StackError(failures(complaint(`it is busy (${code})`, about)), undefined);
    expect(error.isTransient).toBe(expected);
  });
});

describe("a step in words", () => {
  const step = { urn: SERVER, type: "hcloud:index/server:Server", fields: [], phase: "done" } as const;

  it.each([
    ["create", "server dev-worker-1 created"],
    ["create-replacement", "server dev-worker-1 recreated"],
    ["update", "server dev-worker-1 changed"],
    ["delete", "server dev-worker-1 deleted"],
    ["delete-replaced", "server dev-worker-1 deleted"],
    ["same", undefined],
    ["replace", undefined],
  ])("%s", (operation, words) => {
    expect(describeStep({ ...step, operation })).toBe(words);
  });

  it("is left out while it is under way, and for components", () => {
    expect(describeStep({ ...step, operation: "create", phase: "started" })).toBeUndefined();
    expect(describeStep({ ...step, operation: "create", type: "lotse:index:Cluster" })).toBeUndefined();
  });
});

describe("a planned change in words", () => {
  it.each([
    ["create", [], "+ create server dev-worker-1"],
    ["update", ["labels", "name"], "~ update server dev-worker-1 (labels, name)"],
    ["delete", [], "- delete server dev-worker-1"],
    ["replace", ["serverType"], "± replace server dev-worker-1 (serverType)"],
  ])("%s", (operation, fields, words) => {
    expect(describePlan({ urn: SERVER, type: "", operation, fields, phase: "started" })).toBe(words);
  });
});

describe("a resource in words", () => {
  it.each([
    [SERVER, "server dev-worker-1"],
    [urn("hcloud:index/placementGroup:PlacementGroup", "dev-worker#placement-group"), "placement group dev-worker"],
    [
      urn("hcloud:index/networkSubnet:NetworkSubnet", "dev-network#subnet-machines"),
      "network subnet dev-network-machines",
    ],
    [urn("hcloud:index/sshKey:SshKey", "dev#ssh-key"), "ssh key dev"],
    [
      urn("hcloud:index/loadBalancerService:LoadBalancerService", "dev-api#listener-6443"),
      "load balancer service dev-api listener-6443",
    ],
    [urn("kubernetes:helm.sh/v3:Release", "cilium"), "release cilium"],
  ])("%s", (given, words) => {
    expect(describeResource(given)).toBe(words);
  });
});
