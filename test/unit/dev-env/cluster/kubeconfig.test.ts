import { KubeConfig } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { groupsOf, renderKubeconfig } from "../../../../dev-env/cluster/kubeconfig.ts";

describe("groups", () => {
  it.each([
    { name: "jane", groups: undefined, expected: [] },
    { name: "jane", groups: ["ops"], expected: ["ops"] },
    {
      name: "system:serviceaccount:kube-system:lotse",
      groups: undefined,
      expected: ["system:serviceaccounts", "system:serviceaccounts:kube-system"],
    },
  ])("of $name with $groups are $expected", ({ name, groups, expected }) => {
    expect(groupsOf(groups ? { name, groups } : { name })).toEqual(expected);
  });
});

it("renders a kubeconfig that clients can load", () => {
  const credential = { certificate: "certificate", key: "key" };
  const config = new KubeConfig();
  config.loadFromString(renderKubeconfig("https://127.0.0.1:1", "authority", { name: "system:node:n1" }, credential));
  expect(config.getCurrentCluster()?.server).toBe("https://127.0.0.1:1");
  expect(config.getCurrentUser()).toMatchObject({
    name: "system:node:n1",
    certData: Buffer.from("certificate").toString("base64"),
  });
});
