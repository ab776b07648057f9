/** Colours of command output. */
import { styleText } from "node:util";

export type Colour = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";
export type Paint = (text: string, colour: Colour) => string;

/** Leaves text as it is. */
export const plain: Paint = (text) => text;

/** Uses colours if the stream is a terminal that supports them. `NO_COLOR` turns them off. */
export function paintFor(stream: NodeJS.WritableStream): Paint {
  return (text, colour) => styleText(colour, text, { stream });
}
