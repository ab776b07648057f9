import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CoreV1Api } from "@kubernetes/client-node";
import { expect, it } from "vitest";
import { connect } from "../../../../dev-env/cluster/api.ts";
import { Authority } from "../../../../dev-env/cluster/certificates.ts";
import { renderKubeconfig } from "../../../../dev-env/cluster/kubeconfig.ts";

it("does not use HTTP/2, in which Node mishandles aborted requests", async () => {
  const authority = new Authority("test authority");
  const { certificate: cert, key } = authority.issue({ commonName: "s" }, { kind: "server", hosts: ["127.0.0.1"] });
  const spoken: string[] = [];
  const server = createSecureServer({ allowHTTP1: true, cert, key }, ({ httpVersion }, response) => {
    spoken.push(httpVersion);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ apiVersion: "v1", kind: "NodeList", items: [] }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const dir = await mkdtemp(join(tmpdir(), "lotse-api-"));
  try {
    const user = { name: "somebody" };
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const credential = authority.issue({ commonName: user.name }, { kind: "client" });
    const file = join(dir, "kubeconfig");
    await writeFile(file, renderKubeconfig(url, authority.certificate, user, credential));
    await connect(file, CoreV1Api).listNode();
    expect(spoken).toEqual(["1.1"]);
  } finally {
    server.close();
    await rm(dir, { recursive: true });
  }
});
