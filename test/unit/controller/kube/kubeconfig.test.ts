import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import { ConfigError } from "../../../../controller/diagnostics/errors.ts";
import { loadAccess } from "../../../../controller/kube/kubeconfig.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "lotse-test-"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(dir, { recursive: true });
});

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Writes a kubeconfig with one cluster and one user. */
async function aKubeconfig(cluster: object = {}, user: object = {}, more: object = {}): Promise<string> {
  const file = join(dir, "kubeconfig");
  const config = {
    "current-context": "here",
    contexts: [
      { name: "elsewhere", context: { cluster: "x", user: "x" } },
      { name: "here", context: { cluster: "c", user: "u" } },
    ],
    clusters: [{ name: "c", cluster: { server: "https://10.0.0.1:6443", ...cluster } }],
    users: [{ name: "u", user }],
    ...more,
  };
  await writeFile(file, stringify(config));
  return file;
}

describe("a kubeconfig", () => {
  it("provides the server of the current context", async () => {
    expect((await loadAccess(await aKubeconfig())).server.href).toBe("https://10.0.0.1:6443/");
  });

  it("is overridden by --master for the address only", async () => {
    const access = await loadAccess(await aKubeconfig({}, { token: "t" }), { master: "http://127.0.0.1:8001" });
    expect(access.server.href).toBe("http://127.0.0.1:8001/");
    expect((await access.credentials()).headers).toEqual({ authorization: "Bearer t" });
  });

  it("is refused together with an invalid --master", async () => {
    await expect(loadAccess(await aKubeconfig(), { master: "10.0.0.1:6443" })).rejects.toThrow("--master");
  });

  it("may contain certificates", async () => {
    const file = await aKubeconfig(
      { "certificate-authority-data": base64("ca") },
      { "client-certificate-data": base64("cert"), "client-key-data": base64("key") },
    );
    const { ca, cert, key, headers } = await (await loadAccess(file)).credentials();
    expect([ca, cert, key].map(String)).toEqual(["ca", "cert", "key"]);
    expect(headers).toEqual({});
  });

  it("may contain empty fields, which count as absent, as for kubectl", async () => {
    const file = await aKubeconfig(
      { "certificate-authority-data": "", "certificate-authority": "", "tls-server-name": "" },
      { token: "t", "client-certificate-data": "", "client-key-data": "", "client-key": "" },
    );
    expect(await (await loadAccess(file)).credentials()).toEqual({ headers: { authorization: "Bearer t" } });
  });

  it("may name files, relative to itself, that are read for every request", async () => {
    await mkdir(join(dir, "pki"));
    await writeFile(join(dir, "pki", "ca.crt"), "first");
    const access = await loadAccess(await aKubeconfig({ "certificate-authority": "pki/ca.crt" }));
    expect(String((await access.credentials()).ca)).toBe("first");
    await writeFile(join(dir, "pki", "ca.crt"), "rotated");
    expect(String((await access.credentials()).ca)).toBe("rotated");
  });

  it("may name a token file, relative to itself, that is reread after rotation", async () => {
    await writeFile(join(dir, "token"), "first\n");
    const access = await loadAccess(await aKubeconfig({}, { tokenFile: "token" }));
    expect((await access.credentials()).headers).toEqual({ authorization: "Bearer first" });
    await writeFile(join(dir, "token"), "second\n");
    expect((await access.credentials()).headers).toEqual({ authorization: "Bearer second" });
  });

  it.each([
    ["a token", { token: "t" }, { authorization: "Bearer t" }],
    ["a name and a password", { username: "me", password: "x" }, { authorization: `Basic ${base64("me:x")}` }],
    ["nothing", {}, {}],
  ])("may authenticate with %s", async (_, user, headers) => {
    expect((await (await loadAccess(await aKubeconfig({}, user))).credentials()).headers).toEqual(headers);
  });

  it("may set the server name, and disable certificate verification", async () => {
    const file = await aKubeconfig({ "tls-server-name": "api.example.com", "insecure-skip-tls-verify": true });
    expect(await (await loadAccess(file)).credentials()).toMatchObject({
      servername: "api.example.com",
      rejectUnauthorized: false,
    });
    expect(await (await loadAccess(await aKubeconfig())).credentials()).not.toHaveProperty("rejectUnauthorized");
  });

  it.each([
    ["no current context", { "current-context": "" }],
    ["a current context that is not there", { "current-context": "gone" }],
    ["no cluster", { clusters: [] }],
  ])("is refused with %s, by name", async (_, more) => {
    const file = await aKubeconfig({}, {}, more);
    await expect(loadAccess(file)).rejects.toThrow(ConfigError);
    await expect(loadAccess(file)).rejects.toThrow(file);
  });

  it.each([
    ["is not there", undefined],
    ["is empty", ""],
    ["is no YAML", "a: [b"],
    [
      "names a server that is no address",
      stringify({
        "current-context": "a",
        contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
        clusters: [{ name: "a", cluster: { server: "nonsense" } }],
      }),
    ],
  ])("is refused when it %s", async (_, text) => {
    const file = join(dir, "broken");
    if (text !== undefined) await writeFile(file, text);
    await expect(loadAccess(file)).rejects.toThrow(ConfigError);
  });
});

