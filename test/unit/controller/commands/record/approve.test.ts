import { expect, it } from "vitest";
import { whoAmI } from "../../../../../controller/commands/record/approve.ts";
import { KubeError } from "../../../../../controller/diagnostics/errors.ts";

it("the name in an approval is the one that the API server knows, never that of the local user", async () => {
  const answered = { create: async <T>() => ({ status: { userInfo: { username: "ann" } } }) as T };
  expect(await whoAmI(answered)).toBe("ann");
  const failure = new KubeError("POST /apis/authentication.k8s.io/v1/selfsubjectreviews", 503, "etcd is away");
  await expect(whoAmI({ create: () => Promise.reject(failure) })).rejects.toThrow("etcd is away");
});
