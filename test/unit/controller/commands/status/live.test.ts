import { EventEmitter } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { frame, showLive } from "../../../../../controller/commands/status/live.ts";

const WIDE = { columns: 80, rows: 24 };
const RED = "\u001b[31m";
const RESET = "\u001b[0m";

/** What a terminal shows after all that was written to it, as far as we use it: its lines, and the cursor. */
class Terminal extends EventEmitter {
  columns = WIDE.columns;
  rows = WIDE.rows;
  written = "";
  lines: string[] = [];
  isCursorShown = true;
  #row = 0;
  #column = 0;

  write(text: string): void {
    this.written += text;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a terminal obeys
    for (const [token] of text.matchAll(/\u001b\[[?\d;]*[A-Za-z]|\n|[^\u001b\n]/g)) this.#take(token);
  }

  #take(token: string): void {
    if (token === "\u001b[H") [this.#row, this.#column] = [0, 0];
    else if (token === "\u001b[K") this.#line(this.#at().slice(0, this.#column));
    else if (token === "\u001b[J") this.lines = this.lines.slice(0, this.#row);
    else if (token === "\u001b[?25l") this.isCursorShown = false;
    else if (token === "\u001b[?25h") this.isCursorShown = true;
    else if (token === "\n") this.#newLine();
    else if (!token.startsWith("\u001b")) {
      this.#line(this.#at().slice(0, this.#column) + token + this.#at().slice(this.#column + 1));
      this.#column += 1;
      if (this.#column > this.columns) throw new Error(`a line wraps: ${this.#at()}`);
    }
  }

  #newLine(): void {
    [this.#row, this.#column] = [this.#row + 1, 0];
    if (this.#row >= this.rows) throw new Error("the view scrolls");
  }

  #at(): string {
    return this.lines[this.#row] ?? "";
  }

  #line(text: string): void {
    this.lines[this.#row] = text;
  }
}

describe("one frame", () => {
  it.each([
    ["fits", "abc\nd\n", WIDE, "\u001b[Habc\u001b[K\nd\u001b[K\n\u001b[J"],
    ["cuts what is too wide", "abcdef", { columns: 4, rows: 9 }, "\u001b[Habc…\u001b[K\n\u001b[J"],
    ["keeps what is as wide", "abcd", { columns: 4, rows: 9 }, "\u001b[Habcd\u001b[K\n\u001b[J"],
    [
      "counts no colours, and ends them",
      `${RED}abcdef${RESET}`,
      { columns: 4, rows: 9 },
      `\u001b[H${RED}abc${RESET}…${RESET}\u001b[K\n\u001b[J`,
    ],
  ])("%s", (_, text, size, expected) => expect(frame(text, size)).toBe(expected));

  it("says how many lines do not fit, and leaves a line for the cursor", () => {
    const terminal = new Terminal();
    terminal.rows = 4;
    terminal.write(frame("1\n2\n3\n4\n5\n", terminal));
    expect(terminal.lines).toEqual(["1", "2", "… 3 more lines: enlarge the window or use --once"]);
    terminal.write(frame("1\n2\n3\n", terminal));
    expect(terminal.lines).toEqual(["1", "2", "3"]);
  });

  it("survives a window of no size", () => {
    expect(() => frame("a\nb\n", { columns: 0, rows: 0 })).not.toThrow();
  });
});

describe("a live view", () => {
  it("redraws in place, follows the window size, and restores the cursor below the last view", async () => {
    const terminal = new Terminal();
    const end = new AbortController();
    let text = "first line, a long one\nsecond\nthird\n";
    let looks = 0;
    const look = async () => {
      looks += 1;
      return text;
    };
    const shown = showLive(terminal, look, { everyMs: 20, signal: end.signal });
    await vi.waitFor(() => expect(terminal.lines).toHaveLength(3));
    expect(terminal.isCursorShown).toBe(false);
    terminal.columns = 10;
    terminal.emit("resize");
    expect(terminal.lines[0]).toBe("first lin…");
    text = "short\n";
    await vi.waitFor(() => expect(terminal.lines).toEqual(["short"]));
    await vi.waitFor(() => expect(looks).toBeGreaterThan(3));
    end.abort();
    await shown;
    expect([terminal.lines[0], terminal.isCursorShown, terminal.listenerCount("resize")]).toEqual(["short", true, 0]);
    const { length } = terminal.written;
    terminal.emit("resize");
    expect(terminal.written).toHaveLength(length);
    expect(terminal.written).not.toContain("\u001b[2J");
  });

  it("ends at once while the first view is still being rendered", async () => {
    const terminal = new Terminal();
    const end = new AbortController();
    const shown = showLive(terminal, () => new Promise(() => {}), { everyMs: 60_000, signal: end.signal });
    end.abort();
    await shown;
    expect([terminal.lines.filter(Boolean), terminal.isCursorShown]).toEqual([[], true]);
  });

  it("restores the cursor when rendering fails", async () => {
    const terminal = new Terminal();
    const { signal } = new AbortController();
    await expect(showLive(terminal, () => Promise.reject(new Error("no")), { everyMs: 1, signal })).rejects.toThrow(
      "no",
    );
    expect(terminal.isCursorShown).toBe(true);
  });
});
