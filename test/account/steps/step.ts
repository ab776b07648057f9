/** One step of the suite, and steps that are rows of a table: a Service with annotations, and what must come of it. */
import { deepStrictEqual } from "node:assert/strict";
import type { V1LoadBalancerIngress, V1ServiceSpec } from "@kubernetes/client-node";
import type { LoadBalancer } from "../../../controller/hcloud/api.ts";
import type { Annotations, Stage } from "../stage.ts";

/**
 * What a step needs.
 *
 * | need | where it runs |
 * | --- | --- |
 * | cluster | in every cluster with a cloud-controller-manager for Hetzner; with HCLOUD_TOKEN, it also looks into the project |
 * | traffic | in a cluster that runs pods, if there is an image for them |
 * | project | only in the suite's own project, with Lotse |
 */
export type Need = "cluster" | "traffic" | "project";

export interface Step {
  /** Stable, for reports: `tcp-algorithm`. */
  readonly id: string;
  /** What must hold afterwards, as a sentence for the documentation. */
  readonly title: string;
  readonly needs: Need;
  /** Annotations that it proves, without their prefix. */
  readonly annotations?: readonly string[];
  /** The Service it works on; its Events are part of an error message. */
  readonly service?: string;
  /** A step without which this one makes no sense. */
  readonly after?: string;
  readonly run: (stage: Stage) => Promise<void>;
}

/** A Service with annotations. */
export interface Row extends Omit<Step, "run" | "annotations" | "service"> {
  readonly service: string;
  /** Annotations without their prefix; a value may depend on the stage. */
  readonly annotate: Readonly<Record<string, string | ((stage: Stage) => string)>>;
  readonly spec?: Partial<V1ServiceSpec>;
  /** Part of the load balancer as the API lists it. */
  readonly balancer?: object;
  /** Throws unless the load balancer is right. */
  readonly check?: (balancer: LoadBalancer, stage: Stage) => void | Promise<void>;
  /** Throws unless the addresses in the Service's status are right. */
  readonly status?: (entries: readonly V1LoadBalancerIngress[]) => void;
}

/** The step of a row: applies the Service, and waits for its status and, where the project can be read, its load balancer. */
export function serviceStep({ annotate, spec, balancer, check, status, ...row }: Row): Step {
  const run = async (stage: Stage) => {
    const values = Object.entries(annotate).map(([key, value]) => [
      key,
      typeof value === "string" ? value : value(stage),
    ]);
    await stage.apply(row.service, Object.fromEntries(values) as Annotations, spec);
    await stage.until("the Service's status is right", async () => {
      const entries = await stage.ingress(row.service);
      if (entries.length === 0) throw new Error("it has no address");
      status?.(entries);
    });
    if (!stage.parts.cloud || (!balancer && !check)) return;
    await stage.until("the load balancer is right", async () => {
      const found = await stage.balancer(row.service);
      deepStrictEqual(part(found, balancer ?? {}), balancer ?? {});
      await check?.(found, stage);
    });
  };
  // An option of one port covers the annotation, too.
  const annotations = ["location", ...Object.keys(annotate).map((key) => key.replace(/^(p?\d+)\./, ""))];
  return { ...row, annotations, run };
}

/** The part of a value that a pattern mentions: its fields, and all elements of its lists. Keeps error messages short. */
function part(value: unknown, pattern: unknown): unknown {
  if (typeof pattern !== "object" || pattern === null || typeof value !== "object" || value === null) return value;
  if (Array.isArray(pattern)) {
    return Array.isArray(value) ? value.map((item, index) => part(item, pattern[index] ?? pattern[0])) : value;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.entries(pattern).map(([key, wanted]) => [key, part(fields[key], wanted)]));
}
