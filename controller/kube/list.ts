/** Whole lists, page by page. */
import type { KubeClient } from "./client.ts";

export interface ObjectList<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly T[];
}

/** Objects per page of a list. */
const PAGE = 500;

/** All objects under a path, with the version of the list, from which a watch can go on. */
export async function readList<T>(client: KubeClient, path: string): Promise<ObjectList<T>> {
  const items: T[] = [];
  let page: ObjectList<T> | undefined;
  do {
    page = await client.get<ObjectList<T>>(path, { limit: PAGE, continue: page?.metadata?.continue || undefined });
    items.push(...page.items);
  } while (page.metadata?.continue);
  return { ...page, items };
}

/** The objects alone, for those who look once. Whoever wants to stay current takes an informer. */
export async function listAll<T>(client: KubeClient, path: string): Promise<readonly T[]> {
  return (await readList<T>(client, path)).items;
}
