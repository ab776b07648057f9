import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { becomeSoleWriter } from "../../../../../controller/commands/departure/sole-writer.ts";
import { loadConfig } from "../../../../../controller/config/config.ts";
import { KubeClient } from "../../../../../controller/kube/client.ts";
import { reply, startServer } from "../../../../support/http-server.ts";
import { aLog } from "../../../../support/log.ts";

const CRASHED = {
  metadata: { name: "ccm", namespace: "kube-system", resourceVersion: "1" },
  spec: { holderIdentity: "pod-1", renewTime: "2026-01-01T00:00:00.000000Z" },
};

it.each([
  ["there is none", undefined],
  ["its holder has crashed", CRASHED],
])("a departure blames no controller for a Lease that it may not write, when %s", async (_, lease) => {
  await using ends = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "lotse-test-"));
  ends.defer(() => rm(dir, { recursive: true }));
  const server = await startServer(({ method }, response) => {
    if (method === "GET" && lease) reply(response, lease);
    else reply(response, { message: "no" }, method === "GET" ? 404 : 403);
  });
  ends.defer(() => server.stop());
  const kubeconfig = join(dir, "kubeconfig");
  const clusters = [{ name: "c", cluster: { server: server.url } }];
  const contexts = [{ name: "c", context: { cluster: "c" } }];
  await writeFile(kubeconfig, stringify({ "current-context": "c", contexts, clusters }));
  const given = loadConfig({ kubeconfig }, { HCLOUD_TOKEN: "t".repeat(64) });
  const times = { durationMs: 100, deadlineMs: 90, retryMs: 20 };
  const config = { ...given, lease: { name: "ccm", namespace: "kube-system", ...times } };
  const client = ends.use(new KubeClient({ server: new URL(server.url), credentials: async () => ({}) }));
  const { log, lines } = aLog();
  const writer = becomeSoleWriter({ config, client, log, ends }, false);
  await expect(writer).rejects.toThrow("the Lease ccm could not be acquired in 0.16 s");
  expect(lines).toContainEqual(expect.objectContaining({ level: "warn", error: expect.stringContaining("no") }));
});
