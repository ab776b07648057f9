/** The tools, their pinned versions, and how each is built. */
import { createHash } from "node:crypto";
import { type Archive, describeArchives } from "./archives.ts";

/** The binaries that development and tests use, in build order: those that `npm start` needs come first. */
export const toolNames = [
  "pulumi",
  "pulumi-resource-hcloud",
  "etcd",
  "kube-apiserver",
  "kubectl",
  "pulumi-language-nodejs",
  "helm",
] as const;

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

/** A short hash of a JSON value, for folder names. Not used for verification. */
export function shortHash(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 12);
}
