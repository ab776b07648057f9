import { describe, expect, it } from "vitest";
import { listMade, listOwn } from "../../../../dev-env/k3s/inventory.ts";
import type { Collection, Listing, ListReader } from "../../../../dev-env/project/inventory.ts";

/** A cloud made of lists; answers `key` and `key=value` as the API does. */
function reader(cloud: Readonly<Partial<Record<Collection, readonly Listing[]>>>): ListReader {
  return async (collection, selector) => {
    const [key = "", value] = selector.split("=");
    const matches = ({ labels = {} }: Listing) => (value === undefined ? key in labels : labels[key] === value);
    return (cloud[collection] ?? []).filter(matches);
  };
}

const own = { "lotse-dev-env": "dev" };
const made = (uid: string) => ({ "hcloud-ccm/service-uid": uid });

const CLOUD = {
  networks: [
    { id: 1, name: "dev-network", labels: own },
    { id: 2, name: "other", labels: { "lotse-dev-env": "other" } },
  ],
  servers: [
    { id: 3, name: "dev-worker-1", labels: own },
    { id: 4, name: "another", labels: {} },
  ],
  load_balancers: [
    { id: 5, name: "inside", labels: made("a"), private_net: [{ network: 1 }] },
    { id: 6, name: "elsewhere", labels: made("b"), private_net: [{ network: 2 }], targets: [{ server: { id: 4 } }] },
    { id: 7, name: "public", labels: made("c"), targets: [{}, { server: { id: 3 } }] },
    { id: 10, name: "by hand", labels: {}, private_net: [{ network: 1 }] },
    { id: 13, name: "dev-api", labels: own },
  ],
  certificates: [
    { id: 8, name: "ours", labels: made("a") },
    { id: 9, name: "theirs", labels: made("b") },
    { id: 12, name: "by hand", labels: {} },
  ],
};

const ids = (list: readonly { readonly id: string }[]) => list.map(({ id }) => Number(id));

describe("what an environment has in the cloud", () => {
  it("is what carries its label, in the order of dependencies", async () => {
    expect(ids(await listOwn(reader(CLOUD), "dev"))).toEqual([1, 13, 3]);
  });

  it("is also what its controller created: in its network, in front of its servers, and for the same Services", async () => {
    const read = reader(CLOUD);
    expect(ids(await listMade(read, await listOwn(read, "dev")))).toEqual([8, 5, 7]);
  });

  it("is nothing in an empty project", async () => {
    expect(await listOwn(reader({}), "dev")).toEqual([]);
    expect(await listMade(reader(CLOUD), [])).toEqual([]);
  });
});
