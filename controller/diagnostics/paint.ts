/** The output of commands: its colours, and a reader that leaves early. */
import { styleText } from "node:util";

export type Colour = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";
export type Paint = (text: string, colour: Colour) => string;

/** Leaves text as it is. */
export const plain: Paint = (text) => text;

/** Uses colours if the stream is a terminal that supports them. `NO_COLOR` turns them off. */
export function paintFor(stream: NodeJS.WritableStream): Paint {
  return (text, colour) => styleText(colour, text, { stream });
}

/** Lets a command finish its work, with its own exit code, after a reader such as `head` has left or its terminal closed. */
export function outliveReader(output: NodeJS.WriteStream = process.stdout): void {
  output.on("error", (error: NodeJS.ErrnoException) => {
    const isClosedTerminal = error.code === "EIO" && output.isTTY;
    if (error.code !== "EPIPE" && !isClosedTerminal) throw error;
  });
}
