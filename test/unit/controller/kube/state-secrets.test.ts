import { expect, it } from "vitest";
import { KubeError } from "../../../../controller/diagnostics/errors.ts";
import type { KubeClient } from "../../../../controller/kube/client.ts";
import { SecretState } from "../../../../controller/kube/state-secrets.ts";

interface Secret {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
  readonly data: object;
}

/** An API server with Secrets, whose next answer may be lost. */
function anApiServer() {
  const secrets = new Map<string, Secret>();
  const world = { isLost: false, version: 0 };
  const store = async (body: Secret) => {
    const { name } = body.metadata;
    const saved = { ...body, metadata: { name, resourceVersion: `${++world.version}` } };
    secrets.set(name, saved);
    if (world.isLost) throw new KubeError("PUT", 0, "no response in time");
    return saved;
  };
  const found = (path: string) => {
    const secret = secrets.get(path.split("/").at(-1) ?? "");
    if (!secret) throw new KubeError(path, 404, "not found");
    return secret;
  };
  const client = {
    get: async (path: string) => found(path),
    create: async (_: string, body: Secret) => store(body),
    replace: async (path: string, body: Secret) => {
      const { resourceVersion } = body.metadata;
      if (resourceVersion !== undefined && resourceVersion !== found(path).metadata.resourceVersion)
        throw new KubeError("PUT", 409, "conflict");
      return store(body);
    },
  };
  const touch = () => {
    for (const [name, secret] of secrets)
      secrets.set(name, { ...secret, metadata: { name, resourceVersion: `${++world.version}` } });
  };
  return { state: new SecretState(client as unknown as KubeClient, "kube-system", "kubernetes"), world, touch };
}

it("the state is saved again after a response was lost", async () => {
  const { state, world } = anApiServer();
  await state.save("one");
  world.isLost = true;
  await expect(state.save("two")).rejects.toThrow("no response");
  world.isLost = false;
  await state.save("three");
  expect(await state.load()).toBe("three");
});

it("the state is saved again after someone else has changed the Secret, but not over that at once", async () => {
  const { state, touch } = anApiServer();
  await state.save("one");
  touch();
  await expect(state.save("two")).rejects.toThrow("conflict");
  await state.save("three");
  expect(await state.load()).toBe("three");
});
