/** Flags that other cloud-controller-managers have and that mean nothing here: manifests may keep them. */
import { anything } from "./flag-values.ts";
import { setting, type Table } from "./setting.ts";

/** By the reason why they have no effect, each as it is written. */
const REASONS = {
  "settings come from the environment": "cloud-config <file>",
  "Hetzner Cloud has no cluster tags": "allow-untagged-cloud [bool]",
  "pod ranges are given out by the controller manager":
    "allocate-node-cidrs [bool], cidr-allocator-type <name>, node-cidr-mask-size <bits>",
  "routes follow nodes at once, and --resync": "route-reconciliation-period <duration>",
  "addresses and labels follow at every --resync":
    "node-status-update-frequency <duration>, node-sync-period <duration>",
  "objects are worked on together, not by workers":
    "concurrent-service-syncs <count>, concurrent-node-syncs <count>, concurrent-node-status-updates <count>",
  "everything starts at once": "controller-start-interval <duration>",
  "watches are renewed by themselves, and --resync compares": "min-resync-period <duration>",
  "requests are few: one per change, and none at rest": "kube-api-qps <rate>, kube-api-burst <count>",
  "requests are JSON": "kube-api-content-type <type>",
  "one service account with few rights does everything": "use-service-account-credentials [bool]",
  "there are no volumes here": "external-cloud-volume-plugin <name>",
  "routes are always watch-based, and there are no other gates": "feature-gates <gates>",
  "there are no profiling endpoints": "profiling [bool], contention-profiling [bool]",
  "there is nothing to migrate from": "enable-leader-migration [bool], leader-migration-config <file>",
  "there are no webhooks": `webhooks <list>, webhook-bind-address <ip>, webhook-secure-port <port>,
    webhook-cert-dir <dir>, webhook-tls-cert-file <file>, webhook-tls-private-key-file <file>,
    webhook-tls-min-version <version>, webhook-tls-cipher-suites <names>, webhook-tls-sni-cert-key <files>,
    webhook-http2-max-streams-per-connection <count>, webhook-disable-http2-serving [bool],
    webhook-permit-port-sharing [bool], webhook-permit-address-sharing [bool]`,
  "callers are known by their tokens, or by certificates of --client-ca-file": `authentication-skip-lookup [bool],
    authentication-tolerate-lookup-failure [bool], requestheader-client-ca-file <file>,
    requestheader-allowed-names <names>, requestheader-extra-headers-prefix <names>,
    requestheader-group-headers <names>, requestheader-uid-headers <names>, requestheader-username-headers <names>`,
  "Node's own list is used, which has no weak ones": "tls-cipher-suites <names>, tls-curve-preferences <names>",
  "there is one certificate, whatever name is asked for": "tls-sni-cert-key <files>",
  "health and metrics are served over HTTP/1.1":
    "http2-max-streams-per-connection <count>, disable-http2-serving [bool]",
  "a port that is taken is an error": "permit-port-sharing [bool], permit-address-sharing [bool]",
  "lines are written at once, to standard error": `log-flush-frequency <duration>, log-json-info-buffer-size <size>,
    log-json-split-stream [bool], log-text-info-buffer-size <size>, log-text-split-stream [bool]`,
  "-v is for all parts alike": "vmodule <levels>",
  "metrics are few and stable": `show-hidden-metrics-for-version <version>, disabled-metrics <names>,
    allow-metric-labels <labels>, allow-metric-labels-manifest <file>`,
};

/** A row for each. */
export const UPSTREAM: Table = Object.fromEntries(
  Object.entries(REASONS).flatMap(([ignored, flags]) =>
    flags.split(/,\s+/).map((flag) => {
      return [flag, setting(`--${flag}`, anything).doc("accepted, without effect", { ignored })];
    }),
  ),
);
