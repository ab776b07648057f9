/** The command line against a server that answers as Pulumi Cloud does, as far as saving a state needs it. */
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Authority } from "../../dev-env/cluster/certificates.ts";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import { renderMirror } from "../../stacks/state/mirror.ts";
import { RemoteState } from "../../stacks/state/remote-state.ts";
import { prepareFolders } from "../../stacks/state/workspace.ts";

const OUTPUTS = { schemaVersion: 1, services: {}, nodes: {}, routes: {} } as const;
const MIRROR = renderMirror({ stack: "prod", existing: {}, specs: [], outputs: OUTPUTS }, new Date(0));
const STACK = { orgName: "acme", projectName: "lotse", stackName: "prod", tags: {}, version: 1 };
const ends = new AsyncDisposableStack();
const requests: string[] = [];
let stacks: ReadonlySet<string>;
let imported: unknown;
let url: string;
let save: (env: Readonly<Record<string, string>>) => Promise<void>;

/** What each request gets. */
function answer(line: string): { readonly status?: number; readonly body: object } {
  if (line === "GET /api/user") return { body: { githubLogin: "ann", organizations: [{ githubLogin: "acme" }] } };
  if (line === "GET /api/stacks/acme/lotse/prod")
    return stacks.has("prod") ? { body: STACK } : { status: 404, body: { code: 404, message: "stack not found" } };
  if (line === "POST /api/stacks/acme/lotse") {
    stacks = new Set(["prod"]);
    return { body: {} };
  }
  if (line === "POST /api/stacks/acme/lotse/prod/import") return { body: { updateId: "1" } };
  if (line === "GET /api/stacks/acme/lotse/prod/update/1") return { body: { status: "succeeded", events: [] } };
  return { body: {} };
}

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), "lotse-pulumi-cloud-"));
  ends.defer(() => rm(directory, { recursive: true, force: true }));
  const authority = new Authority("pulumi");
  const { certificate, key } = authority.issue(
    { commonName: "pulumi" },
    { kind: "server", hosts: ["localhost", "127.0.0.1"] },
  );
  const authorityFile = join(directory, "ca.pem");
  await writeFile(authorityFile, authority.certificate);
  const server = createServer({ cert: certificate, key }, async (incoming, response) => {
    const { method, url: path = "", headers } = incoming;
    const line = `${method} ${path.replace(/\?.*/, "")}`;
    requests.push(line);
    const given = await text(headers["content-encoding"] === "gzip" ? incoming.pipe(createGunzip()) : incoming);
    if (line.endsWith("/import")) imported = JSON.parse(given);
    const isKnown = headers.authorization === "token pul-1";
    const { status = 200, body } = isKnown
      ? answer(line)
      : { status: 401, body: { code: 401, message: "Unauthorized" } };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  ends.defer(() => void server.close());
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { paths, pulumiHome } = await ensureToolchain(["pulumi", "pulumi-resource-hcloud"]);
  const home = {
    pulumi: paths.pulumi,
    plugins: join(pulumiHome, "plugins"),
    directory,
    isScratch: true,
    stack: "prod",
  };
  await prepareFolders(home);
  stacks = new Set();
  save = (env) => new RemoteState(home, url, { SSL_CERT_FILE: authorityFile, ...env }).save(MIRROR);
});
afterAll(() => ends.disposeAsync());

it("saves at Pulumi Cloud with the token, in the organization, and creates the stack once", async () => {
  const env = { PULUMI_ACCESS_TOKEN: "pul-1", PULUMI_DEFAULT_ORGANIZATION: "acme" };
  await save(env);
  await save(env);
  expect(requests.filter((line) => line.startsWith("POST"))).toEqual([
    "POST /api/stacks/acme/lotse",
    "POST /api/stacks/acme/lotse/prod/import",
    "POST /api/stacks/acme/lotse/prod/import",
  ]);
  expect(imported).toMatchObject({ version: 3, deployment: { resources: [{ outputs: OUTPUTS }, {}] } });
});

it("says which backend refused, without the token", async () => {
  const refused = save({ PULUMI_ACCESS_TOKEN: "pul-wrong" });
  await expect(refused).rejects.toThrow(`cannot save the state at ${url} (pulumi stack select): `);
  await expect(refused).rejects.not.toThrow("pul-wrong");
});
