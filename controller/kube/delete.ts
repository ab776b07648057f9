import { KubeError } from "../errors.ts";
import type { KubeClient } from "./client.ts";

/** Deletes an object of ours. One that is not there is as good as deleted. */
export async function deleteIfThere(client: Pick<KubeClient, "delete">, path: string): Promise<void> {
  try {
    await client.delete(path);
  } catch (error) {
    if (!(error instanceof KubeError && error.status === 404)) throw error;
  }
}
