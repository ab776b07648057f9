/** Sections of CHANGELOG.md, and the version that follows from them. */

/** Name of the section with what is not released yet. */
export const UNRELEASED = "Unreleased";

/** One section of the second level. */
export interface Section {
  /** A version, or `Unreleased`. */
  readonly name: string;
  /** Everything below the heading. */
  readonly text: string;
}

/** All sections, the newest first. A heading is `## 0.2.0 - 2026-11-17` or `## Unreleased`. */
export function sectionsOf(changelog: string): readonly Section[] {
  return changelog
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [heading = "", ...lines] = section.split("\n");
      return { name: heading.split(" - ")[0]?.trim() ?? "", text: lines.join("\n").trim() };
    });
}

/** The section of a version, which becomes its release notes, or what is not released yet; undefined if it has none. */
export function releaseNotes(changelog: string, version: string): string | undefined {
  return sectionsOf(changelog).find(({ name }) => name === version)?.text;
}

/** Turns the unreleased section into that of a version, and begins an empty one. `date` is `2026-11-17`. */
export function closeSection(changelog: string, version: string, date: string): string {
  return changelog.replace(`## ${UNRELEASED}\n`, `## ${UNRELEASED}\n\n## ${version} - ${date}\n`);
}

const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-[\w.-]+)?$/;

/** Whether the text is a version that can be released: `0.2.0` or `1.0.0-rc.1`. */
export function isVersion(text: string): boolean {
  return VERSION.test(text);
}

/**
 * The smallest version that may follow, by docs/reference/versioning.md. Operators have something to do: the first number,
 * or the second before 1.0. Something was added: the second number. Otherwise: the third. A
 * pre-release is followed by its release.
 */
export function nextVersion(last: string, unreleased: string): string {
  if (last.includes("-")) return coreOf(last);
  const [major = 0, minor = 0, patch = 0] = VERSION.exec(last)?.slice(1, 4).map(Number) ?? [];
  const isBreaking = /^### What you must do$/m.test(unreleased);
  if (isBreaking && major > 0) return `${major + 1}.0.0`;
  if (isBreaking || /^### Added$/m.test(unreleased)) return `${major}.${minor + 1}.0`;
  return `${major}.${minor}.${patch + 1}`;
}

/** The version without the part that marks a pre-release. */
export function coreOf(version: string): string {
  return version.split("-")[0] ?? "";
}

/** Whether `a` is a lower version than `b`. A pre-release is lower than its release. */
export function isLower(a: string, b: string): boolean {
  const [aPre, bPre] = [a.slice(coreOf(a).length), b.slice(coreOf(b).length)];
  const order = coreOf(a).localeCompare(coreOf(b), "en", { numeric: true });
  if (order !== 0) return order < 0;
  if (aPre === "" || bPre === "") return aPre !== "" && bPre === "";
  return aPre.localeCompare(bPre, "en", { numeric: true }) < 0;
}
