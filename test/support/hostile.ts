/** Malicious texts: control characters, lone surrogates, prototype names, excessive length. */
import fc from "fast-check";

/** Arbitrary UTF-16; quick to set up, unlike fast-check's table of all code points. */
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

/** Clears a terminal, renames its window, forges a line, hides text and reverses its direction. */
export const HOSTILE =
  "owned\u001b]0;x\u0007\u001b[2J\u009b31m\r\nlotse: forged\n\u2028\u2029\u202e\u2066\u200b\ufeff\u{e0041}\u007f\u0000";

/** Characters that a terminal interprets instead of showing, except line ends. */
export const TERMINAL_OBEYS = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u;
