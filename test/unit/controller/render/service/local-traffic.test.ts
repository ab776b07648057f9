import { describe, expect, it } from "vitest";
import { renderListeners } from "../../../../../controller/render/service/listeners.ts";
import { localCheckPort } from "../../../../../controller/render/service/local-traffic.ts";
import { aService, someSettings } from "../../../../support/builders.ts";

const local = aService({ ports: [80, 443] });
const service = { ...local, spec: { ...local.spec, externalTrafficPolicy: "Local", healthCheckNodePort: 32_000 } };

describe("externalTrafficPolicy Local", () => {
  it("unlike HCCM H4, framework S59, S60: every listener checks kube-proxy on the health check node port", () => {
    const checks = renderListeners(service, someSettings({ healthCheckRetries: 5 })).map(
      ({ healthCheck }) => healthCheck,
    );
    const expected = {
      protocol: "http",
      port: 32_000,
      intervalSeconds: 15,
      timeoutSeconds: 10,
      retries: 5,
      http: { domain: "", path: "/healthz", response: "", tls: false, statusCodes: ["200"] },
    };
    expect(checks).toEqual([expected, expected]);
  });

  it("framework S60: nothing else does", () => {
    expect(localCheckPort(local)).toBeUndefined();
    const cluster = { spec: { externalTrafficPolicy: "Cluster", healthCheckNodePort: 32_000 } };
    expect(localCheckPort(cluster)).toBeUndefined();
    expect(localCheckPort({ spec: { externalTrafficPolicy: "Local" } })).toBeUndefined();
  });

  it("annotations for health checks take precedence", () => {
    const [first] = renderListeners(service, someSettings({ healthCheckPort: 8080 }));
    expect(first?.healthCheck).toMatchObject({ protocol: "tcp", port: 8080 });
  });
});
