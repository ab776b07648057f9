/** Flags of other cloud-controller-managers, accepted without effect so that manifests need no change. */
import { anything } from "./flag-values.ts";
import { setting, type Table } from "./setting.ts";

/** Flags by the reason why they have no effect. */
const REASONS = {
  "configuration comes from environment variables": "cloud-config <file>",
  "Hetzner Cloud has no cluster tags": "allow-untagged-cloud [bool]",
  "kube-controller-manager allocates pod CIDRs":
    "allocate-node-cidrs [bool], cidr-allocator-type <name>, node-cidr-mask-size <bits>",
  "routes are updated when Nodes change and at every --resync": "route-reconciliation-period <duration>",
  "addresses and labels are updated at every --resync":
    "node-status-update-frequency <duration>, node-sync-period <duration>",
  "all objects are reconciled together, not by workers":
    "concurrent-service-syncs <count>, concurrent-node-syncs <count>, concurrent-node-status-updates <count>",
  "all controllers start at once": "controller-start-interval <duration>",
  "watches reconnect automatically, and --resync compares everything": "min-resync-period <duration>",
  "requests are few: one per change, none at rest": "kube-api-qps <rate>, kube-api-burst <count>",
  "requests are always JSON": "kube-api-content-type <type>",
  "all controllers use one service account with minimal permissions": "use-service-account-credentials [bool]",
  "volumes are not managed here": "external-cloud-volume-plugin <name>",
  "there are no feature gates; routes are always watch-based": "feature-gates <gates>",
  "there are no profiling endpoints": "profiling [bool], contention-profiling [bool]",
  "there are no controllers to migrate": "enable-leader-migration [bool], leader-migration-config <file>",
  "there are no webhooks": `webhooks <list>, webhook-bind-address <ip>, webhook-secure-port <port>,
    webhook-cert-dir <dir>, webhook-tls-cert-file <file>, webhook-tls-private-key-file <file>,
    webhook-tls-min-version <version>, webhook-tls-cipher-suites <names>, webhook-tls-sni-cert-key <files>,
    webhook-http2-max-streams-per-connection <count>, webhook-disable-http2-serving [bool],
    webhook-permit-port-sharing [bool], webhook-permit-address-sharing [bool]`,
  "clients are authenticated by token, or by certificate with --client-ca-file": `authentication-skip-lookup [bool],
    authentication-tolerate-lookup-failure [bool], requestheader-client-ca-file <file>,
    requestheader-allowed-names <names>, requestheader-extra-headers-prefix <names>,
    requestheader-group-headers <names>, requestheader-uid-headers <names>, requestheader-username-headers <names>`,
  "the defaults of Node.js apply, which exclude weak ciphers and curves":
    "tls-cipher-suites <names>, tls-curve-preferences <names>",
  "one certificate serves all names": "tls-sni-cert-key <files>",
  "health and metrics are served over HTTP/1.1":
    "http2-max-streams-per-connection <count>, disable-http2-serving [bool]",
  "a port that is already in use is an error": "permit-port-sharing [bool], permit-address-sharing [bool]",
  "log lines are written unbuffered to standard error": `log-flush-frequency <duration>, log-json-info-buffer-size <size>,
    log-json-split-stream [bool], log-text-info-buffer-size <size>, log-text-split-stream [bool]`,
  "--v applies to all modules": "vmodule <levels>",
  "metrics are few and stable": `show-hidden-metrics-for-version <version>, disabled-metrics <names>,
    allow-metric-labels <labels>, allow-metric-labels-manifest <file>`,
};

/** One row per flag. */
export const UPSTREAM: Table = Object.fromEntries(
  Object.entries(REASONS).flatMap(([ignored, flags]) =>
    flags.split(/,\s+/).map((flag) => {
      return [flag, setting(`--${flag}`, anything).doc("accepted, no effect", { ignored })];
    }),
  ),
);
