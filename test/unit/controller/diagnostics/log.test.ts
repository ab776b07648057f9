import { PassThrough } from "node:stream";
import { expect, it, vi } from "vitest";
import { createLogger } from "../../../../controller/diagnostics/log.ts";
import { HOSTILE, TERMINAL_OBEYS } from "../../../support/hostile.ts";

async function logged(fields: object, level: "info" | "debug" = "info"): Promise<string> {
  const lines: string[] = [];
  const log = await createLogger({ format: "json", level, destination: { write: (line) => void lines.push(line) } });
  log.info(fields, "message");
  log.debug("detail");
  return lines.join("");
}

it.each([
  ["a token", { token: "s3cret" }],
  ["a token inside", { access: { token: "s3cret" } }],
  ["a header", { headers: { authorization: "Bearer s3cret" } }],
  ["a header inside", { request: { headers: { authorization: "Bearer s3cret" } } }],
  ["a key", { certificate: { privateKey: "s3cret" } }],
])("never writes %s", async (_, fields) => {
  const text = await logged(fields);
  expect(text).toContain("message");
  expect(text).not.toContain("s3cret");
});

it("writes one JSON line with the time, and debug messages only at that level", async () => {
  const lines = (await logged({ unit: "a" })).trim().split("\n");
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    unit: "a",
    msg: "message",
    time: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  expect((await logged({}, "debug")).trim().split("\n")).toHaveLength(2);
});

it.each(["json", "text"] as const)(
  "writes a %s line that no terminal obeys and that looks like no other",
  async (format) => {
    const destination = new PassThrough();
    const log = await createLogger({ format, level: "info", destination });
    log.child({ service: HOSTILE }).warn({ [HOSTILE]: { inside: [HOSTILE], error: HOSTILE } }, HOSTILE);
    log.info("second");
    let written = "";
    destination.on("data", (chunk) => {
      written += chunk;
    });
    await vi.waitFor(() => expect(written).toContain("second"));
    const lines = written.trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    expect(lines[0]?.match(/owned/g)?.length).toBeGreaterThan(4);
    for (const line of lines) expect(line).not.toMatch(TERMINAL_OBEYS);
  },
);
