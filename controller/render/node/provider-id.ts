/**
 * ProviderIDs, in a format that is shared with the official controller and must not change.
 *
 * | text | meaning |
 * | --- | --- |
 * | empty | not initialised |
 * | `hcloud://123` | cloud server 123 |
 * | `hrobot://45`, `hcloud://bm-45` (legacy) | dedicated server 45 |
 * | `hcloud://x` | our prefix, but malformed |
 * | anything else | another provider's node |
 */
export type ProviderId =
  | { readonly kind: "none" }
  | { readonly kind: "cloud"; readonly id: number }
  | { readonly kind: "robot"; readonly number: number }
  | { readonly kind: "malformed"; readonly text: string }
  | { readonly kind: "foreign"; readonly text: string };

/** Parses a ProviderID; absent or empty means none. */
export function parseProviderId(text: string | undefined): ProviderId {
  if (!text) return { kind: "none" };
  const cloud = /^hcloud:\/\/(\d+)$/.exec(text);
  const id = Number(cloud?.[1]);
  // An id beyond the safe integers would be rounded to that of another server.
  if (Number.isSafeInteger(id)) return { kind: "cloud", id };
  const robot = /^(?:hrobot:\/\/|hcloud:\/\/bm-)(\d+)$/.exec(text);
  if (robot) return { kind: "robot", number: Number(robot[1]) };
  return /^(hcloud|hrobot):\/\//.test(text) ? { kind: "malformed", text } : { kind: "foreign", text };
}

/** ProviderID of a cloud server. */
export function cloudProviderId(serverId: number): string {
  return `hcloud://${serverId}`;
}

/** ProviderID of a dedicated server. The legacy format is only read. */
export function robotProviderId(number: number): string {
  return `hrobot://${number}`;
}
