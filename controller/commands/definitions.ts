/** The commands beside `run`. Each is loaded when it is called: the controller should not carry them in its memory. */

import { CLUSTER_FLAGS, type Flag } from "../config/flags.ts";
import type { CommandDefinition } from "./command-line.ts";

const ENVIRONMENT = `Reads the same environment as the controller: HCLOUD_TOKEN, HCLOUD_NETWORK, HCLOUD_ENDPOINT, HCLOUD_LOAD_BALANCERS_*.
The cluster is the one that kubectl would talk to: --kubeconfig, $KUBECONFIG or ~/.kube/config.`;

const FROM_FLAG: Flag = {
  name: "from",
  value: "<path>",
  doc: "as if the Services and Nodes in this file or folder were applied",
};
const NAMESPACE_FLAG: Flag = {
  name: "namespace",
  value: "<name>",
  doc: "where the controller runs (default: kube-system)",
};
const JSON_FLAG: Flag = { name: "json", doc: "print JSON, for programs" };
const YES_FLAG: Flag = { name: "yes", doc: "do it, instead of showing what would be done" };

/** Flags of commands that talk to the API server only. */
const ACCESS_FLAGS: readonly Flag[] = [
  { name: "kubeconfig", value: "<file>", doc: "how to reach the API server; default as kubectl's" },
  { name: "master", value: "<url>", doc: "address of the API server, instead of the kubeconfig's" },
  { name: "cluster-name", value: "<name>", doc: "name of the cluster's stack (default: kubernetes)" },
  NAMESPACE_FLAG,
];
const DEPARTURE_FLAGS: readonly Flag[] = [
  ...CLUSTER_FLAGS,
  NAMESPACE_FLAG,
  YES_FLAG,
  { name: "force", doc: "do not ask for the controller's Lease: only when none can be running" },
  JSON_FLAG,
];
const DEPARTURE_CODES =
  "Exit codes: 0 done, or nothing to do; 2 there is something to do; 1 an error, which is explained.";

