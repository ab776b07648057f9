import { describe, expect, it } from "vitest";
import { renderListeners, tcpPorts } from "../../../../../controller/render/service/listeners.ts";
import type { ServiceOptions } from "../../../../../controller/render/service/options/annotations.ts";
import type { ListenerSpec } from "../../../../../stacks/units/spec.ts";
import { aListener, aService, someSettings } from "../../../../support/builders.ts";

const one = (options: ServiceOptions) =>
  renderListeners(aService(), someSettings(options), { certificates: new Map([[80, [5]]]) })[0];

describe("renderListeners", () => {
  it("HCCM V2: listens on the Service's port and forwards to its node port, with every default set", () => {
    expect(renderListeners(aService({ ports: [80] }), someSettings())).toEqual([
      {
        listenPort: 80,
        destinationPort: 30_080,
        protocol: "tcp",
        proxyProtocol: false,
        healthCheck: { protocol: "tcp", port: 30_080, intervalSeconds: 15, timeoutSeconds: 10, retries: 3 },
      },
    ]);
  });

  it("sorts by listen port, so that the order of ports does not matter", () => {
    expect(renderListeners(aService({ ports: [443, 80] }), someSettings())).toEqual([aListener(80), aListener(443)]);
  });

  it("HCCM V1: leaves out ports that are not TCP, which is the default", () => {
    const ports = [
      { port: 53, nodePort: 30_053, protocol: "UDP" },
      { port: 53, nodePort: 30_054 },
      { port: 9, protocol: "SCTP" },
    ];
    const service = aService({ ports });
    expect(tcpPorts(service)).toEqual([{ port: 53, nodePort: 30_054 }]);
    expect(renderListeners(service, someSettings())).toMatchObject([{ listenPort: 53, destinationPort: 30_054 }]);
  });

  it("renders nothing for a Service without ports", () => {
    expect(renderListeners({ spec: {} }, someSettings())).toEqual([]);
  });

  it("HCCM A17: uses the PROXY protocol on request", () => {
    expect(one({ proxyProtocol: true })).toEqual(aListener(80, { proxyProtocol: true }));
  });

  it("sets the API's http defaults explicitly, so that removing an annotation restores them", () => {
    expect(one({ protocol: "http" })?.http).toEqual({
      stickySessions: false,
      cookieName: "HCLBSTICKY",
      cookieLifetimeSeconds: 300,
      timeoutIdleSeconds: 50,
      redirectHttp: false,
      certificateIds: [],
    });
  });

  it("HCCM A18 to A22: applies http options", () => {
    const options = {
      cookieName: "SID",
      cookieLifetime: 60,
      timeoutIdle: 30,
      redirectHttp: true,
      stickySessions: true,
    };
    expect(one({ protocol: "https", ...options })?.http).toEqual({
      stickySessions: true,
      cookieName: "SID",
      cookieLifetimeSeconds: 60,
      timeoutIdleSeconds: 30,
      redirectHttp: true,
      certificateIds: [5],
    });
  });

  it("unlike HCCM V4: has no http block on a TCP listener", () => {
    expect(one({ protocol: "tcp", cookieName: "SID" })).toEqual(aListener(80));
  });

  it("has no empty cookie name and no empty path, which the API rejects", () => {
    const listener = one({ protocol: "http", cookieName: "", healthCheckPath: "" });
    expect(listener?.http?.cookieName).toBe("HCLBSTICKY");
    expect(listener?.healthCheck.http?.path).toBe("/");
  });
});

