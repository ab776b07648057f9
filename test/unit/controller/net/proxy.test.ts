import { describe, expect, it } from "vitest";
import { proxyFor } from "../../../../controller/net/proxy.ts";

const PROXY = "http://proxy.example:3128";
const API = "https://api.hetzner.cloud/v1";
const via = (url: string, env: Record<string, string>) => proxyFor(new URL(url), env);

describe("the proxy", () => {
  it.each([
    [API, { HTTPS_PROXY: PROXY }, PROXY],
    [API, { https_proxy: PROXY }, PROXY],
    [API, { HTTPS_PROXY: PROXY, https_proxy: "http://other:1" }, PROXY],
    [API, { HTTPS_PROXY: "proxy.example:3128" }, PROXY],
    [API, { HTTPS_PROXY: "https://user:word@proxy.example" }, "https://user:word@proxy.example"],
    [API, { HTTP_PROXY: PROXY }, undefined],
    [API, { HTTPS_PROXY: "" }, undefined],
    [API, {}, undefined],
    ["http://cloud.internal/v1", { HTTP_PROXY: PROXY }, PROXY],
    ["http://cloud.internal/v1", { HTTPS_PROXY: PROXY }, undefined],
  ])("of %s with %j is %s", (url, env, proxy) => {
    expect(via(url, env as Record<string, string>)).toBe(proxy);
  });

  it.each(["https://127.0.0.1:8443/v1", "https://127.8.0.9/v1", "https://localhost/v1", "https://[::1]:8443/v1"])(
    "is never asked for %s",
    (url) => {
      expect(via(url, { HTTPS_PROXY: PROXY })).toBeUndefined();
    },
  );
});

describe("NO_PROXY", () => {
  const isDirect = (url: string, list: string) => via(url, { HTTPS_PROXY: PROXY, NO_PROXY: list }) === undefined;

  it.each([
    ["*", API],
    ["hetzner.cloud", API],
    [".hetzner.cloud", API],
    ["*.hetzner.cloud", API],
    ["api.hetzner.cloud", API],
    ["API.Hetzner.Cloud", API],
    ["api.hetzner.cloud", "https://API.hetzner.cloud./v1"],
    ["example.com, api.hetzner.cloud", API],
    ["api.hetzner.cloud:443", API],
    ["10.0.0.7", "https://10.0.0.7/v1"],
    ["10.0.0.0/8", "https://10.0.0.7:8443/v1"],
    ["10.0.0.7:8443", "https://10.0.0.7:8443/v1"],
    ["fd00::/8", "https://[fd00::7]/v1"],
    ["[fd00::7]:8443", "https://[fd00::7]:8443/v1"],
  ])("%s exempts %s", (list, url) => {
    expect(isDirect(url, list)).toBe(true);
  });

  it.each([
    ["", API],
    [",, ,", API],
    ["hetzner.com", API],
    ["etzner.cloud", API],
    [".api.hetzner.cloud", API],
    ["*.api.hetzner.cloud", API],
    ["api.hetzner.cloud:8443", API],
    ["10.0.0.0/8", API],
    ["10.0.0.0/8", "https://11.0.0.7/v1"],
    ["10.0.0.0/8", "https://[fd00::7]/v1"],
    ["10.0.0.7", "https://10.0.0.70/v1"],
  ])("%s does not exempt %s", (list, url) => {
    expect(isDirect(url, list)).toBe(false);
  });

  it("may be lower case", () => {
    expect(via(API, { HTTPS_PROXY: PROXY, no_proxy: "hetzner.cloud" })).toBeUndefined();
  });
});
