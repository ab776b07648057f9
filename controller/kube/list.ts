/** Complete lists of objects, read page by page. */
import type { KubeClient } from "./client.ts";

/** A list, or one page of it. */
export interface ObjectList<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly T[];
}

/** Objects per page of a list. */
const PAGE = 500;

/** All objects under a path, with the resourceVersion to start a watch from. */
export async function readList<T>(client: KubeClient, path: string): Promise<ObjectList<T>> {
  const items: T[] = [];
  let page: ObjectList<T> | undefined;
  do {
    page = await client.get<ObjectList<T>>(path, { limit: PAGE, continue: page?.metadata?.continue || undefined });
    items.push(...page.items);
  } while (page.metadata?.continue);
  return { ...page, items };
}

/** The objects alone, for a one-time read. Use an informer to stay current. */
export async function listAll<T>(client: KubeClient, path: string): Promise<readonly T[]> {
  return (await readList<T>(client, path)).items;
}
