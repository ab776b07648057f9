/** What a terminal would obey instead of showing, besides tabs and line ends; JSON lets those from 0x7f on pass. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g;

/** A text in which control characters are written out, as JSON does. Objects of users may hold any; logs and Events are read in terminals. */
export function printable(text: string): string {
  return text.replaceAll(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
