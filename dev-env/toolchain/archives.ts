/** Release archives that contain the tools, with their pinned digests. */
import { readFileSync } from "node:fs";
import type { ToolName } from "./tools.ts";

/** A release archive with tools that are ready to run. */
export interface Archive {
  /** Its name in messages, e.g. "envtest 1.36.2". */
  readonly label: string;
  /** Path of its release on the download site. */
  readonly release: string;
  readonly file: string;
  /** The folder in the archive that contains the tools. */
  readonly folder: string;
  readonly tools: readonly ToolName[];
  /** The pinned digest, in hexadecimal. If it is undefined, the one in `checksumFile` of the release applies. */
  readonly digest: string | undefined;
  readonly checksumFile?: string;
  /** Its folder in the store. */
  readonly storeName: string;
}

/** The newest patch release of the pinned Kubernetes minor version for which controller-tools publishes an archive. */
const envtest = "1.36.2";

const pinnedDigests = readFileSync(new URL("checksums.txt", import.meta.url), "utf8");

/** The archives of these versions for a platform such as "linux-x64". */
export function describeArchives(
  { pulumi, hcloud }: { readonly pulumi: string; readonly hcloud: string },
  platform: string,
): readonly Archive[] {
  const goPlatform = platform.replace("x64", "amd64");
  const archives: readonly Omit<Archive, "digest" | "storeName">[] = [
    {
      label: `pulumi ${pulumi}`,
      release: `pulumi/pulumi/releases/download/v${pulumi}`,
      file: `pulumi-v${pulumi}-${platform}.tar.gz`,
      folder: "pulumi",
      tools: ["pulumi", "pulumi-language-nodejs"],
    },
    {
      label: `pulumi-resource-hcloud ${hcloud}`,
      release: `pulumi/pulumi-hcloud/releases/download/v${hcloud}`,
      file: `pulumi-resource-hcloud-v${hcloud}-${goPlatform}.tar.gz`,
      folder: ".",
      tools: ["pulumi-resource-hcloud"],
      checksumFile: `pulumi-hcloud_${hcloud}_checksums.txt`,
    },
    {
      label: `envtest ${envtest}`,
      release: `kubernetes-sigs/controller-tools/releases/download/envtest-v${envtest}`,
      file: `envtest-v${envtest}-${goPlatform}.tar.gz`,
      folder: "controller-tools/envtest",
      tools: ["etcd", "kube-apiserver", "kubectl"],
    },
  ];
  return archives.map((archive) => {
    const digest = findDigest(pinnedDigests, archive.file);
    return { ...archive, digest, storeName: `${archive.file}-${digest?.slice(0, 12) ?? "published"}` };
  });
}

/** The digest of a file in a list in `shasum` format; undefined if the file is not listed. */
export function findDigest(checksums: string, file: string): string | undefined {
  const lines = checksums.split("\n").map((line) => line.trim().split(/ +[*]?(?:\.\/)?/));
  return lines.find(([, name]) => name === file)?.[0];
}
