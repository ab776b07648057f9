/** What all components share. */
import type * as pulumi from "@pulumi/pulumi";
import { COMPONENT_TYPE as UNIT_TYPE } from "../units/names.ts";

/** Pulumi type tokens of the components. A changed token would replace every resource of a stored stack. */
export const COMPONENT_TYPE = {
  ...UNIT_TYPE,
  network: "lotse:index:Network",
  firewall: "lotse:index:Firewall",
  "server-pool": "lotse:index:ServerPool",
  cluster: "lotse:index:Cluster",
} as const;

/** Labels of a cloud resource. */
export type Labels = pulumi.Input<Readonly<Record<string, pulumi.Input<string>>>>;
