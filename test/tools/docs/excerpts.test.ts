import { describe, expect, it } from "vitest";
import { fillExcerpts } from "./excerpts.ts";

const SOURCE = `import fs from "node:fs";

/** One. */
export function one(): number {
  return 1;
}
const two = 2;
const three = 3;

export class Pool {
  readonly #size = 4;

  constructor() {
    this.fill();
  }

  /** Fills it. */
  #fill(): void {
    if (two) {
      fs.close(this.#size);
    }
  }
}
`;

const page = (marker: string, code = "stale\n") =>
  `Text\n\n<!-- from ${marker} -->\n\n\`\`\`ts\n${code}\`\`\`\n\n\`\`\`ts\nother\n\`\`\`\n`;
const fill = (marker: string, code?: string) => fillExcerpts(page(marker, code), () => SOURCE);

describe("fillExcerpts", () => {
  it.each([
    ["a.ts#one", "/** One. */\nexport function one(): number {\n  return 1;\n}\n"],
    ["a.ts#two,three", "const two = 2;\nconst three = 3;\n"],
    ["a.ts#three,one", "const three = 3;\n\n/** One. */\nexport function one(): number {\n  return 1;\n}\n"],
    ["a.ts#Pool.constructor", "constructor() {\n  this.fill();\n}\n"],
    ["a.ts#Pool.#fill", "/** Fills it. */\n#fill(): void {\n  if (two) {\n    fs.close(this.#size);\n  }\n}\n"],
    ["a.ts", SOURCE],
  ])("%s", (marker, code) => {
    expect(fill(marker)).toBe(page(marker, code));
    expect(fill(marker, "")).toBe(page(marker, code));
  });

  it.each(["a.ts#four", "a.ts#one.two", "a.ts#Pool.drain"])("%s: says what is missing", (marker) => {
    expect(() => fill(marker)).toThrow(`a.ts has no declaration ${marker.slice("a.ts#".length)}`);
  });

  it("leaves other code alone, and the code of every page is taken literally", () => {
    const dollars = fillExcerpts(page("a.ts"), () => "const price = '$1 $& $$';\n");
    expect(dollars).toBe(page("a.ts", "const price = '$1 $& $$';\n"));
    expect(dollars).toContain("```ts\nother\n```");
  });
});
