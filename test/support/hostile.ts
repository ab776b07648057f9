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
