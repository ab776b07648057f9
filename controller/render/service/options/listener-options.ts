/** Options of listeners: for all ports of a Service, or for one of them. */

import { boolean, integer, oneOf, seconds, statusCodes, word } from "../../../formats/values.ts";
import { CERTIFICATE_OPTIONS } from "./certificate-options.ts";
import { option } from "./option.ts";

const protocol = oneOf("tcp", "http", "https");

export const LISTENER_OPTIONS = {
  protocol: option({
    annotation: "protocol",
    group: "listener",
    parse: protocol,
    unset: "`tcp`",
    doc: "What the balancer speaks.",
  }),
  proxyProtocol: option({
    annotation: "uses-proxyprotocol",
    group: "listener",
    parse: boolean,
    env: "USES_PROXYPROTOCOL",
    unset: "`false`",
    doc: "Tell nodes the client's address with the PROXY protocol. As soon as one port does, the status says `ipMode: Proxy`.",
  }),
  cookieName: option({
    annotation: "http-cookie-name",
    group: "listener",
    parse: word(100),
    unset: "`HCLBSTICKY`",
    doc: "Cookie of sticky sessions.",
  }),
  cookieLifetime: option({
    annotation: "http-cookie-lifetime",
    group: "listener",
    parse: seconds(30, 86_400),
    unset: "`5m`",
    doc: "Lifetime of that cookie.",
  }),
  timeoutIdle: option({
    annotation: "http-timeout-idle",
    group: "listener",
    parse: seconds(30, 300),
    unset: "`50s`",
    doc: "Idle timeout of http connections.",
  }),
  redirectHttp: option({
    annotation: "http-redirect-http",
    group: "listener",
    parse: boolean,
    unset: "`false`",
    doc: "Redirect http on port 80 to this https port.",
  }),
  stickySessions: option({
    annotation: "http-sticky-sessions",
    group: "listener",
    parse: boolean,
    unset: "`false`",
    doc: "Keep a client on one node, by a cookie.",
  }),
  ...CERTIFICATE_OPTIONS,
  healthCheckProtocol: option({
    annotation: "health-check-protocol",
    group: "health",
    parse: protocol,
    unset: "the port's, if any option of health checks is set; else `tcp`",
    doc: "What health checks speak.",
  }),
  healthCheckPort: option({
    annotation: "health-check-port",
    group: "health",
    parse: integer(1, 65_535),
    unset: "the node port",
    doc: "Port of health checks.",
  }),
  healthCheckInterval: option({
    annotation: "health-check-interval",
    group: "health",
    parse: seconds(3, 60),
    env: "HEALTH_CHECK_INTERVAL",
    envZeroIsUnset: true,
    unset: "`15s`",
    doc: "Time between health checks.",
  }),
  healthCheckTimeout: option({
    annotation: "health-check-timeout",
    group: "health",
    parse: seconds(1, 60),
    env: "HEALTH_CHECK_TIMEOUT",
    envZeroIsUnset: true,
    unset: "`10s`",
    doc: "Time for an answer.",
  }),
  healthCheckRetries: option({
    annotation: "health-check-retries",
    group: "health",
    parse: integer(1, 5),
    env: "HEALTH_CHECK_RETRIES",
    envZeroIsUnset: true,
    unset: "`3`",
    doc: "Failures before a target is out.",
  }),
  healthCheckDomain: option({
    annotation: "health-check-http-domain",
    group: "health",
    parse: word(128, "%\\"),
    unset: "none",
    doc: "Host header of http health checks.",
  }),
  healthCheckPath: option({
    annotation: "health-check-http-path",
    group: "health",
    parse: word(256),
    unset: "`/`",
    doc: "Path of http health checks.",
  }),
  healthCheckTls: option({
    annotation: "health-check-http-validate-certificate",
    group: "health",
    parse: boolean,
    unset: "whether health checks speak https",
    doc: "Make http health checks over TLS.",
  }),
  healthCheckStatusCodes: option({
    annotation: "http-status-codes",
    group: "health",
    parse: statusCodes,
    unset: "`2??,3??`",
    doc: "Status codes that mean healthy.",
  }),
} as const;
