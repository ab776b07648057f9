/** The effective configuration as `/configz` shows it to those who may see it: without secrets. */
import type { Config } from "./config.ts";

type Shown<T> = boolean | ((value: T) => unknown);

/** Every field is decided about: one that is new is no secret by oversight. */
const SHOWN: { readonly [K in keyof Config]-?: Shown<NonNullable<Config[K]>> } = {
  token: false,
  warnings: false,
  endpoint: address,
  metadataEndpoint: address,
  master: address,
  state: address,
  robot: ({ credentials, ...rest }) => ({ ...rest, endpoint: address(rest.endpoint), hasCredentials: !!credentials }),
  kubeconfig: true,
  clusterName: true,
  clusterCidrs: true,
  tokenFile: true,
  debug: true,
  network: true,
  checksAttachment: true,
  addressFamily: true,
  zoneLabel: true,
  labelPrefixes: true,
  nodes: true,
  lifecycle: true,
  loadBalancers: true,
  tlsSecrets: true,
  serviceDefaults: true,
  loadBalancerClasses: true,
  namespace: true,
  lease: true,
  serve: true,
  guard: true,
  isDryRun: true,
  approval: true,
  resyncMs: true,
  runDeadlineMs: true,
  nodeMonitorMs: true,
  logFormat: true,
  verbosity: true,
};

/** JSON under upstream's key; the fields are ours. */
export function renderConfigz(config: Config): string {
  const entries = Object.entries(config).flatMap(([name, value]) => {
    const shown = SHOWN[name as keyof Config] as Shown<unknown>;
    if (!shown || value === undefined) return [];
    return [[name, shown === true ? value : shown(value)]];
  });
  return JSON.stringify({ "cloudcontrollermanager.config.k8s.io": Object.fromEntries(entries) });
}

/** An address without what may be a credential in it: user, password and query. */
function address(text: string): string {
  return text.replace(/:\/\/[^/?]*@/, "://…@").replace(/\?.*$/s, "?…");
}
