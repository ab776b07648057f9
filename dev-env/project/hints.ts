/** What a user can do about errors of the API. */

const HINTS: Readonly<Record<string, string>> = {
  uniqueness_error: "the project has a resource with this name or key already: choose another --name",
  resource_limit_exceeded: "raise the limit in the Cloud Console, or ask for less; the same command then continues",
  resource_unavailable: "choose another --location or server type; the same command then continues",
  placement_error: "choose another --location or server type; the same command then continues",
  forbidden: "HCLOUD_TOKEN may be read-only: create one with read and write rights",
  token_readonly: "HCLOUD_TOKEN is read-only: create one with read and write rights",
  unauthorized: "check HCLOUD_TOKEN",
};

/** The remedy for an error code of the API; undefined if none is known. */
export function hintFor(code: string): string | undefined {
  return HINTS[code];
}
