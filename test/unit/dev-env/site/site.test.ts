import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deadLinks } from "../../../../dev-env/site/links.ts";
import { buildSite } from "../../../../dev-env/site/site.ts";

let scratch = "";
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "lotse-site-"));
});
afterAll(() => rm(scratch, { recursive: true }));

describe("a site", () => {
  const build = async (files: Readonly<Record<string, string>>) => {
    const root = await mkdtemp(join(scratch, "repository-"));
    for (const [name, text] of Object.entries({ "docs/README.md": "# Home\n", ...files })) {
      await mkdir(dirname(join(root, name)), { recursive: true });
      await writeFile(join(root, name), text);
    }
    await buildSite(root, join(root, "site"));
    return {
      dead: await deadLinks(join(root, "site")),
      read: (path: string) => readFile(join(root, "site", path), "utf8"),
    };
  };

  it.each([
    ["[x](other.md)", ["page.html: other.md"]],
    ["[x](README.md#nowhere)", ["page.html: index.html#nowhere"]],
    ["[x](#nowhere)", ["page.html: #nowhere"]],
    ["[x](../src/gone.ts)", ["page.html: ../src/gone.ts"]],
    ["[x](../../outside.md)", ["page.html: ../../outside.md"]],
    ["[x](README.md#home) [x](#a-b--c) [x](../src/a.ts) [x](../src) [x](https://example.com/x)\n\n## A `b` & c", []],
  ])("%s: dead links", async (text, dead) => {
    expect((await build({ "docs/page.md": `# Page\n\n${text}\n`, "src/a.ts": "" })).dead).toEqual(dead);
  });

  it("escapes what is not markup, and gives equal headings different anchors", async () => {
    const text = '# A <b> & `<c>`\n\n## Same\n\n## Same\n\n```ts\nconst a = "<d>"; // </span>\n```\n';
    const page = await (await build({ "docs/page.md": text })).read("page.html");
    expect(page).toContain("&lt;c&gt;");
    expect(page).toContain('<span class="string">&quot;&lt;d&gt;&quot;</span>');
    expect(page).toContain('<span class="comment">// &lt;/span&gt;</span>');
    expect([...page.matchAll(/<h2 id="(\S+)"/g)].map(([, id]) => id)).toEqual(["same", "same-1"]);
  });
});
