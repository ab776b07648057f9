import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, it, vi } from "vitest";
import { KubeClient } from "../../../../controller/kube/client.ts";
import { type TlsSecretOptions, TlsSecrets } from "../../../../controller/kube/tls-secrets.ts";
import { reply, startServer, type TestServer } from "../../../support/http-server.ts";
import { aLog } from "../../../support/log.ts";

let server: TestServer | undefined;
let client: KubeClient | undefined;
let secrets: TlsSecrets | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await secrets?.stop();
  client?.close();
  await server?.stop();
});

const aSecret = (name: string, version = "1") => ({
  metadata: { name, namespace: "default", uid: name, resourceVersion: version },
});
const FORBIDDEN = { kind: "Status", code: 403, reason: "Forbidden", message: "secrets is forbidden" };

/** Secrets of an API server that lets each namespace be read unless it is forbidden; the list of all is namespace `""`. */
async function start({ forbidden = [], ...given }: { forbidden?: readonly string[] } & Partial<TlsSecretOptions> = {}) {
  const watches = new Map<string, ServerResponse>();
  server = await startServer(({ path }, response) => {
    const namespace = /namespaces\/([^/]+)\//.exec(path)?.[1] ?? "";
    if (forbidden.includes(namespace)) reply(response, FORBIDDEN, 403);
    else if (path.includes("watch=true")) {
      watches.set(namespace, response);
      response.writeHead(200).flushHeaders();
    } else reply(response, { metadata: { resourceVersion: "1" }, items: [aSecret(`of-${namespace || "all"}`)] });
  });
  client = new KubeClient({ server: new URL(server.url), credentials: async () => ({}) });
  const changes: string[] = [];
  secrets = new TlsSecrets({
    client,
    log: aLog().log,
    onChange: ({ old, now }) => changes.push(`${old?.metadata?.name} → ${now?.metadata?.name}`),
    patienceMs: 300,
    ...given,
  });
  await secrets.start();
  return { secrets, watches, changes, server };
}

const shown = (lists: ReturnType<TlsSecrets["lists"]>) =>
  lists.map(({ namespace, secrets: found }) => [namespace, found.map(({ metadata }) => metadata?.name)]);

describe("TLS Secrets", () => {
  it.each<[string, Partial<TlsSecretOptions> & { forbidden?: readonly string[] }, readonly unknown[]]>([
    ["of all namespaces are one list", {}, [[undefined, ["of-all"]]]],
    [
      "of named ones are a list each",
      { namespaces: ["a", "b"] },
      [
        ["a", ["of-a"]],
        ["b", ["of-b"]],
      ],
    ],
    ["of no namespaces are none", { namespaces: [] }, []],
    ["that may not be read are not there, and hold nothing up", { forbidden: [""] }, []],
    ["of one namespace do not wait for another's", { namespaces: ["a", "b"], forbidden: ["a"] }, [["b", ["of-b"]]]],
  ])("%s", async (_, given, expected) => {
    const { secrets: seen } = await start(given);
    expect(shown(seen.lists())).toEqual(expected);
  });

  it("are selected by type on the server", async () => {
    const { server: asked } = await start({ namespaces: ["a"] });
    const lists = asked.received.filter(({ path }) => !path.includes("watch=true"));
    expect(lists.map(({ path }) => new URL(path, "http://x"))).toMatchObject([
      { pathname: "/api/v1/namespaces/a/secrets" },
    ]);
    for (const { path } of asked.received) expect(path).toContain("fieldSelector=type%3Dkubernetes.io%2Ftls");
  });

  it("follow changes, and report them", async () => {
    const { secrets: seen, watches, changes } = await start();
    await vi.waitFor(() => expect(watches.has("")).toBe(true));
    watches.get("")?.write(`${JSON.stringify({ type: "ADDED", object: aSecret("new", "2") })}\n`);
    await vi.waitFor(() => expect(changes).toContain("undefined → new"));
    expect(shown(seen.lists())).toEqual([[undefined, ["of-all", "new"]]]);
  });

  it("that may be out of date are not listed, so no certificate is removed for them", async () => {
    const { secrets: seen } = await start();
    const now = performance.now();
    vi.spyOn(performance, "now").mockReturnValue(now + 31_000);
    expect(seen.lists()).toEqual([]);
    vi.restoreAllMocks();
    expect(shown(seen.lists())).toEqual([[undefined, ["of-all"]]]);
  });

  it("appear when permission to read them is granted later", async () => {
    const forbidden = [""];
    const { secrets: seen } = await start({ forbidden });
    expect(seen.lists()).toEqual([]);
    forbidden.pop();
    await vi.waitFor(() => expect(shown(seen.lists())).toEqual([[undefined, ["of-all"]]]), { timeout: 10_000 });
  });
});
