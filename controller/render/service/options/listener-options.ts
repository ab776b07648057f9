/** Options of listeners, for all ports of a Service or for a single port. */

import { boolean, integer, oneOf, secondsOrNumber, statusCodes, word } from "../../../formats/values.ts";
import { CERTIFICATE_OPTIONS } from "./certificate-options.ts";
import { option } from "./option.ts";

const protocol = oneOf("tcp", "http", "https");

/** Rows by option name. */
export const LISTENER_OPTIONS = {
  protocol: option({
    annotation: "protocol",
    group: "listener",
    parse: protocol,
    unset: "`tcp`",
    doc: "Protocol of the listener.",
  }),
  proxyProtocol: option({
    annotation: "uses-proxyprotocol",
    group: "listener",
    parse: boolean,
    env: "USES_PROXYPROTOCOL",
    unset: "`false`",
    doc: "Pass the client's address to nodes with the PROXY protocol. If any port uses it, the status has `ipMode: Proxy`.",
  }),
  cookieName: option({
    annotation: "http-cookie-name",
    group: "listener",
    parse: word(100),
    unset: "`HCLBSTICKY`",
    doc: "Name of the sticky session cookie.",
  }),
  cookieLifetime: option({
    annotation: "http-cookie-lifetime",
    group: "listener",
    parse: secondsOrNumber(30, 86_400),
    unset: "`5m`",
    doc: "Lifetime of the sticky session cookie.",
  }),
  timeoutIdle: option({
    annotation: "http-timeout-idle",
    group: "listener",
    parse: secondsOrNumber(30, 300),
    unset: "`50s`",
    doc: "Idle timeout of HTTP connections.",
  }),
  redirectHttp: option({
    annotation: "http-redirect-http",
    group: "listener",
    parse: boolean,
    unset: "`false`",
    doc: "Redirect HTTP requests on port 80 to this https port.",
  }),
  stickySessions: option({
    annotation: "http-sticky-sessions",
    group: "listener",
    parse: boolean,
    unset: "`false`",
    doc: "Keep each client on one node, with a cookie.",
  }),
  ...CERTIFICATE_OPTIONS,
  healthCheckProtocol: option({
    annotation: "health-check-protocol",
    group: "health",
    parse: protocol,
    unset: "the port's protocol if any health check option is set, otherwise `tcp`",
    doc: "Protocol of health checks.",
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
    parse: secondsOrNumber(3, 60),
    env: "HEALTH_CHECK_INTERVAL",
    envZeroIsUnset: true,
    unset: "`15s`",
    doc: "Interval between health checks.",
  }),
  healthCheckTimeout: option({
    annotation: "health-check-timeout",
    group: "health",
    parse: secondsOrNumber(1, 60),
    env: "HEALTH_CHECK_TIMEOUT",
    envZeroIsUnset: true,
    unset: "`10s`",
    doc: "Timeout of a health check.",
  }),
  healthCheckRetries: option({
    annotation: "health-check-retries",
    group: "health",
    parse: integer(1, 5),
    env: "HEALTH_CHECK_RETRIES",
    envZeroIsUnset: true,
    unset: "`3`",
    doc: "Failed checks before a target counts as unhealthy.",
  }),
  healthCheckDomain: option({
    annotation: "health-check-http-domain",
    group: "health",
    parse: word(128, "%\\"),
    unset: "none",
    doc: "Host header of HTTP health checks.",
  }),
  healthCheckPath: option({
    annotation: "health-check-http-path",
    group: "health",
    parse: word(256),
    unset: "`/`",
    doc: "Path of HTTP health checks.",
  }),
  healthCheckTls: option({
    annotation: "health-check-http-validate-certificate",
    group: "health",
    parse: boolean,
    unset: "`true` if the health check protocol is `https`",
    doc: "Use TLS for HTTP health checks.",
  }),
  healthCheckStatusCodes: option({
    annotation: "http-status-codes",
    group: "health",
    parse: statusCodes,
    unset: "`2??,3??`",
    doc: "Status codes that count as healthy.",
  }),
} as const;
