/** The metadata service, which tells the machine it is asked from about itself. */

const TIMEOUT_MS = 5_000;

/** Networks that this machine is attached to. Throws when there is no metadata service: this is no server of Hetzner's. */
export async function fetchAttachedNetworks(endpoint: string): Promise<readonly number[]> {
  const response = await fetch(`${endpoint}/private-networks`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw new Error(`the metadata service answered with status ${response.status}`);
  // A list in YAML, of which one field is of interest.
  return [...(await response.text()).matchAll(/^[\s-]*network_id:\s*(\d+)\s*$/gm)].map(([, id]) => Number(id));
}
