/** Routes of the catalogue, of actions, and of resources that are always empty. */
import { found, invalidField, refuse } from "../api/errors.ts";
import { type ListRules, labelFilter, sortRows, textFilter } from "../api/listing.ts";
import { actionRules, type Kind, pageAnswer, readRoutes } from "../api/resource.ts";
import { type Answer, type Call, idAt, type Route } from "../api/route.ts";
import type { ActionRecord } from "../state/actions.ts";
import { catalogue, type Image } from "./catalogue.ts";

interface Entry {
  readonly id: number;
  readonly name: string;
}

const entryRules: ListRules<Entry> = {
  sort: { id: (row) => row.id, name: (row) => row.name },
  filters: { name: textFilter((row) => row.name) },
};

type Section = "locations" | "serverTypes" | "loadBalancerTypes" | "isos";

/** Routes of a section of the catalogue. */
function section(key: Section, singular: string): readonly Route[] {
  const kind: Kind<Entry, Entry> = {
    singular,
    rows: () => indexed<Entry>(catalogue[key]),
    view: (_project, row) => row,
    rules: entryRules,
  };
  return readRoutes(kind);
}

function indexed<T extends { readonly id: number }>(rows: readonly T[]) {
  return { get: (id: number) => rows.find((row) => row.id === id), values: () => rows };
}

const imageKind: Kind<Image, Image> = {
  singular: "image",
  rows: () => indexed(catalogue.images),
  view: (_project, row) => row,
  rules: {
    sort: { id: (row) => row.id, name: (row) => row.name, created: (row) => row.created },
    filters: {
      name: textFilter((row) => row.name),
      type: textFilter((row) => row.type),
      status: textFilter((row) => row.status),
      architecture: textFilter((row) => row.architecture),
      bound_to: () => () => false,
      label_selector: labelFilter(),
    },
  },
};

const isTrue = (text: string | null): boolean => text === "true" || text === "1";

/** Lists images. Deprecated ones only on request. */
function listImages(call: Call): Answer {
  const all = isTrue(call.query.get("include_deprecated"));
  const images = catalogue.images.filter((image) => all || image.deprecated === null);
  return pageAnswer(call, { plural: "images", rows: images, rules: imageKind.rules, view: (image) => image });
}

/** Lists actions by id, on one page. Clients poll with this. */
function listActions({ project, query }: Call): Answer {
  const ids = query.getAll("id");
  if (ids.length === 0) {
    const announcement =
      "https://docs.hetzner.cloud/changelog#2025-01-30-listing-arbitrary-actions-in-the-actions-list-endpoint-is-removed";
    throw refuse("deprecated_api_endpoint", "listing arbitrary actions is no longer available", { announcement });
  }
  if (ids.length > 1000 || !ids.every((id) => /^\d{1,16}$/.test(id))) throw invalidField("id", "Must be action IDs.");
  const actions = [...new Set(ids)]
    .map((id) => project.actions.table.get(Number(id)))
    .filter((action): action is ActionRecord => action !== undefined);
  const statuses = query.getAll("status");
  const views = sortRows(actions, query, actionRules(project)).map(project.actions.view);
  const wanted = views.filter(({ status }) => statuses.length === 0 || statuses.includes(status));
  return { status: 200, body: { actions: wanted } };
}

function getAction(call: Call): Answer {
  const action = found(call.project.actions.table.get(idAt(call, 0)), "action", idAt(call, 0));
  return { status: 200, body: { action: call.project.actions.view(action) } };
}

function refuseDatacenters(): never {
  const announcement = "https://docs.hetzner.cloud/changelog#2025-12-16-phasing-out-datacenters";
  throw refuse("deprecated_api_endpoint", "datacenters are no longer available", { announcement });
}

/** A list that is always empty, so that clients that list everything get no error. */
function emptyList(plural: string): Route {
  const listing = { plural, rows: [], rules: { sort: {}, filters: {} }, view: (row: never) => row };
  return { method: "GET", path: `/${plural}`, handle: (call) => pageAnswer(call, listing) };
}

/** The catalogue, prices, actions by id, empty lists, and removed endpoints. */
export const readOnlyRoutes: readonly Route[] = [
  ...section("locations", "location"),
  ...section("serverTypes", "server_type"),
  ...section("loadBalancerTypes", "load_balancer_type"),
  ...section("isos", "iso"),
  { method: "GET", path: "/datacenters", handle: refuseDatacenters },
  { method: "GET", path: "/datacenters/{}", handle: refuseDatacenters },
  ...readRoutes(imageKind).filter(({ path }) => path !== "/images"),
  { method: "GET", path: "/images", handle: listImages },
  emptyList("volumes"),
  emptyList("floating_ips"),
  { method: "GET", path: "/actions", handle: listActions },
  { method: "GET", path: "/actions/{}", handle: getAction },
  { method: "GET", path: "/pricing", handle: () => ({ status: 200, body: { pricing: catalogue.pricing } }) },
];
