/** Asks for the name of the cluster before something that cannot be undone. */
import { createInterface } from "node:readline/promises";
import { oneLine } from "../../diagnostics/printable.ts";
import { type Place, placeText } from "../place.ts";
import type { DepartureMode } from "./departure.ts";

/** Whether the user typed the name of the cluster. Ctrl-C and Ctrl-D decline. */
export async function isConfirmed(mode: DepartureMode, place: Place): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const ended = new AbortController();
  terminal.once("close", () => ended.abort());
  const question = `\n${placeText(place)}\nType the cluster's name, ${oneLine(place.cluster)}, to ${mode} it: `;
  const answer = await terminal.question(question, { signal: ended.signal }).catch(() => "");
  terminal.close();
  const isRight = answer.trim() === place.cluster;
  if (!isRight) process.stdout.write("\nnothing was changed\n");
  return isRight;
}
