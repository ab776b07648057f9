import { describe, expect, it } from "vitest";
import { explainClosedPort } from "../../../../dev-env/demo/traffic.ts";

describe("explainClosedPort", () => {
  const denied = "127.16.1.1:80: listen EACCES: permission denied 127.16.1.1:80";

  it.each([
    [
      denied,
      "linux",
      '127.16.1.1:80 is closed, because ports below 1024 need root: use a port above 1023, or run "sudo sysctl net.ipv4.ip_unprivileged_port_start=80" and restart',
    ],
    [denied, "darwin", "127.16.1.1:80 is closed, because ports below 1024 need root: use a port above 1023"],
    [
      "127.16.1.1:8080: listen EADDRINUSE: address already in use 127.16.1.1:8080",
      "linux",
      "127.16.1.1:8080 is closed: listen EADDRINUSE: address already in use 127.16.1.1:8080",
    ],
  ] as const)("says what to do about %j on %s (newcomer B9)", (problem, platform, text) => {
    expect(explainClosedPort(problem, platform)).toBe(text);
  });
});
