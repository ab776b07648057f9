/** The tools, their pinned versions, and how each is built. */
import { createHash } from "node:crypto";
import { type Archive, describeArchives } from "./archives.ts";

/** The binaries that most commands use, in build order: those that `npm start` needs come first. */
export const commonTools = [
  "pulumi",
  "pulumi-resource-hcloud",
  "etcd",
  "kube-apiserver",
  "kubectl",
  "pulumi-language-nodejs",
  "helm",
] as const;

/** The binaries of machines with a real kubelet (dev-env/nodes), for Linux. Only commands that start machines need them. */
export const nodeTools = [
  "kube-node",
  "containerd",
  "containerd-shim-runc-v2",
  "ctr",
  "ptp",
  "host-local",
  "coredns",
  "http-echo",
] as const;

/** The binaries that build, describe and sign the image (dev-env/image). Only commands that do so need them. */
export const imageTools = ["crane", "syft", "cosign"] as const;

/** All binaries. The last two are built only when a test asks for them. */
export const toolNames = [...commonTools, ...nodeTools, ...imageTools, "minio", "actionlint"] as const;

/** Name of a binary, and of its file. */
export type ToolName = (typeof toolNames)[number];

/** Files of one Go module by name: `go.mod`, `go.sum` and the Go sources. */
export type ModuleFiles = Readonly<Record<string, string>>;

/** One binary, as described by the checkout. */
export interface Tool {
  readonly name: ToolName;
  /** The version that is built, without a leading "v". An archive may contain another patch version. */
  readonly version: string;
  /** The folder below `go/` in which it is built. */
  readonly module: string;
  /** Arguments of `go` for the build, except folder and output. */
  readonly buildArgs: readonly string[];
  /**
   * Its folder in the store if it was built, named by a hash of sources, pins, flags and platform. The Go version is
   * not part of it, so that finding a binary does not require running `go`.
   */
  readonly storeName: string;
  /** The minimum Go version. */
  readonly goVersion: string;
  /** Approximate duration of a clean build on two cores. */
  readonly buildSeconds: number;
  /** The release archive that contains it, if any. */
  readonly archive: Archive | undefined;
}

/** All tools by name. */
export type Tools = Readonly<Record<ToolName, Tool>>;

interface Recipe {
  /** A folder below `go/`: one Go module with its pins. */
  readonly module: string;
  readonly package: string;
  /** Where the version is pinned: a file of the module, and a pattern with one group. */
  readonly pin: { readonly file: string; readonly pattern: RegExp };
  readonly stamp: (version: string) => readonly string[];
  /** Build tags, which leave out what is not used. */
  readonly tags?: string;
  readonly buildSeconds: number;
}

const pulumiStamp = (version: string) => [`github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=${version}`];

/**
 * Linker variables of the official Kubernetes build, in both packages that have them; the API server returns them at
 * /version. Commit and date stay empty to keep the build reproducible.
 */
function kubernetesStamp(version: string): readonly string[] {
  const [major, minor] = version.split(".");
  return ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((path) => [
    `${path}.gitVersion=v${version}`,
    `${path}.gitMajor=${major}`,
    `${path}.gitMinor=${minor}`,
    `${path}.gitTreeState=archive`,
    `${path}.gitCommit=`,
  ]);
}

const inGoMod = (module: string) => ({
  file: "go.mod",
  pattern: new RegExp(`^(?:require)?\\s+${module.replaceAll(".", "\\.")} v(\\S+)`, "m"),
});

const kubernetes = (name: "kube-apiserver" | "kubectl", buildSeconds: number): Recipe => ({
  module: "kubernetes",
  package: `k8s.io/kubernetes/cmd/${name}`,
  pin: inGoMod("k8s.io/kubernetes"),
  stamp: kubernetesStamp,
  buildSeconds,
});

const containerd = (name: "containerd" | "containerd-shim-runc-v2" | "ctr", tags: string, seconds: number): Recipe => ({
  module: "containerd",
  package: `github.com/containerd/containerd/v2/cmd/${name}`,
  pin: inGoMod("github.com/containerd/containerd/v2"),
  stamp: (version) => [`github.com/containerd/containerd/v2/version.Version=v${version}`],
  tags,
  buildSeconds: seconds,
});
const withoutDrivers = "no_btrfs,no_zfs,no_devmapper,no_tracing";

const cniPlugin = (path: string): Recipe => ({
  module: "cni",
  package: `github.com/containernetworking/plugins/plugins/${path}`,
  pin: inGoMod("github.com/containernetworking/plugins"),
  stamp: (version) => [`github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion=v${version}`],
  buildSeconds: 10,
});

