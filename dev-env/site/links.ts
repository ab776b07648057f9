/** Dead links in a built site. */
import { readdir, readFile } from "node:fs/promises";
import { join, posix } from "node:path";

/** Links to files and anchors that are not in the site, as `page: link`. Links to other sites are not followed. */
export async function deadLinks(folder: string): Promise<readonly string[]> {
  const files = new Set(await readdir(folder, { recursive: true }));
  const names = [...files].filter((name) => name.endsWith(".html"));
  const pages = new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const)),
  );
  return [...pages].flatMap(([name, html]) =>
    linksIn(html)
      .filter((link) => {
        const [path = "", anchor = ""] = link.split("#");
        const target = path === "" ? name : posix.join(posix.dirname(name), decodeURI(path));
        return !files.has(target) || (anchor !== "" && !pages.get(target)?.includes(` id="${anchor}"`));
      })
      .map((link) => `${name}: ${link}`),
  );
}

function linksIn(html: string): readonly string[] {
  const links = [...html.matchAll(/<[^>]* (?:href|src)="(?<link>[^"]*)"/g)].map(({ groups }) => groups?.link ?? "");
  return [...new Set(links)].filter((link) => !/^[a-z]+:/.test(link));
}
