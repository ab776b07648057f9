import { describe, expect, it } from "vitest";
import { parseHierarchies } from "../../../../dev-env/nodes/machine/cgroups.ts";
import { type Computer, missingFor } from "../../../../dev-env/nodes/requirements.ts";

const V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
const V1 = [
  "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
  "32 23 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset",
  "33 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
].join("\n");

const good: Computer = {
  platform: "linux",
  isRoot: true,
  uidMap: "         0          0 4294967295\n",
  availableMb: 4000,
  mountInfo: V2,
  find: (program) => `/usr/bin/${program}`,
  tryNamespaces: () => {},
};
const forbidden = () => {
  throw new Error("Command failed: unshare\nunshare: unshare failed: Operation not permitted\n");
};

describe("what machines need", () => {
  it.each<[string, Partial<Computer>, readonly (string | RegExp)[]]>([
    ["nothing on a computer that has it all", {}, []],
    ["Linux", { platform: "darwin" }, [/need Linux, and this is darwin/]],
    ["root", { isRoot: false }, [/need root.*sudo/]],
    ["root outside of user namespaces", { uidMap: "0 1000 1\n" }, [/need root outside of user namespaces/]],
    [
      "programs, with one command that installs them",
      { find: (program) => (["nft", "runc"].includes(program) ? undefined : "/bin/x") },
      ["nft, runc not found. To install: apt-get install --yes nftables runc"],
    ],
    ["namespaces", { tryNamespaces: forbidden }, [/does not permit namespaces.*Operation not permitted/]],
    ["cgroups", { mountInfo: "" }, [/no cgroups are mounted/]],
    ["memory", { availableMb: 300 }, [/300 MB of memory are available, and three machines need/]],
  ])("%s", (_name, difference, texts) => {
    const missing = missingFor({ ...good, ...difference });
    expect(missing).toHaveLength(texts.length);
    for (const [index, text] of texts.entries()) expect(missing[index]).toMatch(text);
  });
});

it.each([
  ["version 2", V2, ["/sys/fs/cgroup 2 false"]],
  [
    "version 1 with version 2 beside it",
    V1,
    ["/sys/fs/cgroup/memory 1 false", "/sys/fs/cgroup/cpuset 1 true", "/sys/fs/cgroup/unified 2 false"],
  ],
])("finds cgroups of %s", (_name, mountInfo, expected) => {
  const found = parseHierarchies(mountInfo);
  expect(found.map(({ path, version, isCpuset }) => `${path} ${version} ${isCpuset}`)).toEqual(expected);
});
