/** Plans to hand a load balancer over to a Service: the labels to set, and what that means. Pure. */
import type { V1Service } from "@kubernetes/client-node";
import { SERVICE_UID_LABEL } from "../../../stacks/units/names.ts";
import { ConfigError } from "../../diagnostics/errors.ts";
import { consentMarks, isHandedTo, isReleasedBy, releaserOf } from "../../formats/marks.ts";
import type { LoadBalancer } from "../../hcloud/api.ts";
import type { RenderOptions, Snapshot } from "../../render/cluster.ts";
import { intentOf, serviceName, serviceRef } from "../../render/service/ours.ts";

/** What `lotse adopt` was asked to hand over. */
export interface HandoverRequest {
  /** `default/web`. */
  readonly service: string;
  /** Id or name of the load balancer. */
  readonly loadBalancer: string;
}

/** A planned handover. */
export interface Handover {
  readonly service: V1Service;
  readonly balancer: LoadBalancer;
  /** The labels that express the operator's consent, and all labels of the load balancer with them. */
  readonly consent: Readonly<Record<string, string>>;
  readonly labels: LoadBalancer["labels"];
  /** What the operator should know before. */
  readonly notes: readonly string[];
}

/** Plans a handover. Undefined when the Service has the load balancer, or its labels are set already. */
export function planHandover(
  request: HandoverRequest,
  snapshot: Snapshot,
  { classes }: Pick<RenderOptions, "classes">,
): Handover | undefined {
  const { services, cloud } = snapshot;
  const service = services.find((one) => serviceName(one) === request.service);
  if (!service) throw new ConfigError([`Service ${request.service} does not exist`]);
  if (intentOf(service, classes) !== "balance")
    throw new ConfigError([
      `Service ${request.service} is being deleted, not of type LoadBalancer, or of another loadBalancerClass`,
    ]);
  const balancer = findListed(cloud.loadBalancers, request.loadBalancer);
  const ref = serviceRef(service);
  if (balancer.labels[SERVICE_UID_LABEL] === ref.uid) return undefined;
  refuseOthers(request.service, ref.uid, balancer, snapshot);
  const consent = consentMarks(ref);
  const labels = { ...balancer.labels, ...consent };
  const isDone = Object.entries(consent).every(([key, value]) => balancer.labels[key] === value);
  return isDone ? undefined : { service, balancer, consent, labels, notes: notesOn(balancer, service) };
}

/** A number is taken for an id first, as in annotations. */
function findListed(balancers: readonly LoadBalancer[], idOrName: string): LoadBalancer {
  const found = balancers.find(({ id }) => String(id) === idOrName) ?? balancers.find(({ name }) => name === idOrName);
  if (found) return found;
  throw new ConfigError([`no load balancer with the id or name ${JSON.stringify(idOrName)} in this project`]);
}

/** Throws when the Service has another load balancer, or another Service of this cluster has this one. */
function refuseOthers(name: string, uid: string, balancer: LoadBalancer, { services, cloud }: Snapshot): void {
  const others = cloud.loadBalancers.filter(({ id }) => id !== balancer.id);
  const own = others.find(({ labels }) => labels[SERVICE_UID_LABEL] === uid);
  if (own)
    throw new ConfigError([
      `Service ${name} already has ${textOf(own)}: a Service has one load balancer. Delete that one first, or create another Service`,
    ]);
  const pending = others.find(({ labels }) => isHandedTo(labels, uid));
  if (pending)
    throw new ConfigError([
      `${textOf(pending)} is being handed over to Service ${name}: wait for the controller, or remove its labels lotse/adopt-*`,
    ]);
  const owner = services.find(({ metadata }) => metadata?.uid === balancer.labels[SERVICE_UID_LABEL]);
  if (owner)
    throw new ConfigError([
      `${textOf(balancer)} belongs to Service ${serviceName(owner)} of this cluster: delete that Service first, with the annotation on-delete: keep`,
    ]);
}

function notesOn({ labels }: LoadBalancer, service: V1Service): readonly string[] {
  const owner = labels[SERVICE_UID_LABEL];
  const releaser = releaserOf(labels);
  const outlives = "deleting the Service will not delete it";
  if (owner !== undefined)
    return [
      `it belongs to the Service with UID ${owner}, which is not in this cluster. If another cluster of this project has that Service, it loses the load balancer and its addresses`,
      "its listeners and targets are replaced by those of the Service, except for those marked as foreign",
      outlives,
    ];
  if (!releaser) return ["it has no owner: its listeners and targets stay, and the Service's are added", outlives];
  if (isReleasedBy(labels, serviceRef(service))) return ["it was left behind by this Service, and returns to it"];
  const { namespace, name, uid } = releaser;
  const who = name === undefined ? `the Service with UID ${uid}` : `Service ${namespace}/${name}`;
  return [`it was left behind by ${who}, which can no longer get it back`, outlives];
}

function textOf({ name, id }: LoadBalancer): string {
  return `load balancer ${JSON.stringify(name)} (id ${id})`;
}
