import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Archive } from "../../../../dev-env/toolchain/archives.ts";
import { thisHost } from "../../../../dev-env/toolchain/host.ts";
import { forEachTool, type Tools } from "../../../../dev-env/toolchain/tools.ts";

/** A download site on loopback with fake archives, whose binaries contain "downloaded NAME". */
export class ReleaseSite {
  /** Requested paths. */
  readonly requests: string[] = [];
  /** Replacements for files, by file name. */
  readonly overrides = new Map<string, RequestListener>();
  readonly #server: Server;
  readonly #files = new Map<string, Buffer>();

  constructor() {
    this.#server = createServer((request, response) => {
      const path = request.url ?? "";
      this.requests.push(path);
      const override = this.overrides.get(path.split("/").at(-1) ?? "");
      if (override) return override(request, response);
      const file = this.#files.get(path);
      response.writeHead(file ? 200 : 404).end(file);
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Packs and serves a fake of every archive of the tools. Returns the tools with the digests of the fakes. */
  async publish(tools: Tools, dir: string): Promise<Tools> {
    const archives = new Map<Archive, Archive>();
    for (const archive of new Set(Object.values(tools).flatMap((tool) => tool.archive ?? []))) {
      const { file, release, checksumFile } = archive;
      const content = await pack(archive, join(dir, file));
      this.#files.set(`/${release}/${file}`, content);
      const digest = createHash(checksumFile ? "sha1" : "sha512")
        .update(content)
        .digest("hex");
      if (checksumFile) this.#files.set(`/${release}/${checksumFile}`, Buffer.from(`${digest}  ./${file}\n`));
      archives.set(archive, { ...archive, digest: checksumFile ? undefined : digest });
    }
    return forEachTool((name) => {
      const { archive } = tools[name];
      return { ...tools[name], archive: archive && archives.get(archive) };
    });
  }
}

async function pack(archive: Archive, dir: string): Promise<Buffer> {
  const folder = join(dir, archive.folder);
  await mkdir(folder, { recursive: true });
  for (const name of archive.tools) await writeFile(join(folder, name), `downloaded ${name}`, { mode: 0o755 });
  await writeFile(join(folder, "README.md"), "not a tool");
  const packed = `${dir}.packed`;
  const { kind, output } = await thisHost.run("tar", ["-czf", packed, "-C", dir, "."]);
  if (kind !== "ok") throw new Error(output);
  return readFile(packed);
}
