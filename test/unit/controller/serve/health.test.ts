import { describe, expect, it } from "vitest";
import { answerHealth, CloudContact } from "../../../../controller/serve/health.ts";

const CHECKS = {
  livez: [{ name: "ping", look: () => undefined }],
  readyz: [
    { name: "ping", look: () => undefined },
    { name: "caches", look: () => "not heard of for 200 s" },
    { name: "cloud", look: () => undefined },
  ],
};
const ask = (url: string) => {
  const [path = "", query] = url.split("?");
  return answerHealth(path, new URLSearchParams(query), { checks: CHECKS });
};

describe("a health endpoint", () => {
  it.each([
    ["/livez", 200, "ok"],
    ["/livez?verbose", 200, "[+]ping ok\nlivez check passed\n"],
    ["/readyz", 500, "[+]ping ok\n[-]caches failed: not heard of for 200 s\n[+]cloud ok\nreadyz check failed\n"],
    ["/readyz?exclude=caches", 200, "ok"],
    ["/readyz?exclude=caches&verbose=true", 200, "[+]ping ok\n[+]cloud ok\nreadyz check passed\n"],
    ["/readyz/cloud", 200, "ok"],
    ["/readyz/caches", 500, "[-]caches failed: not heard of for 200 s\nreadyz check failed\n"],
  ])("framework 5.5: %s responds with %d", (url, status, body) => {
    expect(ask(url)).toEqual({ status, body });
  });

  it.each(["/healthz", "/readyz/other", "/", "/readyz/", "/constructor"])("%s is not one", (url) => {
    expect(ask(url)).toBeUndefined();
  });
});

it("counts the checks and their results", () => {
  const noted: unknown[] = [];
  const query = new URLSearchParams("exclude=ping");
  answerHealth("/readyz", query, { checks: CHECKS, note: (...told) => noted.push(told) });
  expect(noted).toEqual([
    ["readyz", "caches", false],
    ["readyz", "cloud", true],
  ]);
});

describe("contact with the cloud", () => {
  it("is lost after half a minute of failures, and back with the first response", () => {
    let now = 0;
    const contact = new CloudContact(() => now);
    contact.note({ status: 200 });
    for (now = 1_000; now <= 30_000; now += 1_000) contact.note({ status: now % 2_000 === 0 ? 0 : 503 });
    now = 30_900;
    expect(contact.look()).toBeUndefined();
    now = 31_000;
    expect(contact.look()).toContain("does not respond");
    contact.note({ status: 404 });
    expect(contact.look()).toBeUndefined();
  });

  it("is not lost when the project has reached a limit", () => {
    const contact = new CloudContact();
    contact.note({ status: 403, error: { code: "resource_limit_exceeded", message: "limit reached" } });
    expect(contact.look()).toBeUndefined();
  });

  it.each([401, 403])("is lost at once when the token is rejected with %d", (status) => {
    const contact = new CloudContact();
    contact.note({ status });
    expect(contact.look()).toContain("token");
    contact.note({ status: 200 });
    expect(contact.look()).toBeUndefined();
  });
});
