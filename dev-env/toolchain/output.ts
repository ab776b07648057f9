/** The last lines of a program's output that say something; Go's download chatter does not. */
export function lastLines(output: string, count: number): string {
  const lines = output.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("go: downloading "));
  return lines.slice(-count).join("\n");
}
