/** Lists: filters, sorting, pages and the `Link` header. */
import type { Resource } from "../state/records.ts";
import { invalidField } from "./errors.ts";
import { selectorOf } from "./labels.ts";

/** Sortable fields and filters of a resource. */
export interface ListRules<T> {
  readonly sort: Readonly<Record<string, (row: T) => string | number>>;
  /** Filters by query parameter. Several values of a parameter mean OR. */
  readonly filters: Readonly<Record<string, (values: readonly string[]) => (row: T) => boolean>>;
  /** The maximum size of a page; by default 50. */
  readonly maxPerPage?: number;
}

const DEFAULT_PER_PAGE = 25;
const MAX_PER_PAGE = 50;

/**
 * Filters and sorts the rows, and returns the requested page, limited to the maximum size, with its `meta.pagination`.
 */
export function listPage<T>(rows: Iterable<T>, query: URLSearchParams, rules: ListRules<T>) {
  const page = positive(query, "page", 1);
  const perPage = Math.min(positive(query, "per_page", DEFAULT_PER_PAGE), rules.maxPerPage ?? MAX_PER_PAGE);
  const found = sortRows(filterRows(rows, query, rules), query, rules);
  const lastPage = Math.max(1, Math.ceil(found.length / perPage));
  return {
    rows: found.slice((page - 1) * perPage, page * perPage),
    pagination: {
      page,
      per_page: perPage,
      previous_page: page > 1 ? page - 1 : null,
      next_page: page < lastPage ? page + 1 : null,
      last_page: lastPage,
      total_entries: found.length,
    },
  };
}

function positive(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name);
  if (text === null || text === "") return fallback;
  const value = Number(text);
  if (!/^\d{1,15}$/.test(text) || value < 1) throw invalidField(name, "Must be at least 1.");
  return value;
}

/** Applies all filters in the query; unknown parameters are ignored. */
function filterRows<T>(rows: Iterable<T>, query: URLSearchParams, rules: ListRules<T>): readonly T[] {
  const keeps = Object.entries(rules.filters)
    .filter(([parameter]) => query.has(parameter))
    .map(([parameter, filter]) => filter(query.getAll(parameter)));
  const all = [...rows];
  return keeps.length === 0 ? all : all.filter((row) => keeps.every((keep) => keep(row)));
}

/** Sorts by all `sort` parameters, the first being the most significant. The default is the order of ids. */
export function sortRows<T>(rows: readonly T[], query: URLSearchParams, rules: ListRules<T>): readonly T[] {
  const orders = query.getAll("sort").map((text) => parseSort(text, rules));
  if (orders.length === 0) return rows;
  return [...rows].sort((a, b) => {
    for (const order of orders) {
      const verdict = order(a, b);
      if (verdict !== 0) return verdict;
    }
    return 0;
  });
}

function parseSort<T>(text: string, rules: ListRules<T>): (a: T, b: T) => number {
  const [field = "", direction = "asc", ...rest] = text.split(":");
  const value = Object.hasOwn(rules.sort, field) ? rules.sort[field] : undefined;
  if (!value || rest.length > 0 || (direction !== "asc" && direction !== "desc")) {
    throw invalidField("sort", `'${text}' is not a sort order.`);
  }
  const sign = direction === "asc" ? 1 : -1;
  return (a, b) => {
    const [left, right] = [value(a), value(b)];
    return left === right ? 0 : left < right ? -sign : sign;
  };
}

/** The `Link` header: prev, next and last page of the same query. */
export function renderLinks(url: URL, { pagination }: ReturnType<typeof listPage>): string {
  const link = (page: number | null, rel: string): string[] => {
    if (page === null) return [];
    const target = new URL(url);
    target.searchParams.set("page", String(page));
    return [`<${target.href}>; rel="${rel}"`];
  };
  return [
    ...link(pagination.previous_page, "prev"),
    ...link(pagination.next_page, "next"),
    ...link(pagination.last_page, "last"),
  ].join(", ");
}

/** Filters by a text field, which must equal one of the values. */
export function textFilter<T>(value: (row: T) => string | null): ListRules<T>["filters"][string] {
  return (values) => (row) => values.includes(value(row) ?? "");
}

/** Filters by labels. Throws if the selector is invalid. */
export function labelFilter<T extends Pick<Resource, "labels">>(): ListRules<T>["filters"][string] {
  return (values) => {
    const selectors = values.filter((text) => text !== "").map((text) => selectorOf(text));
    return (row) => selectors.every((selector) => selector(row.labels));
  };
}

/** The rules of most resources: filters by name and labels, sorting by id, name and creation. */
export function commonRules<T extends Resource>(filters: ListRules<T>["filters"] = {}): ListRules<T> {
  return {
    sort: { id: (row) => row.id, name: (row) => row.name, created: (row) => row.created },
    filters: { name: textFilter((row) => row.name), label_selector: labelFilter(), ...filters },
  };
}
