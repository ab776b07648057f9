/** All commands except `run`. Each is imported when it is called, so that the controller does not hold them in memory. */

import { CLUSTER_FLAGS, type Flag } from "../config/flags.ts";
import type { CommandDefinition } from "./command-line.ts";

const ENVIRONMENT = `Uses the same environment variables as the controller: HCLOUD_TOKEN, HCLOUD_NETWORK, HCLOUD_ENDPOINT, HCLOUD_LOAD_BALANCERS_*.
Connects to the same cluster as kubectl: --kubeconfig, $KUBECONFIG or ~/.kube/config.`;

const FROM_FLAG: Flag = {
  name: "from",
  value: "<path>",
  doc: "pretend that the Services and Nodes in this file or folder have been applied",
};
const NAMESPACE_FLAG: Flag = {
  name: "namespace",
  value: "<name>",
  doc: "namespace of the controller (default: kube-system)",
};
const JSON_FLAG: Flag = { name: "json", doc: "print JSON" };
const YES_FLAG: Flag = { name: "yes", doc: "make the changes instead of only showing them" };

/** Flags of commands that need the API server but no Hetzner token. */
const ACCESS_FLAGS: readonly Flag[] = [
  { name: "kubeconfig", value: "<file>", doc: "kubeconfig file (default: the one kubectl would use)" },
  { name: "master", value: "<url>", doc: "address of the API server, overriding the kubeconfig" },
  { name: "cluster-name", value: "<name>", doc: "name of the cluster's stack (default: kubernetes)" },
  NAMESPACE_FLAG,
];
const DEPARTURE_FLAGS: readonly Flag[] = [
  ...CLUSTER_FLAGS,
  NAMESPACE_FLAG,
  YES_FLAG,
  { name: "force", doc: "do not take the controller's Lease; use only when no controller can be running" },
  JSON_FLAG,
];
const DEPARTURE_CODES = "Exit codes: 0 done or nothing to do, 2 something to do, 1 error.";

