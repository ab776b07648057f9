/** Markdown → HTML, with GitHub's anchors, links between pages, and colours in code. */
import { Marked, type Tokens } from "marked";

/** A page without its surroundings. */
export interface RenderedPage {
  readonly title: string;
  readonly html: string;
  /** What the search finds. */
  readonly sections: readonly Section[];
}

/** The text below one heading. */
export interface Section {
  readonly heading: string;
  readonly anchor: string;
  readonly text: string;
}

/** Above a block of code: the file that it is from. */
const SOURCE = /^<!-- from (?<file>[^\s#]+)\S* -->/;
const KEYWORDS =
  "abstract|as|async|await|break|case|catch|class|const|continue|default|else|export|extends|finally|for|from|function|if|implements|import|in|instanceof|interface|let|new|of|private|readonly|return|static|super|switch|this|throw|try|type|typeof|using|while|yield|true|false|null|undefined";
/** Languages whose code has TypeScript's comments and keywords. */
const SCRIPTS = new Set(["ts", "js", "mjs", "go"]);
const SCRIPT = new RegExp(
  `(?<comment>/\\*.*?\\*/|//[^\\n]*)|(?<string>"(?:\\\\.|[^"\\\\\\n])*"|'(?:\\\\.|[^'\\\\\\n])*'|\`(?:\\\\.|[^\`\\\\])*\`)|\\b(?<keyword>${KEYWORDS})\\b`,
  "gs",
);
/** Shell, YAML: comments, and the commands of a transcript. */
const OTHER = /(?<comment>(?<=^|\s)#[^\n]*)|(?<command>(?<=^\$ )[^\n]*)/gm;

/** Renders a page. `link` maps the target of a relative link, without its anchor, to one of the site. */
export function renderMarkdown(markdown: string, link: (target: string) => string): RenderedPage {
  const slugs = new Map<string, number>();
  const sections: { heading: string; anchor: string; text: string }[] = [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }: Tokens.Heading): string {
        const text = this.parser.parseInline(tokens, this.parser.textRenderer);
        const anchor = unique(slugOf(text), slugs);
        sections.push({ heading: plain(text), anchor, text: "" });
        const inner = this.parser.parseInline(tokens);
        return `<h${depth} id="${anchor}"><a class="anchor" href="#${anchor}" aria-hidden="true"></a>${inner}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link): string {
        return `<a href="${escapeHtml(placeLink(href, link))}">${this.parser.parseInline(tokens)}</a>`;
      },
      code({ text, lang = "" }: Tokens.Code): string {
        return `<pre><code class="${escapeHtml(lang)}">${highlight(text, lang)}</code></pre>\n`;
      },
      table(token: Tokens.Table): string {
        const row = (cells: readonly Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("")}</tr>`;
        const body = token.rows.map((cells) => row(cells, "td")).join("\n");
        return `<div class="table"><table><thead>${row(token.header, "th")}</thead><tbody>${body}</tbody></table></div>\n`;
      },
      html({ text }: Tokens.HTML | Tokens.Tag): string {
        const file = SOURCE.exec(text)?.groups?.file;
        return file === undefined ? text : `<p class="source"><a href="${link(`/${file}`)}">${file}</a></p>\n`;
      },
    },
  });
  const html = marked.parse(markdown, { async: false });
  for (const [index, text] of textsOf(html).entries()) Object.assign(sections[index] ?? {}, { text });
  return { title: sections[0]?.heading ?? "", html, sections };
}

/** The text after each heading, in order. */
function textsOf(html: string): readonly string[] {
  const [, ...parts] = html.split(/<h[1-6] id=.*?<\/h[1-6]>/s);
  return parts.map((part) => plain(part).replaceAll(/\s+/g, " ").trim());
}

/** HTML as text. */
function plain(html: string): string {
  const names: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'" };
  return html
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&(lt|gt|amp|quot|#39);/g, (_, name: string) => names[name] ?? "")
    .trim();
}

function placeLink(href: string, link: (target: string) => string): string {
  if (/^([a-z]+:|#)/.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  return link(decodeURI(path)) + (anchor === undefined ? "" : `#${anchor}`);
}

/** As GitHub makes them. */
function slugOf(text: string): string {
  return plain(text)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

function unique(slug: string, slugs: Map<string, number>): string {
  const count = slugs.get(slug) ?? 0;
  slugs.set(slug, count + 1);
  return count === 0 ? slug : `${slug}-${count}`;
}

/** Code as HTML, with classes for comments, strings, keywords and commands. */
export function highlight(code: string, language: string): string {
  const pattern = SCRIPTS.has(language) ? SCRIPT : OTHER;
  let [html, end] = ["", 0];
  for (const { 0: text, index, groups = {} } of code.matchAll(pattern)) {
    const [kind = ""] = Object.entries(groups).find(([, value]) => value !== undefined) ?? [];
    html += `${escapeHtml(code.slice(end, index))}<span class="${kind}">${escapeHtml(text)}</span>`;
    end = index + text.length;
  }
  return html + escapeHtml(code.slice(end));
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
