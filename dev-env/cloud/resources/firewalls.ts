/** Routes of `/firewalls`. */
import { refuse } from "../api/errors.ts";
import { name } from "../api/fields.ts";
import { labels } from "../api/labels.ts";
import { commonRules } from "../api/listing.ts";
import {
  actionReadRoutes,
  claimName,
  deleteRoute,
  readRoutes,
  renameRoute,
  rowIn,
  type StoredKind,
} from "../api/resource.ts";
import type { Answer, Call, Route } from "../api/route.ts";
import { type Check, object, optional, parseBody } from "../api/schema.ts";
import type { ActionRecord, ResourceRef } from "../state/actions.ts";
import type { Project } from "../state/project.ts";
import type { FirewallRecord, FirewallScope } from "../state/records.ts";
import {
  applyScopes,
  removeScopes,
  renderRule,
  renderScope,
  rulesBody,
  scopesBody,
  serversOf,
} from "./firewall-rules.ts";

/** Resolves label selectors to servers. */
export function viewFirewall(project: Project, firewall: FirewallRecord) {
  const applied_to = firewall.applied_to.map((scope) => {
    if (scope.type === "server") return scope;
    const servers = serversOf(project, scope);
    return { ...scope, applied_to_resources: servers.map(({ id }) => ({ type: "server" as const, server: { id } })) };
  });
  return { ...firewall, applied_to };
}

/** Firewalls, for the generic routes. */
export const firewallKind: StoredKind<FirewallRecord, ReturnType<typeof viewFirewall>> = {
  singular: "firewall",
  rows: (project) => project.firewalls,
  view: viewFirewall,
  rules: commonRules(),
};

const createBody = object({
  name,
  labels: optional(labels),
  rules: optional(rulesBody),
  apply_to: optional(scopesBody),
});

const firewallRef = ({ id }: FirewallRecord): ResourceRef => ({ type: "firewall", id });

interface ScopeChange {
  readonly command: "apply_firewall" | "remove_firewall";
  readonly scopes: readonly FirewallScope[];
}

/** One action per server in the scopes. */
function scopeActions(
  project: Project,
  firewall: FirewallRecord,
  { command, scopes }: ScopeChange,
): readonly ActionRecord[] {
  const servers = new Set(scopes.flatMap((scope) => serversOf(project, scope)).map((server) => server.id));
  return [...servers].map((id) => {
    const resources = [{ type: "server", id }, firewallRef(firewall)];
    return project.actions.start({ command, resources });
  });
}

/** The actions of a change of rules: one for the firewall, and one per server. */
function ruleActions(project: Project, firewall: FirewallRecord): readonly ActionRecord[] {
  const set = project.actions.start({ command: "set_firewall_rules", resources: [firewallRef(firewall)] });
  return [set, ...scopeActions(project, firewall, { command: "apply_firewall", scopes: firewall.applied_to })];
}

function create({ project, ...call }: Call): Answer {
  const body = parseBody(createBody, call.body);
  claimName(project.firewalls, body.name);
  const scopes = (body.apply_to ?? []).map((scope) => renderScope(project, scope, 422));
  const empty: FirewallRecord = {
    ...project.newResource(body.name, body.labels),
    rules: (body.rules ?? []).map(renderRule),
    applied_to: [],
  };
  const firewall = project.firewalls.put(applyScopes(project, empty, scopes));
  const actions = ruleActions(project, firewall).map(project.actions.view);
  return { status: 201, body: { firewall: viewFirewall(project, firewall), actions } };
}

/** A route that returns `actions`, in the plural. */
function actionsRoute<B>(
  path: string,
  check: Check<B>,
  run: (project: Project, firewall: FirewallRecord, body: B) => readonly ActionRecord[],
): Route {
  const handle = (call: Call): Answer => {
    const { project } = call;
    const firewall = rowIn(firewallKind, call);
    const actions = run(project, firewall, parseBody(check, call.body));
    return { status: 201, body: { actions: actions.map(project.actions.view) } };
  };
  return { method: "POST", path: `/firewalls/{}/actions/${path}`, handle };
}

/** All of `/firewalls`. */
export const firewallRoutes: readonly Route[] = [
  ...readRoutes(firewallKind),
  ...actionReadRoutes(firewallKind),
  { method: "POST", path: "/firewalls", handle: create },
  renameRoute(firewallKind),
  deleteRoute(firewallKind, (project, firewall) => {
    if (firewall.applied_to.length > 0) throw refuse("resource_in_use", "firewall is still in use");
    project.firewalls.delete(firewall.id);
  }),
  actionsRoute("set_rules", object({ rules: rulesBody }), (project, firewall, body) =>
    ruleActions(project, project.firewalls.put({ ...firewall, rules: body.rules.map(renderRule) })),
  ),
  actionsRoute("apply_to_resources", object({ apply_to: scopesBody }), (project, firewall, body) => {
    const scopes = body.apply_to.map((scope) => renderScope(project, scope, 404));
    const after = project.firewalls.put(applyScopes(project, firewall, scopes));
    return scopeActions(project, after, { command: "apply_firewall", scopes });
  }),
  actionsRoute("remove_from_resources", object({ remove_from: scopesBody }), (project, firewall, body) => {
    const scopes = body.remove_from.map((scope) => renderScope(project, scope, 404));
    const after = project.firewalls.put(removeScopes(project, firewall, scopes));
    return scopeActions(project, after, { command: "remove_firewall", scopes });
  }),
];