const recipes: Readonly<Record<ToolName, Recipe>> = {
  pulumi: {
    module: "pulumi",
    package: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    pin: inGoMod("github.com/pulumi/pulumi/pkg/v3"),
    stamp: pulumiStamp,
    buildSeconds: 340,
  },
  // 3.68.0 is the last version inside Pulumi's sdk module. Only a plain `pulumi preview` uses it; it ignores
  // `runtime.options` of Pulumi.yaml and runs TypeScript through Node's type stripping.
  "pulumi-language-nodejs": {
    module: "pulumi-language-nodejs",
    package: "github.com/pulumi/pulumi/sdk/v3/nodejs/cmd/pulumi-language-nodejs",
    pin: inGoMod("github.com/pulumi/pulumi/sdk/v3"),
    stamp: pulumiStamp,
    buildSeconds: 50,
  },
  "pulumi-resource-hcloud": {
    module: "pulumi-resource-hcloud",
    package: ".",
    pin: { file: "main.go", pattern: /^\s+version = "(\S+)"$/m },
    stamp: () => [],
    buildSeconds: 230,
  },
  etcd: {
    module: "etcd",
    package: "go.etcd.io/etcd/server/v3",
    pin: inGoMod("go.etcd.io/etcd/server/v3"),
    stamp: () => [],
    buildSeconds: 35,
  },
  "kube-apiserver": kubernetes("kube-apiserver", 420),
  kubectl: kubernetes("kubectl", 30),
  // 4.2 instead of the newest release, because it shares most modules with Kubernetes 1.36. Helm 3 is out of support.
  helm: {
    module: "helm",
    package: "helm.sh/helm/v4/cmd/helm",
    pin: inGoMod("helm.sh/helm/v4"),
    stamp: (version) => [`helm.sh/helm/v4/internal/version.version=v${version}`],
    buildSeconds: 140,
  },
  "kube-node": {
    module: "kubernetes-node",
    package: ".",
    pin: inGoMod("k8s.io/kubernetes"),
    stamp: kubernetesStamp,
    buildSeconds: 260,
  },
  containerd: containerd("containerd", withoutDrivers, 130),
  "containerd-shim-runc-v2": containerd("containerd-shim-runc-v2", "no_grpc", 10),
  ctr: containerd("ctr", withoutDrivers, 10),
  ptp: cniPlugin("main/ptp"),
  "host-local": cniPlugin("ipam/host-local"),
  coredns: {
    module: "coredns",
    package: ".",
    pin: inGoMod("github.com/coredns/coredns"),
    stamp: () => [],
    buildSeconds: 120,
  },
  "http-echo": {
    module: "http-echo",
    package: ".",
    pin: { file: "main.go", pattern: /^const version = "(\S+)"$/m },
    stamp: () => [],
    buildSeconds: 5,
  },
  crane: {
    module: "crane",
    package: "github.com/google/go-containerregistry/cmd/crane",
    pin: inGoMod("github.com/google/go-containerregistry"),
    stamp: () => [],
    buildSeconds: 5,
  },
  syft: {
    module: "syft",
    package: "github.com/anchore/syft/cmd/syft",
    pin: inGoMod("github.com/anchore/syft"),
    stamp: (version) => [`main.version=${version}`],
    buildSeconds: 150,
  },
  cosign: {
    module: "cosign",
    package: ".",
    pin: inGoMod("github.com/sigstore/cosign/v3"),
    stamp: (version) => [`sigs.k8s.io/release-utils/version.gitVersion=v${version}`],
    buildSeconds: 130,
  },
  // An S3 server for tests. Pinned by commit, because the names of its releases are no module versions.
  minio: {
    module: "minio",
    package: "github.com/minio/minio",
    pin: inGoMod("github.com/minio/minio"),
    stamp: () => [],
    buildSeconds: 500,
  },
  actionlint: {
    module: "actionlint",
    package: "github.com/rhysd/actionlint/cmd/actionlint",
    pin: inGoMod("github.com/rhysd/actionlint"),
    stamp: () => [],
    buildSeconds: 10,
  },
};

/**
 * Describes all tools from the Go modules that `readModule` reads below `go/`. `apiServer` selects another minor
 * version of the API server, which has its own module.
 */
export function describeTools(readModule: (name: string) => ModuleFiles, platform: string, apiServer?: string): Tools {
  const tools = forEachTool((name) => {
    const module = apiServer && name === "kube-apiserver" ? `kubernetes-${apiServer}` : recipes[name].module;
    return { ...describeTool(name, readModule(module), platform), module };
  });
  const versions = { pulumi: tools.pulumi.version, hcloud: tools["pulumi-resource-hcloud"].version };
  const archives = describeArchives(versions, platform);
  return forEachTool((name) => {
    const isPinned = tools[name].module === recipes[name].module;
    return { ...tools[name], archive: isPinned ? archives.find((it) => it.tools.includes(name)) : undefined };
  });
}

/** Folders in the store that may contain this tool, the preferred one first. */
export function storeNamesOf(tool: Tool): readonly string[] {
  return tool.archive ? [tool.archive.storeName, tool.storeName] : [tool.storeName];
}

/** A record with one value per tool. */
export function forEachTool<T>(make: (name: ToolName) => T): Readonly<Record<ToolName, T>> {
  // The names are the keys of the record.
  return Object.fromEntries(toolNames.map((name) => [name, make(name)])) as Record<ToolName, T>;
}

function describeTool(name: ToolName, files: ModuleFiles, platform: string): Omit<Tool, "module" | "archive"> {
  const { package: path, pin, stamp, tags, buildSeconds } = recipes[name];
  const version = pinned(files, pin.file, pin.pattern, `version of ${name}`);
  const linker = ["-s", "-w", ...stamp(version).flatMap((variable) => ["-X", variable])].join(" ");
  const buildArgs = [
    "build",
    "-trimpath",
    "-buildvcs=false",
    "-ldflags",
    linker,
    ...(tags ? ["-tags", tags] : []),
    path,
  ];
  const inputs = { platform, buildArgs, files: Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1)) };
  return {
    name,
    version,
    buildArgs,
    storeName: `${name}-${version}-${shortHash(inputs)}`,
    goVersion: pinned(files, "go.mod", /^go (\S+)$/m, `go version of ${name}`),
    buildSeconds,
  };
}

function pinned(files: ModuleFiles, file: string, pattern: RegExp, what: string): string {
  const value = pattern.exec(files[file] ?? "")?.[1];
  if (value === undefined) throw new Error(`${what}: ${file} of its Go module does not match ${pattern}`);
  return value;
}

/** A short hash of a JSON value, for folder names. Not used for verification. */
export function shortHash(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 12);
}
