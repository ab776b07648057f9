/** The effective configuration as `/configz` serves it: without secrets. */
import { withoutCredentials } from "../../stacks/state/credentials.ts";
import type { Config } from "./config.ts";
import { secret } from "./flag-values.ts";
import type { Setting } from "./setting.ts";
import { CLOUD, ROBOT } from "./settings.ts";

const SECRETS = Object.entries<Setting<unknown>>({ ...CLOUD, ...ROBOT }).filter(([, { parse }]) => parse === secret);
const HIDDEN = new Set(["warnings", ...SECRETS.map(([name]) => name)]);

/** JSON under upstream's key, with our own fields. */
export function renderConfigz({ robot, ...config }: Config): string {
  const { credentials, ...others } = robot ?? {};
  const shown = { ...config, ...(robot && { robot: { ...others, hasCredentials: !!credentials } }) };
  return JSON.stringify({ "cloudcontrollermanager.config.k8s.io": shown }, (name, value: unknown) =>
    HIDDEN.has(name) ? undefined : typeof value === "string" ? withoutCredentials(value) : value,
  );
}
