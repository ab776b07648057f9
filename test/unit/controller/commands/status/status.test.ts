import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { completion } from "../../../../../controller/commands/completion.ts";
import { OTHER_COMMANDS } from "../../../../../controller/commands/definitions.ts";
import { statusText } from "../../../../../controller/commands/status/status-text.ts";
import { type ClusterStatus, renderStatus } from "../../../../../controller/commands/status/status-view.ts";
import { versions } from "../../../../../controller/commands/version.ts";
import { planRun } from "../../../../../controller/guard/plan.ts";
import type { LoadBalancerTarget } from "../../../../../controller/hcloud/api.ts";
import { renderCluster } from "../../../../../controller/render/cluster.ts";
import {
  aBalancer,
  aBalancerService,
  aNode,
  aRenderOptions,
  aServer,
  aServerTarget,
  aService,
  UID,
} from "../../../../support/builders.ts";

const OPTIONS = aRenderOptions();

function target(id: number, ...statuses: readonly string[]): LoadBalancerTarget {
  const health_status = statuses.map((status, index) => ({ listen_port: index, status }));
  return Object.assign(aServerTarget(id), { health_status });
}

function aStatus(): ClusterStatus {
  const balancer = aBalancer({
    name: "a0c7e1a529d3b4f608a715b2e6f4d9c1",
    labels: { "hcloud-ccm/service-uid": UID },
    services: [aBalancerService(80)],
    targets: [target(1, "healthy", "healthy"), target(2, "healthy", "unhealthy")],
  });
  const nodes = [
    aNode({ id: 1, ready: "True", addresses: [{ type: "InternalIP", address: "10.0.0.1" }] }),
    aNode({ id: 2, ready: "False" }),
    aNode({ name: "fresh" }),
  ];
  const services = [
    aService(),
    aService({ name: "new", uid: "2" }),
    aService({ name: "bad", uid: "3", annotations: { protocol: "tpc" } }),
  ];
  const snapshot = {
    now: 0,
    nodes,
    services,
    cloud: { servers: [aServer({ id: 1 }), aServer({ id: 2 })], loadBalancers: [balancer], certificates: [] },
  };
  const rendered = renderCluster(snapshot, OPTIONS);
  const lease = {
    metadata: { name: "cloud-controller-manager", namespace: "kube-system" },
    spec: { holderIdentity: "pod-1", renewTime: "now" },
  };
  const lastRun = { run: "r1", at: "then", units: 3, failed: { "route/a": "busy" }, durationMs: 1_234 };
  return renderStatus({
    cluster: "test",
    snapshot,
    rendered,
    plan: planRun(rendered),
    lease,
    pending: { id: "abc", at: "", steps: [] },
    controller: { refused: [], lastRun },
    budget: { remaining: 3599.7, limit: 3600 },
  });
}

describe("the status of a cluster", () => {
  it("has nodes with their servers, and load balancers with the health of their targets", () => {
    const { nodes, balancers, leader, budget } = aStatus();
    expect(nodes.map(({ isReady, isInitialised, server }) => [isReady, isInitialised, server])).toEqual([
      [true, true, "cx22 in fsn1, running"],
      [false, true, "cx22 in fsn1, running"],
      [false, false, "none in this project"],
    ]);
    expect(balancers[0]).toMatchObject({ service: "default/web", state: "ready", targets: { healthy: 1, total: 2 } });
    expect(balancers[1]).toMatchObject({ state: "to be made", targets: { healthy: 0, total: 0 } });
    expect(leader).toEqual({ holder: "pod-1", renewed: "now" });
    expect(budget).toEqual({ remaining: 3599, limit: 3600 });
  });

  it("prints tables, with what needs attention at the end", () => {
    const text = statusText(aStatus());
    expect(text).toMatch(/^Cluster test: \d units? out of sync; leader pod-1\n/);
    expect(text).toContain("  node-1  Ready            cx22 in fsn1, running  10.0.0.1\n");
    expect(text).toMatch(/default\/web {2}ready +42 {2}lb11 {2}1\/2 +198\.51\.100\.1/);
    expect(text).toContain("LAST RUN  then, 3 units in 1.2 s, 1 failed\n    ! route/a: busy");
    expect(text).toContain(
      '! Service default/bad: annotation load-balancer.hetzner.cloud/protocol: "tpc" is not one of',
    );
    expect(text).toContain("! plan abc is waiting for approval: lotse approve abc");
    expect(text).toContain("3599 of 3600 Hetzner API requests left");
  });
});

it("reports the commit of an image, and that it is unknown in a checkout", () => {
  expect(versions({ LOTSE_COMMIT: "abc", LOTSE_VERSION: "v1" })).toMatchObject({ lotse: "v1", commit: "abc" });
  expect(versions({}).commit).toBe("unknown (running from source)");
});

describe("completion", () => {
  const printed = async (shell: string): Promise<string> => {
    const write = process.stdout.write;
    let text = "";
    process.stdout.write = (chunk: string | Uint8Array) => {
      text += chunk;
      return true;
    };
    try {
      await completion(OTHER_COMMANDS, { flags: {}, operands: [shell] });
    } finally {
      process.stdout.write = write;
    }
    return text;
  };

  it.each([
    ["previ", 1, "preview"],
    ["--mark", 2, "--markdown"],
  ])("completes %s in bash", async (word, position, expected) => {
    const words = position === 1 ? `(lotse ${word})` : `(lotse preview ${word})`;
    const script = `${await printed("bash")}\nCOMP_WORDS=${words} COMP_CWORD=${position}; _lotse; echo "\${COMPREPLY[@]}"`;
    expect(execFileSync("bash", ["-c", script], { encoding: "utf8" }).trim()).toBe(expected);
  });

  it("supports zsh and fish, and lists the supported shells", async () => {
    expect(await printed("zsh")).toMatch(/^#compdef lotse/);
    expect(await printed("fish")).toContain('__fish_seen_subcommand_from preview" -l markdown');
    await expect(printed("constructor")).rejects.toThrow("is not one of bash, zsh, fish");
  });
});
