/** Colours of a terminal, only where there is one. */
const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

export type Colour = keyof typeof CODES;
export type Paint = (text: string, colour: Colour) => string;

/** Leaves text as it is. */
export const plain: Paint = (text) => text;

const coloured: Paint = (text, colour) => `\u001b[${CODES[colour]}m${text}\u001b[0m`;

/** What suits a stream: colours on a terminal, unless NO_COLOR asks for none. */
export function paintFor(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): Paint {
  return stream.isTTY && !env.NO_COLOR && env.TERM !== "dumb" ? coloured : plain;
}
