import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { commandConfig, open } from "../../../../../controller/commands/open.ts";
import { observeWith } from "../../../../../controller/commands/preview/preview.ts";
import { reply, startServer } from "../../../../support/http-server.ts";

const EMPTY = { items: [], servers: [], load_balancers: [], certificates: [], load_balancer_types: [], locations: [] };
const service = (metadata: object) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata,
  spec: { ports: [{ port: 80 }] },
});

it.each([
  ["the namespace of the context", { namespace: "team" }, "team"],
  ["the namespace default, if the context has none", {}, "default"],
])("a Service in a manifest without a namespace is in %s, as with kubectl", async (_, own, expected) => {
  const dir = await mkdtemp(join(tmpdir(), "lotse-test-"));
  const server = await startServer((_request, response) => reply(response, EMPTY));
  const [kubeconfig, manifest] = [join(dir, "kubeconfig"), join(dir, "services.yaml")];
  const contexts = [{ name: "here", context: { cluster: "here", ...own } }];
  const clusters = [{ name: "here", cluster: { server: server.url } }];
  await writeFile(kubeconfig, stringify({ "current-context": "here", contexts, clusters }));
  await writeFile(
    manifest,
    [service({ name: "web" }), service({ name: "api", namespace: "other" })].map((one) => stringify(one)).join("---\n"),
  );
  {
    const env = { HCLOUD_TOKEN: "t".repeat(64), HCLOUD_ENDPOINT: server.url };
    await using session = await open(commandConfig({ kubeconfig }, env));
    const { snapshot } = await observeWith([manifest], session);
    const names = snapshot.services.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`);
    expect(names).toEqual([`${expected}/web`, "other/api"]);
  }
  await server.stop();
  await rm(dir, { recursive: true });
});
