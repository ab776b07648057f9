import type { KubeClient } from "./client.ts";

interface Page<T> {
  readonly metadata?: { readonly continue?: string };
  readonly items: readonly T[];
}

/** Objects per page of a list. */
const PAGE = 500;

/** All objects under a path, as they are now: for those who look once. Whoever wants to stay current takes an informer. */
export async function listAll<T>(client: KubeClient, path: string): Promise<readonly T[]> {
  const found: T[] = [];
  let page: Page<T> | undefined;
  do {
    page = await client.get<Page<T>>(path, { limit: PAGE, continue: page?.metadata?.continue || undefined });
    found.push(...page.items);
  } while (page.metadata?.continue);
  return found;
}
