import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import { destroy } from "../../../../../controller/commands/departure/depart.ts";
import { FINALIZER } from "../../../../../controller/formats/finalizer.ts";
import { parseEntries } from "../../../../../controller/record/entry.ts";
import type { RunRequest } from "../../../../../stacks/engine/run.ts";
import { aBalancer, aService, UID } from "../../../../support/builders.ts";
import { reply, startServer, type TestServer } from "../../../../support/http-server.ts";

const EMPTY = { items: [], servers: [], load_balancers: [], certificates: [], load_balancer_types: [], locations: [] };

/** What the API server and the Hetzner API list, by path. */
let listed: Readonly<Record<string, object>>;
/** Whether the Hetzner API still lists load balancers. */
let isListing: boolean;

/** An engine that says it has removed everything, after which the Hetzner API lists no load balancers. */
vi.mock(import("../../../../../controller/app/assemble.ts"), async (original) => {
  const run = async ({ removals }: RunRequest) => {
    isListing = false;
    const outcomes = removals.map((unit) => [unit, { status: "applied", changes: [] }] as const);
    return { outcomes: Object.fromEntries(outcomes), durationMs: 1 };
  };
  const actual = await original();
  return { ...actual, startOwnEngine: async () => ({ run, prepare: () => {} }) as never };
});

/** Answers as an API server that refuses to delete Secrets and has no ConfigMaps and Leases, and as the Hetzner API. */
function answer(method: string, path: string, body: string): [answer: unknown, status: number] {
  if (method === "DELETE") return path.includes("/secrets/") ? [{ message: "forbidden" }, 403] : [{}, 200];
  if (method !== "GET") {
    const object = JSON.parse(body);
    return [{ ...object, metadata: { ...object.metadata, resourceVersion: "1" } }, 200];
  }
  if (path.startsWith("/load_balancers?") && !isListing)
    return [{ error: { code: "server_error", message: "away" } }, 500];
  return /\/(leases|configmaps)\//.test(path)
    ? [{ message: "not found" }, 404]
    : [{ ...EMPTY, ...listed[path.split("?")[0] ?? ""] }, 200];
}

let dir: string;
let server: TestServer;
let kubeconfig: string;
beforeEach(async () => {
  listed = {};
  isListing = true;
  dir = await mkdtemp(join(tmpdir(), "lotse-test-"));
  server = await startServer(({ method, path, body }, response) => reply(response, ...answer(method, path, body)));
  kubeconfig = join(dir, "kubeconfig");
  const context = { name: "here", context: { cluster: "here" } };
  const clusters = [{ name: "here", cluster: { server: server.url } }];
  await writeFile(kubeconfig, stringify({ "current-context": "here", contexts: [context], clusters }));
  vi.stubEnv("HCLOUD_TOKEN", "t".repeat(64));
  vi.stubEnv("HCLOUD_ENDPOINT", server.url);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await server.stop();
  await rm(dir, { recursive: true });
});

it("a departure reports what it did although the controller's own objects cannot be deleted, and deletes the others", async () => {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  expect(await destroy({ flags: { kubeconfig, yes: true, json: true }, operands: [] })).toBe(1);
  const report = JSON.parse(String(write.mock.calls[0]?.[0]));
  const failure = "DELETE /api/v1/namespaces/kube-system/secrets/lotse-state-kubernetes: forbidden";
  expect(report).toMatchObject({ isDone: false, failures: [failure] });
  const deleted = server.received.filter(({ method }) => method === "DELETE").map(({ path }) => path.split("/").at(-1));
  expect(deleted.toSorted()).toEqual(["lotse-plan-kubernetes", "lotse-state-kubernetes", "lotse-status-kubernetes"]);
});

it("a departure records how its run ended although the cloud cannot be listed afterwards", async () => {
  listed = {
    "/api/v1/services": { items: [aService({ finalizers: [FINALIZER] })] },
    "/load_balancers": { load_balancers: [aBalancer({ labels: { "hcloud-ccm/service-uid": UID } })] },
  };
  const leaving = destroy({ flags: { kubeconfig, yes: true }, operands: [] });
  await expect(leaving).rejects.toThrow("away");
  const saved = server.received.filter(({ method, path }) => method === "POST" && path.endsWith("/configmaps"));
  const entries = saved.flatMap(({ body }) => parseEntries(JSON.parse(body).data.entries));
  expect(entries.map(({ kind }) => kind)).toEqual(["change", "outcome"]);
});