export const OTHER_COMMANDS: readonly CommandDefinition[] = [
  {
    name: "preview",
    summary: "show what the controller would change in the cloud right now, and why; changes nothing",
    flags: [
      ...CLUSTER_FLAGS,
      FROM_FLAG,
      JSON_FLAG,
      { name: "markdown", doc: "print Markdown, for a comment on a pull request" },
    ],
    epilogue: `Examples:
  lotse preview --cluster-cidr 10.244.0.0/16
  lotse preview --from manifests/ --markdown
  lotse preview --from nodes.yaml

Exit codes: 0 nothing to change, 2 changes, 1 an error, which is explained.

${ENVIRONMENT}`,
    action: async (given) => (await import("./preview/preview.ts")).preview(given),
  },
  {
    name: "stack",
    summary: "write the cluster's stack, as the cloud is right now, for a plain `pulumi preview`",
    flags: [
      ...CLUSTER_FLAGS,
      { name: "dir", value: "<dir>", doc: "where to write it (default: a folder of the cluster's in the cache)" },
    ],
    epilogue: `Prints the environment for a shell. In a checkout:
  eval "$(lotse stack --cluster-cidr 10.244.0.0/16)"
  pulumi preview --stack kubernetes --diff

The stack is a picture of this moment: take a new one before the next preview. It is for looking: \`pulumi up\` is refused,
changes are made by \`lotse run\`.

${ENVIRONMENT}`,
    action: async (given) => (await import("./preview/stack.ts")).stack(given),
  },
  {
    name: "approve",
    summary: "let the controller carry out the plan that waits; without a plan, show it",
    operands: "[plan]",
    flags: ACCESS_FLAGS,
    epilogue: `The controller holds changes back when it runs with --approval=manual, or --approval=deletions for deletions alone.
What is approved is exactly what was shown: if anything has changed since, the plan is refused and a new one waits.

Examples:
  lotse approve               # what waits, and its id
  lotse approve 3f9a1c02be    # let it happen

Exit codes: 0 approved, or nothing waits; 2 something waits; 1 an error, which is explained.`,
    action: async (given) => (await import("./record/approve.ts")).approve(given),
  },
  {
    name: "audit",
    summary:
      "show every change that was made in the cloud: when, for which object, from what to what, and how it ended",
    operands: "[object]",
    flags: [...ACCESS_FLAGS, { name: "since", value: "<age>", doc: "only the last 90s, 15m, 1h, 7d …" }, JSON_FLAG],
    epilogue: `Examples:
  lotse audit --since 1h
  lotse audit default/web             # one Service
  lotse audit --json > changes.jsonl  # one JSON object per line

The record is bounded: the newest 256 KiB are kept in the cluster. The controller's log
has every change too ("cloud changed"): collect it to keep them for longer.`,
    action: async (given) => (await import("./record/audit.ts")).audit(given),
  },
  {
    name: "undo",
    summary: "let a Service ask again for what it asked for before its last change; without --yes, show it",
    operands: "<namespace/service>",
    flags: [...ACCESS_FLAGS, YES_FLAG, JSON_FLAG],
    epilogue: `It changes the Service's load-balancer annotations and ports back, as the record has them; the controller makes the cloud
follow. A second undo undoes the first. A balancer that was deleted, and its address, cannot be brought back.

Examples:
  lotse undo default/web          # what would be changed back
  lotse undo default/web --yes    # do it

Exit codes: 0 done, or nothing to undo; 2 there is something to undo; 1 an error, which is explained.`,
    action: async (given) => (await import("./record/undo.ts")).undo(given),
  },
  {
    name: "status",
    summary: "show nodes, balancers, routes, the last run and what waits, live on a terminal",
    flags: [
      ...CLUSTER_FLAGS,
      NAMESPACE_FLAG,
      { name: "once", doc: "print it once, as where there is no terminal" },
      JSON_FLAG,
    ],
    epilogue: `The live view is redrawn every two seconds; it asks the Hetzner API every ten, about 400 of 3600 requests an hour.

Examples:
  lotse status --cluster-cidr 10.244.0.0/16
  lotse status --json | jq '.balancers[] | select(.state != "ready")'

${ENVIRONMENT}`,
    action: async (given) => (await import("./status/status.ts")).status(given),
  },
  {
    name: "render",
    summary: "print what the cluster wants from the cloud, as YAML or JSON",
    flags: [...CLUSTER_FLAGS, FROM_FLAG, JSON_FLAG],
    epilogue: `Exit codes: 0 everything can be rendered, 1 something is refused, which is said under "refused".\n\n${ENVIRONMENT}`,
    action: async (given) => (await import("./preview/render.ts")).render(given),
  },
  {
    name: "adopt",
    summary: "show, before a takeover, which balancer each Service finds and what the first run would change",
    flags: [...CLUSTER_FLAGS, JSON_FLAG],
    epilogue: `Reads, and changes nothing: it works while the official controller runs. Give it the flags and environment that Lotse will have.

Examples:
  lotse adopt --cluster-cidr 10.244.0.0/16
  lotse adopt --json | jq '.services[] | select(.finds != "own")'

Exit codes: 0 taking over changes nothing, 2 it changes or refuses something, 1 an error, which is explained.

${ENVIRONMENT}`,
    action: async (given) => (await import("./status/adopt.ts")).adopt(given),
  },
  {
    name: "destroy",
    summary: "delete everything this cluster has in the cloud: balancers, certificates, routes; without --yes, show it",
    flags: DEPARTURE_FLAGS,
    epilogue: `As if every Service were deleted: a balancer that is protected against deletion, has foreign parts, or whose annotation says
on-delete: keep, stays. Services stay too, without address. What is not this cluster's is not touched. Deleted addresses do
not come back.

Stop the controller first: one that leads is not worked against, and one that starts later makes everything anew.

Examples:
  lotse destroy --cluster-cidr 10.244.0.0/16          # what would be deleted
  lotse destroy --cluster-cidr 10.244.0.0/16 --yes    # do it

${DEPARTURE_CODES}

${ENVIRONMENT}`,
    action: async (given) => (await import("./departure/depart.ts")).destroy(given),
  },
  {
    name: "release",
    summary: "leave Lotse and keep every balancer as it is, without owner; without --yes, show it",
    flags: DEPARTURE_FLAGS,
    epilogue: `Balancers lose the labels that say whose they are, and Services the finalizer: then deleting a Service, or the cluster,
leaves its balancer alone. Routes and certificates stay. Going back to the official controller needs none of this:
it takes over what it finds.

Stop the controller first: one that starts later takes the balancers over again, by their names.

Examples:
  lotse release          # what would be left behind
  lotse release --yes    # do it

${DEPARTURE_CODES}

${ENVIRONMENT}`,
    action: async (given) => (await import("./departure/depart.ts")).release(given),
  },
  {
    name: "version",
    summary: "show the version and commit of lotse, and of the engine and plugin it is made for",
    flags: [JSON_FLAG],
    action: async (given) => (await import("./version.ts")).version(given),
  },
];
