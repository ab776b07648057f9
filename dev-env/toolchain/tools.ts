import { createHash } from "node:crypto";

/** The binaries Lotse is developed and tested with, in the order in which they are provided. */
export const toolNames = [
  "pulumi",
  "pulumi-language-nodejs",
  "pulumi-resource-hcloud",
  "etcd",
  "kube-apiserver",
  "kubectl",
  "helm",
] as const;

/** Name of a binary, which is also its file name. */
export type ToolName = (typeof toolNames)[number];

/** The directories below `go/`: one Go module each, with its pins. */
export const moduleNames = [
  "pulumi",
  "pulumi-language-nodejs",
  "pulumi-resource-hcloud",
  "etcd",
  "kubernetes",
  "helm",
] as const;

/** Name of a directory below `go/`. */
export type ModuleName = (typeof moduleNames)[number];

/** File name → text of one Go module: `go.mod`, `go.sum` and its Go sources. */
export type ModuleFiles = Readonly<Record<string, string>>;

/** Everything known about one binary without touching the machine. */
export interface Tool {
  readonly name: ToolName;
  /** Without a leading "v". */
  readonly version: string;
  /** The directory below `go/` that it is built in. */
  readonly module: string;
  /** Arguments of `go` that build it, but for the directory and the output. */
  readonly buildArgs: readonly string[];
  /** Names the inputs of the build: equal key, equally good binary. */
  readonly key: string;
  /** The lowest Go release that can build it. */
  readonly goVersion: string;
  readonly probe: Probe;
}

/** All tools by name. */
export type Tools = Readonly<Record<ToolName, Tool>>;

/** How to ask a binary who it is. A pattern without a group only proves that the binary runs. */
export interface Probe {
  readonly args: readonly string[];
  readonly pattern: RegExp;
}

interface Recipe {
  readonly module: ModuleName;
  readonly package: string;
  /** Where its version is pinned: a file of the module, and a pattern with one group. */
  readonly pin: { readonly file: string; readonly pattern: RegExp };
  readonly stamp: (version: string) => readonly string[];
  readonly probe: Probe;
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

const kubernetes = (name: "kube-apiserver" | "kubectl", probe: Probe): Recipe => ({
  module: "kubernetes",
  package: `k8s.io/kubernetes/cmd/${name}`,
  pin: inGoMod("k8s.io/kubernetes"),
  stamp: kubernetesStamp,
  probe,
});

const recipes: Readonly<Record<ToolName, Recipe>> = {
  pulumi: {
    module: "pulumi",
    package: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    pin: inGoMod("github.com/pulumi/pulumi/pkg/v3"),
    stamp: pulumiStamp,
    probe: { args: ["version"], pattern: /^v?(\d\S+)/m },
  },
  "pulumi-language-nodejs": {
    module: "pulumi-language-nodejs",
    package: "github.com/pulumi/pulumi/sdk/v3/nodejs/cmd/pulumi-language-nodejs",
    pin: inGoMod("github.com/pulumi/pulumi/sdk/v3"),
    stamp: pulumiStamp,
    probe: { args: ["-help"], pattern: /^Usage of /m },
  },
  "pulumi-resource-hcloud": {
    module: "pulumi-resource-hcloud",
    package: ".",
    pin: { file: "main.go", pattern: /^\s+version = "(\S+)"$/m },
    stamp: () => [],
    probe: { args: ["--version"], pattern: /^v?(\d\S+)/m },
  },
  etcd: {
    module: "etcd",
    package: "go.etcd.io/etcd/server/v3",
    pin: inGoMod("go.etcd.io/etcd/server/v3"),
    stamp: () => [],
    probe: { args: ["--version"], pattern: /^etcd Version: (\S+)/m },
  },
  "kube-apiserver": kubernetes("kube-apiserver", { args: ["--version"], pattern: /^Kubernetes v(\S+)/m }),
  kubectl: kubernetes("kubectl", { args: ["version", "--client"], pattern: /^Client Version: v(\S+)/m }),
  helm: {
    module: "helm",
    package: "helm.sh/helm/v4/cmd/helm",
    pin: inGoMod("helm.sh/helm/v4"),
    stamp: (version) => [`helm.sh/helm/v4/internal/version.version=v${version}`],
    probe: { args: ["version", "--template={{.Version}}"], pattern: /^v(\d\S+)/m },
  },
};

/** Reads pins, build flags and keys of all tools from the Go modules. `platform` is part of every key. */
export function describeTools(modules: ReadonlyMap<ModuleName, ModuleFiles>, platform: string): Tools {
  return forEachTool((name) => describeTool(name, modules.get(recipes[name].module) ?? {}, platform));
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

/** Reads one tool from another module than its own: an API server of another version. */
export function describeVariant(name: ToolName, module: string, files: ModuleFiles, platform: string): Tool {
  return { ...describeTool(name, files, platform), module };
}

function describeTool(name: ToolName, files: ModuleFiles, platform: string): Tool {
  const { module, package: path, pin, stamp, probe } = recipes[name];
  const version = pinned(files, pin.file, pin.pattern, `version of ${name}`);
  const linker = ["-s", "-w", ...stamp(version).flatMap((variable) => ["-X", variable])].join(" ");
  const buildArgs = ["build", "-trimpath", "-buildvcs=false", "-ldflags", linker, path];
  return {
    name,
    version,
    module,
    buildArgs,
    key: shortHash({ platform, buildArgs, files: Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1)) }),
    goVersion: pinned(files, "go.mod", /^go (\S+)$/m, `go version of ${name}`),
    probe,
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
