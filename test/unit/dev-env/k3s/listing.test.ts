import { describe, expect, it } from "vitest";
import { type Listed, type Listing, listEnvironment, ownParts, sizeOf } from "../../../../dev-env/k3s/listing.ts";

type Labelled = Listed & { readonly labels: Readonly<Record<string, string>> };

/** A cloud made of lists; answers `key` and `key=value` as the API does. */
function reader(cloud: Partial<Record<keyof Listing, readonly Labelled[]>>) {
  return async (collection: keyof Listing, selector: string): Promise<readonly Listed[]> => {
    const [key = "", value] = selector.split("=");
    const matches = ({ labels }: Labelled) => (value === undefined ? key in labels : labels[key] === value);
    return (cloud[collection] ?? []).filter(matches);
  };
}

const own = { "lotse-dev-env": "dev" };
const made = (uid: string) => ({ "hcloud-ccm/service-uid": uid });
const balancer = (id: number, uid: string, network?: number, certificates: readonly number[] = []): Labelled => ({
  id,
  name: `lb-${id}`,
  labels: made(uid),
  private_net: network === undefined ? [] : [{ network }],
  services: [{ http: { certificates } }, {}],
});

const cloud = {
  networks: [
    { id: 1, name: "dev-network", labels: own },
    { id: 2, name: "other", labels: { "lotse-dev-env": "other" } },
  ],
  servers: [
    { id: 3, name: "dev-worker-1", labels: own },
    { id: 4, name: "somebody", labels: {} },
  ],
  load_balancers: [
    balancer(5, "a", 1, [8]),
    balancer(6, "b", 2, [9]),
    balancer(7, "c"),
    { ...balancer(10, "d", 1), labels: {} },
  ],
  certificates: [
    { id: 8, name: "ours", labels: made("a") },
    { id: 9, name: "theirs", labels: made("b") },
    { id: 11, name: "unused", labels: made("c") },
    { id: 12, name: "by hand", labels: {} },
  ],
};

const ids = (list: readonly Listed[]) => list.map(({ id }) => id);

describe("what an environment has in the cloud", () => {
  it("is what carries its label, balancers of a controller in its network, and their certificates", async () => {
    const listing = await listEnvironment(reader(cloud), "dev");
    expect(ids(listing.networks)).toEqual([1]);
    expect(ids(listing.servers)).toEqual([3]);
    expect(ids(listing.load_balancers)).toEqual([5]);
    expect(ids(listing.certificates)).toEqual([8]);
    expect(sizeOf(listing)).toBe(4);
  });

  it("is also what belongs to its Services, in no network or used by nobody", async () => {
    const listing = await listEnvironment(reader(cloud), "dev", ["c"]);
    expect(ids(listing.load_balancers)).toEqual([5, 7]);
    expect(ids(listing.certificates)).toEqual([8, 11]);
  });

  it("without the controller's is what we built ourselves", async () => {
    const listing = ownParts(await listEnvironment(reader(cloud), "dev", ["c"]));
    expect([listing.load_balancers, listing.certificates]).toEqual([[], []]);
    expect(sizeOf(listing)).toBe(2);
  });

  it("is nothing when nothing is there", async () => {
    expect(sizeOf(await listEnvironment(reader({}), "dev"))).toBe(0);
  });
});
