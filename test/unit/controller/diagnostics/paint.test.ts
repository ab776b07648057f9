import { EventEmitter } from "node:events";
import { Writable } from "node:stream";
import { WriteStream } from "node:tty";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { outliveReader, paintFor } from "../../../../controller/diagnostics/paint.ts";

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

it.each([
  ["survives a reader that has left", false, "EPIPE", true],
  ["survives a terminal that was closed", true, "EIO", true],
  ["reports a file that cannot be written", false, "EIO", false],
])("%s", (_, isTTY, code, survives) => {
  const output = Object.assign(new EventEmitter(), { isTTY }) as unknown as WriteStream;
  outliveReader(output);
  const report = () => output.emit("error", Object.assign(new Error(code), { code }));
  if (survives) expect(report).not.toThrow();
  else expect(report).toThrow(code);
});