/** Every command except `run` and `completion`. */
export const OTHER_COMMANDS: readonly CommandDefinition[] = [
  {
    name: "preview",
    summary: "show what the controller would change in the cloud right now, and why; makes no changes",
    flags: [
      ...CLUSTER_FLAGS,
      FROM_FLAG,
      JSON_FLAG,
      { name: "markdown", doc: "print Markdown for a pull-request comment" },
    ],
    epilogue: `Examples:
  lotse preview --cluster-cidr 10.244.0.0/16
  lotse preview --from manifests/ --markdown
  lotse preview --from nodes.yaml

Exit codes: 0 no changes, 2 changes, 1 error.

${ENVIRONMENT}`,
    action: async (given) => (await import("./preview/preview.ts")).preview(given),
  },
  {
    name: "stack",
    summary: "write the cluster's Pulumi stack, built from the current cloud, for a plain `pulumi preview`",
    flags: [
      ...CLUSTER_FLAGS,
      { name: "dir", value: "<dir>", doc: "directory to write to (default: one per cluster in the user's cache)" },
    ],
    epilogue: `Prints shell commands that set the environment. In a checkout:
  eval "$(lotse stack --cluster-cidr 10.244.0.0/16)"
  pulumi preview --stack kubernetes --diff

The stack shows the cloud at this moment: run this command again before the next preview. \`pulumi up\` is refused, because
only \`lotse run\` makes changes.

${ENVIRONMENT}`,
    action: async (given) => (await import("./preview/stack.ts")).stack(given),
  },
  {
    name: "approve",
    summary: "approve the pending plan; without an id, show it",
    operands: "[plan]",
    flags: ACCESS_FLAGS,
    epilogue: `A controller with --approval=manual holds back every change until it is approved; with --approval=deletions, only deletions.
An id stands for exactly the changes shown. If anything has changed since, the approval is refused and a new plan is pending.

Examples:
  lotse approve               # show the pending plan and its id
  lotse approve 3f9a1c02be    # approve it

Exit codes: 0 approved or nothing pending, 2 a plan is pending, 1 error.`,
    action: async (given) => (await import("./record/approve.ts")).approve(given),
  },
  {
    name: "audit",
    summary: "show every change made to the cloud: time, object, old and new values, and outcome",
    operands: "[object]",
    flags: [
      ...ACCESS_FLAGS,
      { name: "since", value: "<age>", doc: "only changes this recent: 90s, 15m, 1h, 7d …" },
      JSON_FLAG,
    ],
    epilogue: `Examples:
  lotse audit --since 1h
  lotse audit default/web             # one Service
  lotse audit --json > changes.jsonl  # one JSON object per line

The newest 256 KiB of the record are kept in the cluster. To keep more, collect the controller's log:
it contains every change as a line "cloud changed".`,
    action: async (given) => (await import("./record/audit.ts")).audit(given),
  },
  {
    name: "undo",
    summary: "restore a Service's previous load-balancer settings; without --yes, show them",
    operands: "<namespace/service>",
    flags: [...ACCESS_FLAGS, YES_FLAG, JSON_FLAG],
    epilogue: `Restores the Service's load-balancer annotations and ports from the record; the controller then updates the cloud.
A second undo reverts the first. A deleted load balancer and its address cannot be restored.

Examples:
  lotse undo default/web          # show what would be restored
  lotse undo default/web --yes    # restore it

Exit codes: 0 done or nothing to undo, 2 something to undo, 1 error.`,
    action: async (given) => (await import("./record/undo.ts")).undo(given),
  },
  {
    name: "status",
    summary: "show nodes, load balancers, routes, the last run and pending approvals; live in a terminal",
    flags: [
      ...CLUSTER_FLAGS,
      NAMESPACE_FLAG,
      { name: "once", doc: "print once, as when the output is not a terminal" },
      JSON_FLAG,
    ],
    epilogue: `The live view is redrawn every two seconds. It reads from the Hetzner API every ten seconds, which takes about 400 of the
3600 requests per hour.

Examples:
  lotse status --cluster-cidr 10.244.0.0/16
  lotse status --json | jq '.balancers[] | select(.state != "ready")'

${ENVIRONMENT}`,
    action: async (given) => (await import("./status/status.ts")).status(given),
  },
  {
    name: "render",
    summary: "print the cloud resources that the cluster asks for, as YAML or JSON",
    flags: [...CLUSTER_FLAGS, FROM_FLAG, JSON_FLAG],
    epilogue: `Exit codes: 0 everything could be rendered, 1 some objects are refused (listed under "refused").\n\n${ENVIRONMENT}`,
    action: async (given) => (await import("./preview/render.ts")).render(given),
  },
  {
    name: "adopt",
    summary: "before a migration, show which load balancer each Service would get and what the first run would change",
    flags: [...CLUSTER_FLAGS, JSON_FLAG],
    epilogue: `Makes no changes, and works while the official controller is running. Use the flags and environment that Lotse will have.

Examples:
  lotse adopt --cluster-cidr 10.244.0.0/16
  lotse adopt --json | jq '.services[] | select(.finds != "own")'

Exit codes: 0 the migration changes nothing, 2 it changes or refuses something, 1 error.

${ENVIRONMENT}`,
    action: async (given) => (await import("./status/adopt.ts")).adopt(given),
  },
  {
    name: "destroy",
    summary: "delete this cluster's load balancers, certificates and routes; without --yes, show them",
    flags: DEPARTURE_FLAGS,
    epilogue: `Has the same effect as deleting every Service: a load balancer stays if it is protected against deletion, has foreign parts,
or has the annotation on-delete: keep. The Services themselves stay, without addresses. Resources that do not belong to this
cluster are not touched. Deleted addresses cannot be restored.

Stop the controller first. The command refuses to run next to a leading controller, and a controller that starts later
recreates everything.

Examples:
  lotse destroy --cluster-cidr 10.244.0.0/16          # show what would be deleted
  lotse destroy --cluster-cidr 10.244.0.0/16 --yes    # delete it

${DEPARTURE_CODES}

${ENVIRONMENT}`,
    action: async (given) => (await import("./departure/depart.ts")).destroy(given),
  },
  {
    name: "release",
    summary: "stop managing this cluster's load balancers and keep them as they are; without --yes, show them",
    flags: DEPARTURE_FLAGS,
    epilogue: `Removes the owner labels from load balancers and the finalizer from Services. Deleting a Service, or the cluster, then no
longer deletes its load balancer. Routes and certificates stay. You do not need this to return to the official controller,
which takes over what it finds.

Stop the controller first: a controller that starts later takes the load balancers back by their names.

Examples:
  lotse release          # show what would be released
  lotse release --yes    # release it

${DEPARTURE_CODES}

${ENVIRONMENT}`,
    action: async (given) => (await import("./departure/depart.ts")).release(given),
  },
  {
    name: "version",
    summary: "show the version and commit of lotse, and the versions of its engine and plugin",
    flags: [JSON_FLAG],
    action: async (given) => (await import("./version.ts")).version(given),
  },
];
