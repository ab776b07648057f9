import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { commandConfig, open } from "../../../../../controller/commands/open.ts";
import { readStatus } from "../../../../../controller/commands/status/status.ts";
import { reply, startServer } from "../../../../support/http-server.ts";

const EMPTY = { items: [], servers: [], load_balancers: [], certificates: [], load_balancer_types: [], locations: [] };

it("the status needs no permission to read what the controller keeps in the cluster, and says what is missing", async () => {
  const dir = await mkdtemp(join(tmpdir(), "lotse-test-"));
  const server = await startServer(({ path }, response) => {
    const isKept = /\/(leases|configmaps)\//.test(path);
    reply(response, isKept ? { kind: "Status", message: "forbidden" } : EMPTY, isKept ? 403 : 200);
  });
  const kubeconfig = join(dir, "kubeconfig");
  const context = { name: "here", context: { cluster: "here" } };
  const clusters = [{ name: "here", cluster: { server: server.url } }];
  await writeFile(kubeconfig, stringify({ "current-context": "here", contexts: [context], clusters }));
  const env = { HCLOUD_TOKEN: "t".repeat(64), HCLOUD_ENDPOINT: server.url };
  {
    await using session = await open(commandConfig({ kubeconfig }, env));
    const { balancers, waiting, notes } = await readStatus(session);
    expect([balancers, waiting]).toEqual([[], 0]);
    expect(notes).toEqual([
      "leader, last run and changes that wait may be missing: no permission to read Lease cloud-controller-manager, ConfigMap lotse-plan-kubernetes, ConfigMap lotse-status-kubernetes",
    ]);
  }
  await server.stop();
  await rm(dir, { recursive: true });
});
