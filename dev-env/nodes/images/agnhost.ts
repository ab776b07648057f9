/**
 * The image of the pods that Kubernetes' own tests start: the program agnhost, and the commands that tests run beside it.
 * The official image is made from Alpine; this one from Debian's packages.
 */
import { existsSync } from "node:fs";
import { copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { downloadPackages, unpackPackage } from "../../image/debian.ts";
import { writeArchive, writeLayer } from "../../image/oci.ts";
import { run } from "../../toolchain/run.ts";
import { thisArchitecture } from "../../toolchain/toolchain.ts";
import { digestOf, type Image } from "./store.ts";

/** What tests run: a shell with the usual commands, curl, nc, ss and wget. The shell of busybox would prefer its own nc. */
const PROGRAMS = ["busybox-static", "curl", "dash", "iproute2", "netcat-openbsd", "wget"];
/** The libraries of these programs. */
const LIBRARIES = [
  "libbpf1 libbrotli1 libbsd0 libc6 libcap2 libcom-err2 libcurl4 libelf1 libffi8 libgcc-s1 libgmp10 libgnutls30",
  "libgssapi-krb5-2 libhogweed6 libidn2-0 libk5crypto3 libkeyutils1 libkrb5-3 libkrb5support0 libldap-2.5-0 libmd0",
  "libmnl0 libnettle8 libnghttp2-14 libp11-kit0 libpcre2-8-0 libpsl5 librtmp1 libsasl2-2 libselinux1 libssh2-1 libssl3",
  "libtasn1-6 libtirpc3 libunistring2 libuuid1 libxtables12 libzstd1 zlib1g",
].flatMap((line) => line.split(" "));
const FOLDERS = ["bin", "usr/bin", "sbin", "usr/sbin"];
const CONFIG = {
  entrypoint: ["/agnhost"],
  cmd: ["pause"],
  env: { PATH: FOLDERS.map((folder) => `/${folder}`).join(":") },
  // Tests listen on port 80, also in the network of the node.
  user: "0:0",
};

/** The image with a name, made from the binary `agnhost`. */
export async function agnhostImage(name: string, file: string): Promise<Image> {
  return {
    key: `${name}-${await digestOf([file], [...PROGRAMS, ...LIBRARIES, JSON.stringify(CONFIG)])}`,
    write: async (dir, archive) => {
      const [root, layer] = [join(dir, "root"), join(dir, "layer.tar.gz")];
      await layOut(root, file);
      await writeLayer({ root, paths: ["."], seconds: 0 }, layer);
      await writeArchive({ architecture: thisArchitecture, layers: [layer], config: CONFIG }, name, archive);
    },
  };
}

async function layOut(root: string, file: string): Promise<void> {
  // Tests upload files here.
  for (const folder of [...FOLDERS, "etc", "tmp", "uploads"]) await mkdir(join(root, folder), { recursive: true });
  for (const path of await downloadPackages(thisArchitecture, [...PROGRAMS, ...LIBRARIES]))
    await unpackPackage(path, root);
  await symlink("nc.openbsd", join(root, "bin/nc"));
  if (!existsSync(join(root, "bin/sh"))) await symlink("dash", join(root, "bin/sh"));
  await linkCommands(root);
  await writeFile(join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n");
  await copyFile(file, join(root, "agnhost"));
}

/** Links the commands that busybox has, except those that a package has too. */
async function linkCommands(root: string): Promise<void> {
  const list = await run(join(root, "bin/busybox"), ["--list"]);
  for (const name of list.split("\n").filter((line) => line !== ""))
    if (!FOLDERS.some((folder) => existsSync(join(root, folder, name))))
      await symlink("busybox", join(root, "bin", name));
}
