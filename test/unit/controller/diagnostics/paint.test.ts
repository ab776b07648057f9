import { Writable } from "node:stream";
import { WriteStream } from "node:tty";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { paintFor } from "../../../../controller/diagnostics/paint.ts";

// Set where this test runs, it would decide for every stream.
beforeEach(() => vi.stubEnv("FORCE_COLOR", undefined));
afterEach(() => vi.unstubAllEnvs());

it.each([
  ["uses colours in a terminal", true, { TERM: "xterm" }, "\u001b[31mx\u001b[39m"],
  ["uses none with NO_COLOR", true, { TERM: "xterm", NO_COLOR: "1" }, "x"],
  ["uses none in a dumb terminal", true, { TERM: "dumb" }, "x"],
  ["uses none outside a terminal", false, { TERM: "xterm" }, "x"],
])("%s", (_, isTTY, env, expected) => {
  const getColorDepth = () => WriteStream.prototype.getColorDepth(env);
  const stream = Object.assign(new Writable(), { isTTY, getColorDepth });
  expect(paintFor(stream)("x", "red")).toBe(expected);
});
