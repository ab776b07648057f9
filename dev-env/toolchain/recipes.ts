/** How each tool is built: its Go module, package, version and build flags. */
import type { ToolName } from "./tools.ts";

/** What a tool is built from. */
interface Recipe {
  /** A folder below `go/`: one Go module with its pins. */
  readonly module: string;
  readonly package: string;
  /** Where the version is pinned: a file of the module, and a pattern with one group. */
  readonly pin: { readonly file: string; readonly pattern: RegExp };
  readonly stamp: (version: string) => readonly string[];
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

/** The recipes of all tools. */
export const recipes: Readonly<Record<ToolName, Recipe>> = {
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
  "e2e.test": {
    module: "kubernetes-e2e",
    package: "k8s.io/kubernetes/test/e2e",
    pin: inGoMod("k8s.io/kubernetes"),
    stamp: kubernetesStamp,
    isTest: true,
    buildSeconds: 400,
  },
  agnhost: {
    module: "kubernetes-e2e",
    package: "k8s.io/kubernetes/test/images/agnhost",
    pin: inGoMod("k8s.io/kubernetes"),
    stamp: () => [],
    buildSeconds: 30,
  },
  // An ingress controller for real nodes.
  traefik: {
    module: "traefik",
    package: "github.com/traefik/traefik/v3/cmd/traefik",
    pin: inGoMod("github.com/traefik/traefik/v3"),
    stamp: (version) => [`github.com/traefik/traefik/v3/pkg/version.Version=${version}`],
    buildSeconds: 600,
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
