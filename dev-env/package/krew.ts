/** The manifest with which krew, the plugin manager of kubectl, installs `kubectl lotse`. */
import { stringify } from "yaml";

type Published = Readonly<Record<"version" | "uri" | "sha256", string>>;

/** Renders the manifest for a published archive. https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest describes the format. */
export function renderKrewManifest({ version, uri, sha256 }: Published): string {
  return stringify({
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "lotse" },
    spec: {
      version: `v${version}`,
      homepage: new URL("/", uri).href,
      shortDescription: "Preview and audit Hetzner Cloud changes",
      description:
        "Shows what the cloud-controller-manager Lotse would change in Hetzner Cloud, and why; what it did change; " +
        "and the state of nodes, load balancers and routes.\n",
      caveats:
        "Requires Node 24 or newer on PATH. For completion, run\n" +
        "  kubectl lotse completion kubectl > kubectl_complete-lotse\n" +
        "make it executable, and put it on PATH.\n",
      platforms: [
        {
          selector: { matchExpressions: [{ key: "os", operator: "In", values: ["darwin", "linux"] }] },
          uri,
          sha256,
          files: [{ from: "package/*", to: "." }],
          bin: "kubectl-lotse",
        },
      ],
    },
  });
}
