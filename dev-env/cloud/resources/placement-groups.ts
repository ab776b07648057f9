/** Routes of `/placement_groups`. */
import { limitExceeded, refuse } from "../api/errors.ts";
import { name } from "../api/fields.ts";
import { labels } from "../api/labels.ts";
import { commonRules, textFilter } from "../api/listing.ts";
import { changed, claimName, deleteRoute, readRoutes, renameRoute, type StoredKind } from "../api/resource.ts";
import type { Answer, Call, Route } from "../api/route.ts";
import { object, oneOf, optional, parseBody } from "../api/schema.ts";
import type { Project } from "../state/project.ts";
import type { PlacementGroupRecord } from "../state/records.ts";

const MAX_GROUPS = 50;
const MAX_SERVERS = 10;

/** Adds the ids of the servers in it. */
export function viewPlacementGroup(project: Project, group: PlacementGroupRecord) {
  return { ...group, servers: [...project.servers.idsWith(`placement_group/${group.id}`)].sort((a, b) => a - b) };
}

/** Placement groups, for the generic routes. */
export const placementGroupKind: StoredKind<PlacementGroupRecord, ReturnType<typeof viewPlacementGroup>> = {
  singular: "placement_group",
  rows: (project) => project.placementGroups,
  view: viewPlacementGroup,
  rules: commonRules({ type: textFilter((group) => group.type) }),
};

/** Throws if the group is full. */
export function checkRoom(project: Project, group: PlacementGroupRecord): void {
  if (project.servers.idsWith(`placement_group/${group.id}`).size >= MAX_SERVERS) {
    throw refuse("placement_error", `placement group ${group.id} already has ${MAX_SERVERS} servers`);
  }
}

const createBody = object({ name, type: oneOf("spread"), labels: optional(labels) });

function create({ project, ...call }: Call): Answer {
  const body = parseBody(createBody, call.body);
  claimName(project.placementGroups, body.name);
  if (project.placementGroups.size >= MAX_GROUPS) {
    throw limitExceeded("placement_groups", "placement group limit exceeded");
  }
  const group = project.placementGroups.put({ ...project.newResource(body.name, body.labels), type: body.type });
  return changed(project, null, { placement_group: viewPlacementGroup(project, group) });
}

function remove(project: Project, group: PlacementGroupRecord): void {
  for (const server of project.servers.rowsWith(`placement_group/${group.id}`)) {
    project.servers.put({ ...server, placement_group: null });
  }
  project.placementGroups.delete(group.id);
}

/** All of `/placement_groups`. */
export const placementGroupRoutes: readonly Route[] = [
  ...readRoutes(placementGroupKind),
  { method: "POST", path: "/placement_groups", handle: create },
  renameRoute(placementGroupKind),
  deleteRoute(placementGroupKind, remove),
];
