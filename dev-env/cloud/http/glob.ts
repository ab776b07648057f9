/** Patterns for request paths. */

/** Matches paths: `*` is one segment or part of it, `**` is anything. Query strings are ignored. */
export function globMatcher(glob: string): (path: string) => boolean {
  if (glob === "**") return () => true;
  const source = glob
    .split("**")
    .map((part) =>
      part
        .split("*")
        .map((text) => RegExp.escape(text))
        .join("[^/]*"),
    )
    .join(".*");
  const pattern = new RegExp(`^${source}$`);
  return (path) => pattern.test(path.replace(/\?.*$/, ""));
}
