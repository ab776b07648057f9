import { createHash } from "node:crypto";
import { type Archive, describeArchives } from "./archives.ts";

/** The binaries Lotse is developed and tested with, in the order in which they are built: first what `npm start` needs. */
export const toolNames = [
  "pulumi",
  "pulumi-resource-hcloud",
  "etcd",
  "kube-apiserver",
  "kubectl",
  "pulumi-language-nodejs",
  "helm",
] as const;

/** Name of a binary, which is also its file name. */
export type ToolName = (typeof toolNames)[number];

/** File name → text of one Go module: `go.mod`, `go.sum` and its Go sources. */
export type ModuleFiles = Readonly<Record<string, string>>;

/** Everything known about one binary without touching the machine. */
export interface Tool {
  readonly name: ToolName;
  /** What is built, without a leading "v". An archive may hold another one. */
  readonly version: string;
  /** The directory below `go/` that it is built in. */
  readonly module: string;
  /** Arguments of `go` that build it, but for the directory and the output. */
  readonly buildArgs: readonly string[];
  /** Its folder in the store when it was built. Names the inputs of the build: equal name, equally good binary. */
  readonly storeName: string;
  /** The lowest Go release that can build it. */
  readonly goVersion: string;
  /** About how long it takes to build from nothing on two cores. */
  readonly buildSeconds: number;
  /** The release archive that holds it, if there is one. */
  readonly archive: Archive | undefined;
}

/** All tools by name. */
export type Tools = Readonly<Record<ToolName, Tool>>;

interface Recipe {
  /** A directory below `go/`: one Go module with its pins. */
  readonly module: string;
  readonly package: string;
  /** Where its version is pinned: a file of the module, and a pattern with one group. */
  readonly pin: { readonly file: string; readonly pattern: RegExp };
  readonly stamp: (version: string) => readonly string[];
  readonly buildSeconds: number;
}

const pulumiStamp = (version: string) => [`github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=${version}`];

/**
 * The variables of Kubernetes' own release build, in both packages that carry them; the API server answers them at
 * /version. Commit and date stay empty, so that equal inputs give equal binaries.
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

const recipes: Readonly<Record<ToolName, Recipe>> = {
  pulumi: {
    module: "pulumi",
    package: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    pin: inGoMod("github.com/pulumi/pulumi/pkg/v3"),
    stamp: pulumiStamp,
    buildSeconds: 340,
  },
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
  helm: {
    module: "helm",
    package: "helm.sh/helm/v4/cmd/helm",
    pin: inGoMod("helm.sh/helm/v4"),
    stamp: (version) => [`helm.sh/helm/v4/internal/version.version=v${version}`],
    buildSeconds: 140,
  },
};

/**
 * Reads pins, build flags and store names of all tools from the Go modules that `readModule` finds below `go/`. With
 * `apiServer`, the API server is of that minor version, from a module of its own.
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

/** Folders in the store that may hold this tool, the preferred one first. */
export function storeNamesOf(tool: Tool): readonly string[] {
  return tool.archive ? [tool.archive.storeName, tool.storeName] : [tool.storeName];
}

/** A record with one value per tool. */
export function forEachTool<T>(make: (name: ToolName) => T): Readonly<Record<ToolName, T>> {
  return {
    pulumi: make("pulumi"),
    "pulumi-language-nodejs": make("pulumi-language-nodejs"),
    "pulumi-resource-hcloud": make("pulumi-resource-hcloud"),
    etcd: make("etcd"),
    "kube-apiserver": make("kube-apiserver"),
    kubectl: make("kubectl"),
    helm: make("helm"),
  };
}

function describeTool(name: ToolName, files: ModuleFiles, platform: string): Omit<Tool, "module" | "archive"> {
  const { package: path, pin, stamp, buildSeconds } = recipes[name];
  const version = pinned(files, pin.file, pin.pattern, `version of ${name}`);
  const linker = ["-s", "-w", ...stamp(version).flatMap((variable) => ["-X", variable])].join(" ");
  const buildArgs = ["build", "-trimpath", "-buildvcs=false", "-ldflags", linker, path];
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

/** Twelve hexadecimal digits that name a JSON value: enough for folder names, never used for trust. */
export function shortHash(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 12);
}
