/** How each tool is built: its Go module, package, version and build flags. */
import type { ToolName } from "./tools.ts";

/** What a tool is built from. */
interface Recipe {
  /** A folder below `go/`: one Go module with its pins. */
  readonly module: string;
  /** The Go module with the tool's version, which go.mod pins; absent if our own main.go states the version. */
  readonly source?: string;
  /** The package in the source; absent if the tool is built from our own main.go. */
  readonly path?: string;
  /** Linker variables. */
  readonly stamp?: (version: string) => readonly string[];
  /** Build tags, which leave out what is not used. */
  readonly tags?: string;
  /** Whether the tests of the package are built, as `go test -c` does. */
  readonly isTest?: boolean;
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

const kubernetes = { source: "k8s.io/kubernetes", stamp: kubernetesStamp };
const containerd = {
  module: "containerd",
  source: "github.com/containerd/containerd/v2",
  stamp: (version: string) => [`github.com/containerd/containerd/v2/version.Version=v${version}`],
};
const withoutDrivers = "no_btrfs,no_zfs,no_devmapper,no_tracing";
const cni = {
  module: "cni",
  source: "github.com/containernetworking/plugins",
  stamp: (version: string) => [
    `github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion=v${version}`,
  ],
  buildSeconds: 10,
};

/** The recipes of all tools. */
export const recipes: Readonly<Record<ToolName, Recipe>> = {
  pulumi: {
    module: "pulumi",
    source: "github.com/pulumi/pulumi/pkg/v3",
    path: "cmd/pulumi",
    stamp: pulumiStamp,
    buildSeconds: 340,
  },
  // 3.68.0 is the last version inside Pulumi's sdk module. Only a plain `pulumi preview` uses it; it ignores
  // `runtime.options` of Pulumi.yaml and runs TypeScript through Node's type stripping.
  "pulumi-language-nodejs": {
    module: "pulumi-language-nodejs",
    source: "github.com/pulumi/pulumi/sdk/v3",
    path: "nodejs/cmd/pulumi-language-nodejs",
    stamp: pulumiStamp,
    buildSeconds: 50,
  },
  "pulumi-resource-hcloud": { module: "pulumi-resource-hcloud", buildSeconds: 230 },
  etcd: { module: "etcd", source: "go.etcd.io/etcd/server/v3", path: "", buildSeconds: 35 },
  "kube-apiserver": { module: "kubernetes", ...kubernetes, path: "cmd/kube-apiserver", buildSeconds: 420 },
  kubectl: { module: "kubernetes", ...kubernetes, path: "cmd/kubectl", buildSeconds: 30 },
  // 4.2 instead of the newest release, because it shares most modules with Kubernetes 1.36. Helm 3 is out of support.
  helm: {
    module: "helm",
    source: "helm.sh/helm/v4",
    path: "cmd/helm",
    stamp: (version) => [`helm.sh/helm/v4/internal/version.version=v${version}`],
    buildSeconds: 140,
  },
  "kube-node": { module: "kubernetes-node", ...kubernetes, buildSeconds: 260 },
  containerd: { ...containerd, path: "cmd/containerd", tags: withoutDrivers, buildSeconds: 130 },
  "containerd-shim-runc-v2": { ...containerd, path: "cmd/containerd-shim-runc-v2", tags: "no_grpc", buildSeconds: 10 },
  ctr: { ...containerd, path: "cmd/ctr", tags: withoutDrivers, buildSeconds: 10 },
  ptp: { ...cni, path: "plugins/main/ptp" },
  "host-local": { ...cni, path: "plugins/ipam/host-local" },
  coredns: { module: "coredns", source: "github.com/coredns/coredns", buildSeconds: 120 },
  "http-echo": { module: "http-echo", buildSeconds: 5 },
  crane: { module: "crane", source: "github.com/google/go-containerregistry", path: "cmd/crane", buildSeconds: 5 },
  syft: {
    module: "syft",
    source: "github.com/anchore/syft",
    path: "cmd/syft",
    stamp: (version) => [`main.version=${version}`],
    buildSeconds: 150,
  },
  cosign: {
    module: "cosign",
    source: "github.com/sigstore/cosign/v3",
    stamp: (version) => [`sigs.k8s.io/release-utils/version.gitVersion=v${version}`],
    buildSeconds: 130,
  },
  "e2e.test": { module: "kubernetes-e2e", ...kubernetes, path: "test/e2e", isTest: true, buildSeconds: 400 },
  agnhost: { module: "kubernetes-e2e", source: kubernetes.source, path: "test/images/agnhost", buildSeconds: 30 },
  // An ingress controller for real nodes.
  traefik: {
    module: "traefik",
    source: "github.com/traefik/traefik/v3",
    path: "cmd/traefik",
    stamp: (version) => [`github.com/traefik/traefik/v3/pkg/version.Version=${version}`],
    buildSeconds: 600,
  },
  // An S3 server for tests. Pinned by commit, because the names of its releases are no module versions.
  minio: { module: "minio", source: "github.com/minio/minio", path: "", buildSeconds: 500 },
  actionlint: { module: "actionlint", source: "github.com/rhysd/actionlint", path: "cmd/actionlint", buildSeconds: 10 },
};