describe("several kubeconfigs", () => {
  const write = async (name: string, config: object) => {
    await mkdir(join(dir, name, ".."), { recursive: true });
    await writeFile(join(dir, name), stringify(config));
    return join(dir, name);
  };
  const entries = (name: string, server: string, user: object = {}) => ({
    contexts: [{ name, context: { cluster: name, user: name } }],
    clusters: [{ name, cluster: { server } }],
    users: [{ name, user }],
  });
  const list = (...files: readonly string[]) => files.join(delimiter);

  it("are merged: the first file that has an entry wins, and empty and missing ones are skipped (B13)", async () => {
    const empty = await write("empty", {});
    const one = await write("one", { "current-context": "b", ...entries("a", "https://a") });
    const two = await write("two", { "current-context": "a", ...entries("b", "https://b") });
    const three = await write("three", entries("b", "https://other"));
    const access = await loadAccess(list(empty, join(dir, "gone"), one, two, three));
    expect([access.server.host, access.context]).toEqual(["b", "b"]);
    expect((await loadAccess(list(one, two), { context: "a" })).server.host).toBe("a");
  });

  it("name files relative to themselves, also programs that print credentials", async () => {
    const one = await write("one/config", { "current-context": "b", ...entries("a", "https://a", { tokenFile: "t" }) });
    await writeFile(join(dir, "one/t"), "from-file");
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "./print", interactiveMode: "Never" };
    const two = await write("two/config", entries("b", "https://b", { exec }));
    const credential = { apiVersion: exec.apiVersion, kind: "ExecCredential", status: { token: "printed" } };
    await writeFile(join(dir, "two/print"), `#!/bin/sh\necho '${JSON.stringify(credential)}'\n`, { mode: 0o755 });
    const header = async (context: string) =>
      (await (await loadAccess(list(one, two), { context })).credentials()).headers;
    expect(await header("a")).toEqual({ authorization: "Bearer from-file" });
    expect(await header("b")).toMatchObject({ Authorization: "Bearer printed" });
  });

  it("are an error without the context that was asked for, or when none exists", async () => {
    const one = await write("one", entries("a", "https://a"));
    await expect(loadAccess(one, { context: "b" })).rejects.toThrow(
      /^--context b: no such context in .*one, which has: a$/,
    );
    for (const missing of [join(dir, "x"), list(join(dir, "x"), join(dir, "y"))])
      await expect(loadAccess(missing)).rejects.toThrow(
        new ConfigError([`the kubeconfig ${missing} does not exist: set KUBECONFIG or pass --kubeconfig`]),
      );
    await expect(loadAccess(undefined, { context: "b" })).rejects.toThrow("--context b: there is no kubeconfig");
  });

  it("is one file if its name contains the separator", async () => {
    const file = await write("a:b", { "current-context": "a", ...entries("a", "https://a") });
    expect((await loadAccess(file)).server.host).toBe("a");
  });
});

it("requires a kubeconfig outside a pod", async () => {
  vi.stubEnv("KUBERNETES_SERVICE_HOST", "");
  await expect(loadAccess(undefined)).rejects.toThrow(
    /--kubeconfig FILE; commands other than run also use KUBECONFIG and ~\/\.kube\/config$/,
  );
});
