/** Texts that nobody should send and somebody will: control characters, half surrogates, prototype names, sheer size. */
import fc from "fast-check";

/** Any UTF-16 at all; quick to set up, unlike fast-check's own table of all code points. */
export const anyText = fc
  .array(fc.oneof(fc.integer({ max: 0x7f, min: 0 }), fc.integer({ max: 0xffff, min: 0 })), { maxLength: 200 })
  .map((units) => String.fromCharCode(...units));

export const hostileText = fc.oneof(
  anyText,
  fc.string(),
  fc.constantFrom(
    "__proto__",
    "constructor",
    "toString",
    "",
    " ",
    "\n",
    "a\nb",
    "\u0000",
    "\u2028",
    "\ud800",
    "\ufeff",
  ),
  fc.constantFrom("💥".repeat(5_000), "1".repeat(9_999), ",".repeat(9_999)),
);

/** Clears a terminal and names its window, forges a line, hides and turns around what follows. */
export const HOSTILE =
  "owned\u001b]0;x\u0007\u001b[2J\u009b31m\r\nlotse: forged\n\u2028\u2029\u202e\u2066\u200b\ufeff\u{e0041}\u007f\u0000";

/** What of it a terminal obeys instead of showing it; line ends are looked for in lines. */
export const TERMINAL_OBEYS = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u;
