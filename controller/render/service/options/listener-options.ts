/** Options of listeners, for all ports of a Service or for a single port. */

import { boolean, integer, oneOf, secondsOrNumber, statusCodes, word } from "../../../formats/values.ts";
import { CERTIFICATE_OPTIONS } from "./certificate-options.ts";
import { optionsOf } from "./option.ts";

const protocol = oneOf("tcp", "http", "https");

const listener = optionsOf("listener");
const health = optionsOf("health");

/** Rows by option name. */
export const LISTENER_OPTIONS = {
  protocol: listener("protocol", protocol, {
    unset: "`tcp`",
    doc: "Protocol of the listener.",
  }),
  proxyProtocol: listener("uses-proxyprotocol", boolean, {
    env: "USES_PROXYPROTOCOL",
    unset: "`false`",
    doc: "Pass the client's address to nodes with the PROXY protocol. If any port uses it, the status has `ipMode: Proxy`.",
  }),
  cookieName: listener("http-cookie-name", word(100), {
    unset: "`HCLBSTICKY`",
    doc: "Name of the sticky session cookie.",
  }),
  cookieLifetime: listener("http-cookie-lifetime", secondsOrNumber(30, 86_400), {
    unset: "`5m`",
    doc: "Lifetime of the sticky session cookie.",
  }),
  timeoutIdle: listener("http-timeout-idle", secondsOrNumber(30, 300), {
    unset: "`50s`",
    doc: "Idle timeout of HTTP connections.",
  }),
  redirectHttp: listener("http-redirect-http", boolean, {
    unset: "`false`",
    doc: "Redirect HTTP requests on port 80 to this https port.",
  }),
  stickySessions: listener("http-sticky-sessions", boolean, {
    unset: "`false`",
    doc: "Keep each client on one node, with a cookie.",
  }),
  ...CERTIFICATE_OPTIONS,
  healthCheckProtocol: health("health-check-protocol", protocol, {
    unset: "the port's protocol if any health check option is set, otherwise `tcp`",
    doc: "Protocol of health checks.",
  }),
  healthCheckPort: health("health-check-port", integer(1, 65_535), {
    unset: "the node port",
    doc: "Port of health checks.",
  }),
  healthCheckInterval: health("health-check-interval", secondsOrNumber(3, 60), {
    env: "HEALTH_CHECK_INTERVAL",
    envZeroIsUnset: true,
    unset: "`15s`",
    doc: "Interval between health checks.",
  }),
  healthCheckTimeout: health("health-check-timeout", secondsOrNumber(1, 60), {
    env: "HEALTH_CHECK_TIMEOUT",
    envZeroIsUnset: true,
    unset: "`10s`",
    doc: "Timeout of a health check.",
  }),
  healthCheckRetries: health("health-check-retries", integer(1, 5), {
    env: "HEALTH_CHECK_RETRIES",
    envZeroIsUnset: true,
    unset: "`3`",
    doc: "Failed checks before a target counts as unhealthy.",
  }),
  healthCheckDomain: health("health-check-http-domain", word(128, "%\\"), {
    unset: "none",
    doc: "Host header of HTTP health checks.",
  }),
  healthCheckPath: health("health-check-http-path", word(256), {
    unset: "`/`",
    doc: "Path of HTTP health checks.",
  }),
  healthCheckTls: health("health-check-http-validate-certificate", boolean, {
    unset: "`true` if the health check protocol is `https`",
    doc: "Use TLS for HTTP health checks.",
  }),
  healthCheckStatusCodes: health("http-status-codes", statusCodes, {
    unset: "`2??,3??`",
    doc: "Status codes that count as healthy.",
  }),
} as const;
