/** A live view in a terminal, redrawn in place until it is interrupted. */
import { stripVTControlCharacters } from "node:util";
import { SYSTEM_CLOCK } from "../../work/clock.ts";

/** The part of a terminal's interface that is used. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  write(text: string): unknown;
  on(event: "resize", listener: () => void): unknown;
  off(event: "resize", listener: () => void): unknown;
}

const HOME = "\u001b[H";
const TO_LINE_END = "\u001b[K";
const TO_SCREEN_END = "\u001b[J";
const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";
const RESET = "\u001b[0m";

/**
 * Draws what `render` returns, redraws it `everyMs` later and when the window is resized. Returns when the signal fires; the last
 * view stays on the screen, with the cursor below it.
 */
export async function showLive(
  screen: Screen,
  render: () => Promise<string>,
  { everyMs, signal }: { readonly everyMs: number; readonly signal: AbortSignal },
): Promise<void> {
  let text: string | undefined;
  const draw = () => {
    if (text !== undefined && !signal.aborted) screen.write(frame(text, screen));
  };
  const ended = new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
  screen.write(HIDE_CURSOR);
  screen.on("resize", draw);
  try {
    while (!signal.aborted) {
      text = (await Promise.race([render(), ended])) ?? text;
      draw();
      await SYSTEM_CLOCK.pause(everyMs, signal);
    }
  } finally {
    screen.off("resize", draw);
    screen.write(`${SHOW_CURSOR}\n`);
  }
}

/** Text that redraws the screen in place without flicker, and erases the rest of each old line. */
export function frame(text: string, { columns, rows }: Pick<Screen, "columns" | "rows">): string {
  const lines = text.trimEnd().split("\n");
  // The cursor needs a line too; without it the terminal would scroll.
  const room = Math.max(rows - 1, 1);
  const shown =
    lines.length <= room
      ? lines
      : [...lines.slice(0, room - 1), `… ${lines.length - room + 1} more lines: enlarge the window or use --once`];
  return `${HOME}${shown.map((line) => `${cut(line, columns)}${TO_LINE_END}\n`).join("")}${TO_SCREEN_END}`;
}

/** Truncates a line to the window, so that it does not wrap. Colour codes have no width. */
function cut(line: string, columns: number): string {
  const text = stripVTControlCharacters(line);
  if (text.length <= columns) return line;
  let room = columns - 1;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with one
  const kept = line.replace(/(\u001b\[\d+m)|./g, (piece, code) => code ?? (room-- > 0 ? piece : ""));
  return `${kept}…${text === line ? "" : RESET}`;
}
