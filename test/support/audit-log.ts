/** Compares the requests in the API server's audit log with the rights that a manifest grants. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Cluster } from "../../dev-env/cluster/cluster.ts";
import type { Rendered, Rule } from "./chart.ts";

/** A granted right: one verb on one kind of object, or on a single object. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  /** With its subresource, e.g. `nodes/status`. */
  readonly resource: string;
  /** Absent for rights in all namespaces. */
  readonly namespace?: string;
  readonly name?: string;
}

/** One request to the API server, with the right that it needs. */
export interface AuditedRequest extends Right {
  readonly status: number;
  /** Groups of the user, by which several controllers can be distinguished. */
  readonly groups: readonly string[];
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly answeredAt: number;
}

interface AuditEvent {
  readonly verb: string;
  readonly user?: { readonly groups?: readonly string[] };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

/** Requests for objects so far. Others, such as `/version`, need no right. */
export function requestsOf(cluster: Cluster): readonly AuditedRequest[] {
  const lines = readFileSync(join(cluster.dir, "audit.log"), "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as AuditEvent).flatMap(requestOf);
}

function requestOf(event: AuditEvent): readonly AuditedRequest[] {
  const { verb, objectRef, responseStatus } = event;
  if (!objectRef?.resource) return [];
  const { apiGroup: group = "", resource, subresource, namespace, name } = objectRef;
  return [
    {
      verb,
      group,
      resource: subresource ? `${resource}/${subresource}` : resource,
      status: responseStatus?.code ?? 0,
      groups: event.user?.groups ?? [],
      receivedAt: Date.parse(event.requestReceivedTimestamp),
      answeredAt: Date.parse(event.stageTimestamp),
      ...(namespace && { namespace }),
      ...(name && { name }),
    },
  ];
}

/** Whether a request changes objects. */
export function isWrite({ verb }: AuditedRequest): boolean {
  return !["get", "list", "watch"].includes(verb);
}

/** Every single right that a manifest grants. */
export function rightsOf(objects: readonly Rendered[]): readonly Right[] {
  return objects.flatMap(({ metadata, rules = [] }) => rules.flatMap((rule) => rightsIn(rule, metadata.namespace)));
}

function rightsIn(
  { apiGroups, resources, verbs, resourceNames }: Rule,
  namespace: string | undefined,
): readonly Right[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.flatMap((verb) => {
        const right = { verb, group, resource, ...(namespace && { namespace }) };
        return resourceNames ? resourceNames.map((name) => ({ ...right, name })) : [right];
      }),
    ),
  );
}

/** Whether a right allows a request. */
function allows(right: Right, request: AuditedRequest): boolean {
  const fits = right.verb === request.verb && right.group === request.group && right.resource === request.resource;
  const isThere = right.namespace === undefined || right.namespace === request.namespace;
  return fits && isThere && (right.name === undefined || right.name === request.name);
}

/** A short text for a right or a request, for messages of failed tests. */
export function describeRight({ verb, group, resource, namespace, name }: Right): string {
  const place = [...(name ? [name] : []), ...(namespace ? [`in ${namespace}`] : [])];
  return [verb, group ? `${resource}.${group}` : resource, ...place].join(" ");
}

/** The rights that no request needed. */
export function idleRights(rights: readonly Right[], requests: readonly AuditedRequest[]): readonly Right[] {
  const needed = requests.map((request) => rights.filter((right) => allows(right, request)));
  const only = new Set(needed.flatMap((found) => (found.length === 1 ? found : [])));
  return rights.filter((right) => !only.has(right));
}
