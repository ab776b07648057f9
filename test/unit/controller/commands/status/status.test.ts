import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { V1Service } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { completion } from "../../../../../controller/commands/completion.ts";
import { OTHER_COMMANDS } from "../../../../../controller/commands/definitions.ts";
import { statusText } from "../../../../../controller/commands/status/status-text.ts";
import { type ClusterStatus, renderStatus } from "../../../../../controller/commands/status/status-view.ts";
import { versions } from "../../../../../controller/commands/version.ts";
import { FINALIZER } from "../../../../../controller/formats/finalizer.ts";
import { planRun } from "../../../../../controller/guard/plan.ts";
import type { Certificate, LoadBalancer, LoadBalancerTarget } from "../../../../../controller/hcloud/api.ts";
import { renderCluster } from "../../../../../controller/render/cluster.ts";
import { VERSIONS } from "../../../../../stacks/state/versions.ts";
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
import { anIssuedCertificate } from "../../../../support/certificates.ts";

const OPTIONS = aRenderOptions();

function target(id: number, ...statuses: readonly string[]): LoadBalancerTarget {
  const health_status = statuses.map((status, index) => ({ listen_port: index, status }));
  return Object.assign(aServerTarget(id), { health_status });
}

interface Given {
  readonly balancer?: Partial<LoadBalancer>;
  readonly services?: readonly V1Service[];
  readonly certificates?: readonly Certificate[];
  /** When the leader last renewed its Lease. */
  readonly renewTime?: string;
}

function aStatus(given: Given = {}): ClusterStatus {
  const balancer = aBalancer({
    name: "a0c7e1a529d3b4f608a715b2e6f4d9c1",
    labels: { "hcloud-ccm/service-uid": UID },
    services: [aBalancerService(80)],
    targets: [target(1, "healthy", "healthy"), target(2, "healthy", "unhealthy")],
    ...given.balancer,
  });
  const nodes = [
    aNode({ id: 1, ready: "True", addresses: [{ type: "InternalIP", address: "10.0.0.1" }] }),
    aNode({ id: 2, ready: "False" }),
    aNode({ name: "fresh" }),
  ];
  const services = given.services ?? [
    aService(),
    aService({ name: "new", uid: "2" }),
    aService({ name: "bad", uid: "3", annotations: { protocol: "tpc" } }),
  ];
  const snapshot = {
    now: 0,
    nodes,
    services,
    cloud: {
      servers: [aServer({ id: 1 }), aServer({ id: 2 })],
      loadBalancers: [balancer],
      certificates: given.certificates ?? [],
    },
  };
  const rendered = renderCluster(snapshot, OPTIONS);
  const lease = {
    metadata: { name: "cloud-controller-manager", namespace: "kube-system" },
    spec: { holderIdentity: "pod-1", renewTime: given.renewTime ?? new Date(0).toISOString() },
  };
  const lastRun = { run: "r1", at: "then", units: 3, failed: { "route/a": "busy" }, durationMs: 1_234 };
  return renderStatus({
    place: { cluster: "test", server: "https://api" },
    snapshot,
    rendered,
    plan: planRun(rendered),
    lease,
    waiting: 1,
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
    expect(balancers[1]).toMatchObject({ state: "to be created", targets: { healthy: 0, total: 0 } });
    expect(leader).toEqual({ holder: "pod-1", renewed: "1970-01-01T00:00:00.000Z" });
    expect(budget).toEqual({ remaining: 3599, limit: 3600 });
  });

  it("prints tables, with what needs attention at the end", () => {
    const text = statusText(aStatus(), { approve: "lotse approve --context prod" });
    expect(text).toMatch(
      /^Cluster test: 1 unit out of sync, 1 Node not initialised, 1 waiting for approval, 1 refused\n1970-01-01T00:00:00Z; https:\/\/api; leader pod-1\n/,
    );
    expect(text).toContain("  node-1  Ready            cx22 in fsn1, running  10.0.0.1\n");
    expect(text).toMatch(/default\/web {2}ready +42 {2}lb11 {2}1\/2 +198\.51\.100\.1 2001:db8:ffff::1\n/);
    expect(text).toContain("LAST RUN  then, 3 units in 1.2 s, 1 failed\n    ! route/a: busy");
    expect(text).toContain(
      '! Service default/bad is refused: annotation load-balancer.hetzner.cloud/protocol: "tpc" is not one of',
    );
    expect(text).toContain("! 1 change waits for approval: lotse approve --context prod");
    expect(text).toContain("note: Service default/new: Using the default load balancer type lb11");
    expect(text).toContain("3599 of 3600 Hetzner API requests left");
  });

  it.each<[string, Partial<ClusterStatus>, string]>([
    ["everything is done", {}, "in sync"],
    ["a Service is refused", { refused: aStatus().refused }, "in sync, 1 refused"],
    ["a Node is not initialised", { nodes: aStatus().nodes }, "1 Node not initialised"],
    ["changes wait for approval", { waiting: 2 }, "2 waiting for approval"],
  ])("has a headline when %s", (_, given, expected) => {
    const quiet = { ...aStatus(), changes: 0, refused: [], nodes: [], waiting: 0, ...given };
    expect(statusText(quiet)).toMatch(new RegExp(`^Cluster test: ${expected}\n`));
  });

  it.each<[string, string, Record<string, string>, boolean]>([
    ["to be deleted", "it was made for its Service", {}, false],
    ["to be kept", "its Service asks for it", { "on-delete": "keep" }, false],
    ["to be kept", "it is protected", {}, true],
  ])("says that the load balancer of a deleted Service is %s when %s", (state, _, annotations, isProtected) => {
    const services = [aService({ isDeleted: true, finalizers: [FINALIZER], annotations })];
    const { balancers } = aStatus({ services, balancer: { protection: { delete: isProtected } } });
    expect(balancers).toMatchObject([{ service: "default/web", state }]);
  });

  it("says that a load balancer is to be kept when its Service has left it behind, and still has our finalizer", () => {
    const services = [aService({ isDeleted: true, finalizers: [FINALIZER], annotations: { "on-delete": "keep" } })];
    const { balancers } = aStatus({ services, balancer: { labels: { "lotse/released": UID } } });
    expect(balancers).toMatchObject([{ service: "default/web", state: "to be kept" }]);
  });

  it("names no leader whose Lease has expired: it may have crashed", () => {
    expect(aStatus({ renewTime: "1969-12-31T23:59:46Z" }).leader?.holder).toBe("pod-1");
    expect(aStatus({ renewTime: "1969-12-31T23:59:44Z" }).leader).toBeUndefined();
  });

  it("does not claim that no controller runs when there is no leader", () => {
    const { leader: _, ...leaderless } = aStatus();
    expect(statusText(leaderless)).toContain("; no leader (leader election is off, or no controller is running)\n");
  });
});

