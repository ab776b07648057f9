import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { expect, it, vi } from "vitest";
import { stringify } from "yaml";
import { commandConfig, FLAGS_VARIABLE } from "../../../../../controller/commands/open.ts";
import { writeStack } from "../../../../../controller/commands/preview/stack.ts";
import { reply, startServer } from "../../../../support/http-server.ts";

const EMPTY = { items: [], servers: [], load_balancers: [], certificates: [], load_balancer_types: [], locations: [] };

it("the environment of a stack has absolute paths, because the program of a preview runs in the project's folder", async () => {
  const dir = await mkdtemp(join(tmpdir(), "lotse-test-"));
  const server = await startServer((_, response) => reply(response, EMPTY));
  await mkdir(join(dir, "plugins"));
  await writeFile(join(dir, "pulumi"), "");
  vi.stubEnv("LOTSE_PULUMI", join(dir, "pulumi"));
  vi.stubEnv("LOTSE_PULUMI_HOME", dir);
  const file = join(dir, "kubeconfig");
  const context = { name: "here", context: { cluster: "here" } };
  const clusters = [{ name: "here", cluster: { server: server.url } }];
  await writeFile(file, stringify({ "current-context": "here", contexts: [context], clusters }));
  const fromHere = (path: string) => relative(process.cwd(), path);
  const flags = { kubeconfig: `${fromHere(join(dir, "none"))}:${fromHere(file)}` };
  const config = commandConfig(flags, { HCLOUD_TOKEN: "t".repeat(64), HCLOUD_ENDPOINT: server.url });
  const environment = await writeStack(config, flags, fromHere(join(dir, "stack")));
  expect(environment).toMatchObject({
    KUBECONFIG: `${join(dir, "none")}:${file}`,
    PULUMI_HOME: join(dir, "stack", "home"),
    PULUMI_BACKEND_URL: `file://${join(dir, "stack", "state")}`,
  });
  expect(JSON.parse(environment[FLAGS_VARIABLE] ?? "")).toEqual({ kubeconfig: environment.KUBECONFIG });
  vi.unstubAllEnvs();
  await server.stop();
  await rm(dir, { recursive: true });
});
