import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Environment, Folder } from "../../../../dev-env/k3s/environment.ts";
import { explain } from "../../../../dev-env/k3s/errors.ts";
import { watch } from "../../../../dev-env/k3s/watch.ts";
import { Screen } from "../../../../dev-env/terminal/screen.ts";
import { reply, startServer, type TestServer } from "../../../support/http-server.ts";

let directory: string;
let api: TestServer;
let stop: AbortController;
/** The Deployment in the cluster, whose pod hangs in Terminating. */
let deployment: { replicas: number; annotations: Record<string, string | null> };
/** What happens after a change of the Deployment. */
let onPatch: () => number;

beforeEach(async () => {
  deployment = { replicas: 2, annotations: {} };
  onPatch = () => 200;
  stop = new AbortController();
  directory = await mkdtemp(join(tmpdir(), "lotse-watch-"));
  api = await startServer(({ method, body }, response) => {
    let code = 200;
    if (method === "PATCH") {
      code = onPatch();
      const { spec, metadata } = JSON.parse(body);
      if (code === 200) deployment = { replicas: spec.replicas, annotations: metadata.annotations };
    }
    const { replicas, annotations } = deployment;
    reply(response, { metadata: { annotations }, spec: { replicas }, status: { replicas: 1 } }, code);
  });
});
afterEach(async () => {
  await api.stop();
  await rm(directory, { recursive: true });
});

/** `dev-env watch` in a cluster with this Deployment. */
async function startWatch(): Promise<void> {
  const folder = new Folder("dev", directory);
  const clusters = [{ name: "a", cluster: { server: api.url } }];
  const contexts = [{ name: "a", context: { cluster: "a", user: "a" } }];
  const kubeconfig = { "current-context": "a", contexts, clusters, users: [{ name: "a", user: {} }] };
  await folder.write("kubeconfig", JSON.stringify(kubeconfig));
  const screen = new Screen({ write: () => {} });
  return watch({ name: "dev", folder, screen, signal: stop.signal } as Environment);
}

describe("the controller in the cluster", () => {
  it("gets its replicas back if Ctrl-C ends the wait for its pods, at once", async () => {
    onPatch = () => {
      setTimeout(() => stop.abort(new Error("stopped")), 50);
      return 200;
    };
    const started = performance.now();
    await expect(startWatch()).rejects.toThrow(/aborted/);
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(deployment).toEqual({ replicas: 2, annotations: { "lotse-dev-env/replicas": null } });
  });

  it("reports why it could not be paused, and why not resumed", async () => {
    onPatch = () => {
      stop.abort(new Error("stopped"));
      onPatch = () => 403;
      return 200;
    };
    const failure = await startWatch().catch((error: unknown) => error);
    const [pausing, resuming, ...others] = explain(failure, api.url);
    expect(pausing).toMatch(/^Error: stopped/);
    expect(resuming).toMatch(/^PATCH .*deployments\/lotse: /);
    expect(others).toEqual([]);
  });
});
