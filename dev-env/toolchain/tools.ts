/** The tools: their names, pinned versions and places in the store. */
import { createHash } from "node:crypto";
import { type Archive, describeArchives } from "./archives.ts";
import { recipes } from "./recipes.ts";

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

/** Kubernetes' own end-to-end tests, and the program in their pods, for Linux. Only `npm run test:upstream` needs them. */
export const upstreamTools = ["e2e.test", "agnhost"] as const;

/** All binaries. The last three are built only when a command or test asks for them. */
export const toolNames = [
  ...commonTools,
  ...nodeTools,
  ...imageTools,
  ...upstreamTools,
  "traefik",
  "minio",
  "actionlint",
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
  const { source, path, stamp = () => [], tags, isTest, buildSeconds } = recipes[name];
  const version =
    source === undefined
      ? pinned(files, "main.go", /^(?:\s+|const )version = "(\S+)"$/m, `version of ${name}`)
      : pinned(files, "go.mod", versionIn(source), `version of ${name}`);
  const linker = ["-s", "-w", ...stamp(version).flatMap((variable) => ["-X", variable])].join(" ");
  const buildArgs = [
    ...(isTest ? ["test", "-c", "-vet=off"] : ["build"]),
    "-trimpath",
    "-buildvcs=false",
    "-ldflags",
    linker,
    ...(tags ? ["-tags", tags] : []),
    path === undefined ? "." : [source, path].filter(Boolean).join("/"),
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

function versionIn(module: string): RegExp {
  return new RegExp(`^(?:require)?\\s+${module.replaceAll(".", "\\.")} v(\\S+)`, "m");
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
