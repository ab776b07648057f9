import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boolean, integer, ipv4, oneOf, seconds } from "../../../../controller/formats/values.ts";

const ANY_SECONDS = seconds(0, 10 ** 9);

describe("boolean", () => {
  it.each(["1", "t", "T", "true", "True", "TRUE"])("reads %s as true", (text) => {
    expect(boolean(text)).toEqual({ value: true });
  });
  it.each(["0", "f", "F", "false", "False", "FALSE"])("reads %s as false", (text) => {
    expect(boolean(text)).toEqual({ value: false });
  });
  it.each(["", " true", "tRUE", "yes", "on", "truetrue", "constructor"])("refuses %j", (text) => {
    expect(boolean(text)).toEqual({ allowed: "true or false" });
  });
});

describe("integer", () => {
  const parse = integer(1, 5);
  it.each([
    ["1", 1],
    ["5", 5],
    ["+3", 3],
    ["005", 5],
  ])("takes %s", (text, value) => {
    expect(parse(text)).toEqual({ value });
  });
  it.each(["0", "6", "-1", "", " 1", "1 ", "1\n", "1.0", "1e0", "0x1", "٣", "99999999999999999999"])(
    "refuses %j and names the bounds",
    (text) => {
      expect(parse(text)).toEqual({ allowed: "a whole number from 1 to 5" });
    },
  );
});

describe("oneOf", () => {
  it.each(["tcp", "TCP", "Tcp"])("takes %s in any case", (text) => {
    expect(oneOf("tcp", "http")(text)).toEqual({ value: "tcp" });
  });
  it.each(["", "tpc", " tcp", "tcp,http", "__proto__"])("refuses %j and names the words", (text) => {
    expect(oneOf("tcp", "http")(text)).toEqual({ allowed: "one of tcp, http" });
  });
});

describe("seconds", () => {
  it.each([
    ["0", 0],
    ["0s", 0],
    ["15s", 15],
    ["1m30s", 90],
    ["1h", 3_600],
    ["1.5m", 90],
    ["1500ms", 1],
    ["999ms", 0],
    ["999ms1ms", 1],
    ["1m1m", 120],
    ["2000000us", 2],
    ["2000000µs", 2],
    ["3000000000ns", 3],
    ["2.05m", 123],
    ["0.145h", 522],
    ["+15s", 15],
    [".5m", 30],
    ["5.s", 5],
  ])("reads %s as %d s, as Go does", (text, value) => {
    expect(ANY_SECONDS(text)).toEqual({ value });
  });

  it.each([
    "",
    "15",
    "s",
    "1 s",
    " 1s",
    "1s ",
    "1s\n",
    "1d",
    "1S",
    "-1s",
    "1,5s",
    ".s",
    "1..5s",
    "++1s",
    "1e3s",
    "1m30",
  ])("refuses %j", (text) => {
    expect(ANY_SECONDS(text)).toHaveProperty("allowed");
  });

  it.each([
    ["2s", false],
    ["2999ms", false],
    ["3s", true],
    ["60s", true],
    ["1m", true],
    ["60999ms", true],
    ["61s", false],
  ])("checks %s against the bounds 3 s and 60 s: %s", (text, isFine) => {
    expect("value" in seconds(3, 60)(text)).toBe(isFine);
  });

  it("says what it allows", () => {
    expect(seconds(3, 60)("15")).toEqual({ allowed: "a duration with a unit, from 3s to 60s" });
  });

  it("truncates every duration to whole seconds, as exact arithmetic does", () => {
    const units = { h: 3_600_000n, m: 60_000n, s: 1_000n, ms: 1n } as const;
    const part = fc.record({
      whole: fc.nat(500),
      decimals: fc.string({ unit: fc.constantFrom(..."0123456789"), maxLength: 3 }),
      unit: fc.constantFrom("h", "m", "s", "ms" as const),
    });
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
        const text = parts.map(({ whole, decimals, unit }) => `${whole}${decimals && `.${decimals}`}${unit}`).join("");
        const thousandths = parts.reduce(
          (sum, { whole, decimals, unit }) => sum + BigInt(`${whole}${decimals.padEnd(3, "0")}`) * units[unit],
          0n,
        );
        expect(ANY_SECONDS(text)).toEqual({ value: Number(thousandths / 1_000_000n) });
      }),
    );
  });

  it("parses long hostile texts without delay", () => {
    const started = performance.now();
    for (const text of ["1".repeat(250_000), "1s".repeat(125_000), "1.".repeat(125_000)]) ANY_SECONDS(text);
    expect(performance.now() - started).toBeLessThan(500);
  });
});

describe("ipv4", () => {
  it("takes a dotted quad", () => {
    expect(ipv4("10.0.0.5")).toEqual({ value: "10.0.0.5" });
  });
  it.each([
    "",
    "10.0.0",
    "10",
    "010.0.0.1",
    "0x0a.0.0.1",
    "10.0.0.256",
    "10.0.0.5/24",
    " 10.0.0.5",
    "::1",
    "::ffff:10.0.0.5",
  ])("refuses %j", (text) => {
    expect(ipv4(text)).toEqual({ allowed: "an IPv4 address" });
  });
});
