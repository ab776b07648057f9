import type { EngineEvent } from "@pulumi/pulumi/automation/index.js";
import { describe, expect, it } from "vitest";
import { describeResource, StageSteps } from "../../../../dev-env/k3s/steps.ts";

const urn = (type: string, name: string) => `urn:pulumi:dev-cloud::lotse-dev-env::${type}::${name}`;
const SERVER = urn("hcloud:index/server:Server", "worker-1");

function told(...events: readonly object[]) {
  const lines: string[] = [];
  const steps = new StageSteps((line, isDone) => lines.push(`${isDone ? "done" : "doing"}: ${line}`));
  for (const event of events) steps.take(event as EngineEvent);
  return { lines, failures: steps.failures };
}

const begins = (op: string, type = "hcloud:index/server:Server") => ({
  resourcePreEvent: { metadata: { op, urn: SERVER, type } },
});
const ends = (op: string) => ({
  resOutputsEvent: { metadata: { op, urn: SERVER, type: "hcloud:index/server:Server" } },
});
const complaint = (message: string, about?: string) => ({
  diagnosticEvent: { severity: "error", message, ...(about && { urn: about }) },
});

describe("the engine's events", () => {
  it.each([
    ["create", "creating server worker-1", "server worker-1 created"],
    ["create-replacement", "creating server worker-1", "server worker-1 created anew"],
    ["update", "changing server worker-1", "server worker-1 changed"],
    ["delete", "deleting server worker-1", "server worker-1 deleted"],
    ["delete-replaced", "deleting server worker-1", "server worker-1 deleted"],
  ])("tell of %s when it begins and when it is over", (op, doing, done) => {
    expect(told(begins(op), ends(op)).lines).toEqual([`doing: ${doing}`, `done: ${done}`]);
  });

  it("tell nothing of what stays as it is, of steps inside the engine, and of its own resources", () => {
    const own = begins("create", "pulumi:providers:hcloud");
    expect(told(begins("same"), ends("same"), begins("replace"), own, {}).lines).toEqual([]);
  });

  it("give the cause of a failure once, without the engine's words around it", () => {
    const cause =
      "sdk-v2/provider2.go:571: sdk.helper_schema: server limit exceeded (resource_limit_exceeded, 00ff): provider=hcloud@1.41.0";
    const { failures } = told(
      complaint(cause, SERVER),
      complaint("1 error occurred:\n\t* again", SERVER),
      complaint("update failed"),
    );
    expect(failures).toEqual(["server worker-1: server limit exceeded"]);
  });

  it("give what the engine says in general when it names no resource", () => {
    expect(told(complaint("error: no plugin found")).failures).toEqual(["no plugin found"]);
  });
});

describe("a resource in words", () => {
  it.each([
    [SERVER, "server worker-1"],
    [urn("hcloud:index/placementGroup:PlacementGroup", "placement-group"), "placement group"],
    [urn("hcloud:index/networkSubnet:NetworkSubnet", "subnet"), "network subnet"],
    [urn("hcloud:index/sshKey:SshKey", "ssh-key"), "ssh key"],
    [urn("kubernetes:helm.sh/v3:Release", "cilium"), "release cilium"],
  ])("%s", (given, words) => {
    expect(describeResource(given)).toBe(words);
  });
});
