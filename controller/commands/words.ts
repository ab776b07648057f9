/** Numbers with their nouns. */

/** `1 unit`, `2 units`; `several` is the plural of an irregular noun. */
export function counted(count: number, noun: string, several = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : several}`;
}
