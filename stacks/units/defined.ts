/** Optional fields that are absent when they are not set. */

/** The fields that have a value. Unlike one that is undefined, an absent field is equal to one that was never named. */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as typeof fields;
}
