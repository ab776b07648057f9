import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import { destroy } from "../../../../../controller/commands/departure/depart.ts";
import { reply, startServer, type TestServer } from "../../../../support/http-server.ts";

const EMPTY = { items: [], servers: [], load_balancers: [], certificates: [], load_balancer_types: [], locations: [] };

/** Answers as an API server with nothing in it that refuses to delete Secrets, and as a Hetzner project without resources. */
function answer(method: string, path: string, body: string): [answer: unknown, status: number] {
  if (method === "DELETE") return path.includes("/secrets/") ? [{ message: "forbidden" }, 403] : [{}, 200];
  if (method !== "GET") {
    const object = JSON.parse(body);
    return [{ ...object, metadata: { ...object.metadata, resourceVersion: "1" } }, 200];
  }
  return /\/(leases|configmaps)\//.test(path) ? [{ message: "not found" }, 404] : [EMPTY, 200];
}

let dir: string;
let server: TestServer;
let kubeconfig: string;
beforeEach(async () => {
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