describe("a port with a mistake", () => {
  const kept = aListener(80, { protocol: "http", proxyProtocol: true });
  const existing = [kept, aListener(443)];

  it("keeps its listener, and the other ports are updated", () => {
    const settings = {
      ...someSettings({ proxyProtocol: true }),
      ports: new Map([[80, someSettings({}, ["healthCheckPort"])]]),
    };
    expect(renderListeners(aService({ ports: [80, 443] }), settings, { existing })).toEqual([
      kept,
      aListener(443, { proxyProtocol: true }),
    ]);
  });

  it("has no listener yet if it is new", () => {
    expect(renderListeners(aService({ ports: [81] }), someSettings({}, ["protocol"]), { existing })).toEqual([]);
  });

  it("still follows its node port, and so do its health checks if they used it", () => {
    const moved = aService({ ports: [{ port: 80, nodePort: 31_000 }] });
    const settings = someSettings({}, ["protocol"]);
    const { healthCheck } = kept;
    expect(renderListeners(moved, settings, { existing })).toEqual([
      { ...kept, destinationPort: 31_000, healthCheck: { ...healthCheck, port: 31_000 } },
    ]);
    const elsewhere = { ...kept, healthCheck: { ...healthCheck, port: 8080 } };
    expect(renderListeners(moved, settings, { existing: [elsewhere] })).toEqual([
      { ...elsewhere, destinationPort: 31_000 },
    ]);
  });

  it("is not affected by a mistake that does not concern listeners", () => {
    expect(renderListeners(aService(), someSettings({}, ["algorithm", "hostname"]), { existing: [kept] })).toEqual([
      aListener(80),
    ]);
  });
});

describe("an https port that waits for a certificate", () => {
  const https = someSettings({ protocol: "https" });
  const render = (listener: ListenerSpec) => renderListeners(aService(), https, { existing: [listener] });

  it("has no listener yet if it is new, and the other ports have theirs", () => {
    const settings = { ...someSettings(), ports: new Map([[443, https]]) };
    expect(renderListeners(aService({ ports: [80, 443] }), settings)).toEqual([aListener(80)]);
  });

  it("keeps its protocol until it can become https", () => {
    expect(render(aListener(80, { protocol: "http" }))).toEqual([aListener(80, { protocol: "http" })]);
  });

  it("is not https with nothing to present", () => {
    expect(render(aListener(80, { protocol: "https" }))).toEqual([]);
  });
});

describe("health checks", () => {
  it.each([
    ["H1: nothing set, TCP", {}, "tcp", undefined],
    ["H1: nothing set on an http listener, TCP", { protocol: "http" as const }, "tcp", undefined],
    ["H2: anything set, the listener's protocol", { protocol: "http" as const, healthCheckRetries: 2 }, "http", false],
    ["H2: anything set on a TCP listener", { healthCheckRetries: 2 }, "tcp", undefined],
    ["unlike H3: a path alone counts as set", { protocol: "http" as const, healthCheckPath: "/x" }, "http", false],
    ["H2: an https listener is checked over TLS", { protocol: "https" as const, healthCheckPort: 1 }, "http", true],
    [
      "A28: its own protocol wins",
      { protocol: "http" as const, healthCheckProtocol: "tcp" as const },
      "tcp",
      undefined,
    ],
    ["A28: http on a TCP listener", { healthCheckProtocol: "http" as const }, "http", false],
    ["A28: https is http over TLS", { healthCheckProtocol: "https" as const }, "http", true],
    ["A35: TLS switched off", { healthCheckProtocol: "https" as const, healthCheckTls: false }, "http", false],
    ["A35: TLS switched on", { healthCheckProtocol: "http" as const, healthCheckTls: true }, "http", true],
  ])("HCCM %s", (_, options, protocol, tls) => {
    const check = one(options)?.healthCheck;
    expect(check?.protocol).toBe(protocol);
    expect(check?.http?.tls).toBe(tls);
  });

  it("HCCM A29 to A32: applies port, interval, timeout and retries", () => {
    const options = { healthCheckPort: 8080, healthCheckInterval: 5, healthCheckTimeout: 4, healthCheckRetries: 1 };
    expect(one(options)?.healthCheck).toEqual({
      protocol: "tcp",
      port: 8080,
      intervalSeconds: 5,
      timeoutSeconds: 4,
      retries: 1,
    });
  });

  it("HCCM A33 to A36: applies http options", () => {
    const options = { healthCheckDomain: "example.com", healthCheckPath: "/up", healthCheckStatusCodes: ["204"] };
    expect(one({ protocol: "http", ...options })?.healthCheck.http).toEqual({
      domain: "example.com",
      path: "/up",
      response: "",
      tls: false,
      statusCodes: ["204"],
    });
  });

  it("expects success or a redirect when no status codes are set", () => {
    expect(one({ healthCheckProtocol: "http" })?.healthCheck.http?.statusCodes).toEqual(["2??", "3??"]);
  });
});
