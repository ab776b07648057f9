import { describe, expect, it } from "vitest";
import { isLower, nextVersion } from "../../../../dev-env/release/changelog.ts";

describe("versions", () => {
  it.each([
    ["0.2.3", "### Fixed\n", "0.2.4"],
    ["0.2.3", "### Added\n", "0.3.0"],
    ["0.2.3", "### What you must do\n", "0.3.0"],
    ["1.2.3", "### Added\n", "1.3.0"],
    ["1.2.3", "### What you must do\n\n### Added\n", "2.0.0"],
    ["1.2.3", "### Added by us\n", "1.2.4"],
    ["1.0.0-rc.1", "### What you must do\n", "1.0.0"],
  ])("after %s with %j comes %s", (last, text, expected) => expect(nextVersion(last, text)).toBe(expected));

  it.each([
    ["0.9.0", "0.10.0", true],
    ["0.10.0", "0.9.0", false],
    ["1.0.0", "1.0.0", false],
    ["1.0.0-rc.2", "1.0.0-rc.10", true],
    ["1.0.0-rc.1", "1.0.0", true],
    ["1.0.0", "1.0.0-rc.1", false],
  ])("%s is lower than %s: %s", (a, b, expected) => expect(isLower(a, b)).toBe(expected));
});