describe("a load balancer that is as wanted (B18)", () => {
  const https = aService({ annotations: { protocol: "https", "http-certificates": "7" } });
  it.each<[string, Given, string, readonly string[]]>([
    ["is ready with one healthy target", {}, "ready", []],
    [
      "is degraded without a healthy target",
      { balancer: { targets: [target(1, "unhealthy"), target(2)] } },
      "degraded",
      ["no healthy target"],
    ],
    [
      "is degraded when its certificate is missing",
      { balancer: { services: [] }, services: [https] },
      "degraded",
      [expect.stringContaining('certificate "7" does not exist'), "no listener"],
    ],
    [
      "is degraded when its certificate could not be issued",
      { balancer: { services: [] }, services: [https], certificates: [anIssuedCertificate("failed", { id: 7 })] },
      "degraded",
      [expect.stringMatching(/^port 80 is not served yet: certificate .* could not be issued/), "no listener"],
    ],
    [
      "is refused when one of its settings is",
      { services: [aService({ annotations: { "algorithm-type": "x" } })] },
      "refused",
      [],
    ],
  ])("%s", (_, given, state, problems) => {
    const status = aStatus(given);
    expect(status.balancers[0]).toMatchObject({ state, problems });
    const [headline = ""] = statusText(status).split("\n");
    expect(headline.includes("1 degraded")).toBe(state === "degraded");
    if (state === "degraded") expect(statusText(status)).toContain(`! Service default/web is degraded: `);
  });
});

it("reports the commit of an image, and that of a checkout", () => {
  expect(versions({ LOTSE_COMMIT: "abc", LOTSE_VERSION: "v1" })).toMatchObject({ lotse: "1", commit: "abc" });
  expect(versions({}).commit).toMatch(/^([0-9a-f]{7,}|unknown) \(from source\)$/);
});

it.each([
  ["echo 1.2.3", "1.2.3 (official)"],
  ["echo '1.2.3 (built from source)'", "1.2.3 (built from source)"],
  ["exit 1", `${VERSIONS.hcloud} (not installed)`],
])("reports who built the plugin: %s", (program, expected) => {
  const home = mkdtempSync(join(tmpdir(), "lotse-version-"));
  const plugin = join(home, "plugins", `resource-hcloud-v${VERSIONS.hcloud}`, "pulumi-resource-hcloud");
  mkdirSync(dirname(plugin), { recursive: true });
  writeFileSync(plugin, `#!/bin/sh\n${program}\n`, { mode: 0o755 });
  expect(versions({ LOTSE_PULUMI: plugin, LOTSE_PULUMI_HOME: home }).hcloud).toBe(expected);
  rmSync(home, { recursive: true });
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

  it.each([
    [["previ"], "preview\n:4\n"],
    [["preview", "--mark"], "--markdown\n:0\n"],
    [["preview", "--mark; touch x", "y"], ":0\n"],
    [["nonsense", ""], ":0\n"],
    [["*"], ":4\n"],
  ])("completes %j for kubectl, as cobra expects it", async (words, expected) => {
    const args = ["-c", await printed("kubectl"), "kubectl_complete-lotse", ...words];
    expect(execFileSync("sh", args, { encoding: "utf8" })).toBe(expected);
  });

  it("completes all commands for kubectl before the first letter", async () => {
    const args = ["-c", await printed("kubectl"), "kubectl_complete-lotse", ""];
    const lines = execFileSync("sh", args, { encoding: "utf8" }).split("\n");
    expect(lines).toEqual([...OTHER_COMMANDS.map(({ name }) => name), ":4", ""]);
  });

  it("supports zsh and fish, and lists the supported shells", async () => {
    expect(await printed("zsh")).toMatch(/^#compdef lotse/);
    expect(await printed("fish")).toContain('__fish_seen_subcommand_from preview" -l markdown');
    await expect(printed("constructor")).rejects.toThrow("is not one of bash, zsh, fish, kubectl");
  });
});
