/** All commands except `run`. Each is imported when it is called, so that the controller does not hold them in memory. */

import { CLUSTER_FLAGS, type Flag, LEASE_FLAGS } from "../config/flags.ts";
import type { CommandDefinition } from "./command-line.ts";
import { ACCESS } from "./shell.ts";

const ENVIRONMENT = `Uses the same environment variables as the controller: HCLOUD_TOKEN, HCLOUD_NETWORK, HCLOUD_ENDPOINT, HCLOUD_LOAD_BALANCERS_*.
Connects to the same cluster as kubectl: --kubeconfig, $KUBECONFIG (several files are merged) or ~/.kube/config, and --context.`;

const FROM_FLAG: Flag = {
  name: "from",
  value: "<path>",
  doc: "pretend that the Services and Nodes in this file, folder or glob pattern (- for standard input) have been applied; may be repeated",
  repeats: "\n",
};
const NAMESPACE_FLAG: Flag = {
  name: "namespace",
  value: "<name>",
  doc: "namespace of the controller (default: kube-system)",
};
const JSON_FLAG: Flag = { name: "json", doc: "print JSON" };
const YES_FLAG: Flag = { name: "yes", doc: "make the changes instead of only showing them" };
const SURE_FLAG: Flag = { name: "yes", doc: "make the changes without asking for the cluster's name" };

const KUBECONFIG_FLAG: Flag = {
  name: "kubeconfig",
  value: "<file>",
  doc: "kubeconfig file (default: the same as kubectl)",
};

/** Flags of commands that need the API server and a Hetzner token. */
const READER_FLAGS = CLUSTER_FLAGS.map((flag) => (flag.name === KUBECONFIG_FLAG.name ? KUBECONFIG_FLAG : flag));

/** Flags of commands that need the API server but no Hetzner token. */
const ACCESS_FLAGS: readonly Flag[] = [...READER_FLAGS, NAMESPACE_FLAG].filter(({ name }) => ACCESS.includes(name));
const DEPARTURE_FLAGS: readonly Flag[] = [
  ...READER_FLAGS,
  NAMESPACE_FLAG,
  ...LEASE_FLAGS,
  SURE_FLAG,
  { name: "force", doc: "do not take the controller's Lease; use only when no controller can be running" },
  JSON_FLAG,
];
const FORECAST_CODES = "Exit codes: 0 nothing to do, 2 changes, 3 something would be refused or held back, 1 error.";
const DEPARTURE_CODES = `Without --yes, it shows what it would do, and does it only when you type the cluster's name on a terminal.

Exit codes: 0 done or nothing to do, 2 something to do, 1 error.`;

/** Every command except `run` and `completion`. */
export const OTHER_COMMANDS: readonly CommandDefinition[] = [
  {
    name: "preview",
    summary: "show what the controller would change in the cloud right now, and why; makes no changes",
    operands: "[manifests...]",
    flags: [
      ...READER_FLAGS,
      FROM_FLAG,
      JSON_FLAG,
      { name: "markdown", doc: "print Markdown for a pull-request comment", conflicts: ["json"] },
    ],
    epilogue: `Manifests, as operands or with --from, are checked as the API server would. One that it would reject is listed as refused.

Examples:
  lotse preview --cluster-cidr 10.244.0.0/16
  lotse preview --markdown manifests/ nodes.yaml
  kustomize build overlays/prod | lotse preview -

${FORECAST_CODES}

${ENVIRONMENT}`,
    action: async (given) => (await import("./preview/preview.ts")).preview(given),
  },
  {
    name: "stack",
    summary: "write the cluster's Pulumi stack for a plain `pulumi preview`, or print the saved stack or its outputs",
    operands: "[export|outputs|command...]",
    flags: [
      ...READER_FLAGS,
      NAMESPACE_FLAG,
      { ...JSON_FLAG, doc: "with outputs: print JSON" },
      { name: "dir", value: "<dir>", doc: "directory to write to (default: one per cluster in the user's cache)" },
    ],
    epilogue: `With export or outputs, prints what the controller last saved in the cluster; this needs no Hetzner token:
  lotse stack outputs
  lotse stack outputs --json | jq '.services["default/web"].ipv4'
  lotse stack export > stack.json    # for \`pulumi stack import\`

Otherwise, runs a command in the environment of the stack, or prints shell commands that set it. In a checkout:
  lotse stack --cluster-cidr 10.244.0.0/16 -- pulumi preview --stack kubernetes --diff

The stack shows the cloud at this moment: run this command again before the next preview. \`pulumi up\` is refused, because
only \`lotse run\` makes changes.

${ENVIRONMENT}`,
    action: async (given) => (await import("./preview/stack.ts")).stack(given),
  },
  {
    name: "pulumi",
    summary: "run a read-only Pulumi command on the cluster's stack, which is first written from the cloud",
    operands: "<command...>",
    flags: READER_FLAGS,
    isWrapper: true,
    epilogue: `Put flags of lotse before the Pulumi command, and Pulumi's own flags after it. Your shell's environment is not changed.

Examples, in a checkout:
  lotse pulumi --cluster-cidr 10.244.0.0/16 preview --diff
  lotse pulumi stack output services --json

Commands that change something (up, destroy, import, state, cancel …) are refused; the error names the lotse command to use
instead.

${ENVIRONMENT}`,
    action: async (given) => (await import("./preview/pulumi.ts")).pulumi(given),
  },
  {
    name: "approve",
    summary: "approve changes; without an id, show those that wait for approval",
    operands: "[changes...]",
    flags: ACCESS_FLAGS,
    epilogue: `A controller with --approval=manual holds back every change until it is approved; with --approval=deletions, only deletions.
Each change is approved separately. Its id covers exactly the change shown: if the change becomes a different one, it waits for
approval again, under a new id.

Examples:
  lotse approve                                     # show all changes that wait, with their ids
  lotse approve default/web                         # only those of one Service or Node
  lotse approve 3f9a1c02be5d4471a0c2f1d0e8b97a66    # approve one; several ids approve several

Exit codes: 0 approved or nothing waits, 2 changes wait, 1 error.`,
    action: async (given) => (await import("./record/approve.ts")).approve(given),
  },
  {
    name: "audit",
    summary: "show every change made to the cloud: time, object, old and new values, and outcome",
    operands: "[object]",
    flags: [
      ...ACCESS_FLAGS,
      { name: "since", value: "<duration>", doc: "only changes this recent: 90s, 15m, 24h …" },
      { name: "verbose", doc: "show every field with its reason, and every request" },
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
      ...READER_FLAGS,
      NAMESPACE_FLAG,
      ...LEASE_FLAGS,
      { name: "once", doc: "print once, as when the output is not a terminal" },
      JSON_FLAG,
    ],
    epilogue: `The live view is redrawn every two seconds. It lists load balancers every ten seconds, and servers and the network every 30
seconds, which takes up to 600 of the 3600 requests per hour.

Examples:
  lotse status --cluster-cidr 10.244.0.0/16
  lotse status --json | jq '.balancers[] | select(.state != "ready")'

${ENVIRONMENT}`,
    action: async (given) => (await import("./status/status.ts")).status(given),
  },
  {
    name: "render",
    summary: "print the cloud resources that the cluster asks for, as YAML or JSON",
    operands: "[manifests...]",
    flags: [...READER_FLAGS, FROM_FLAG, JSON_FLAG],
    epilogue: `Exit codes: 0 everything could be rendered, 3 something is refused (listed under "refused"), 1 error.\n\n${ENVIRONMENT}`,
    action: async (given) => (await import("./preview/render.ts")).render(given),
  },
  {
    name: "adopt",
    summary: "show which load balancer each Service would get, as before a migration; or hand one over to a Service",
    operands: "[namespace/service]",
    flags: [
      ...READER_FLAGS,
      NAMESPACE_FLAG,
      { name: "load-balancer", value: "<id or name>", doc: "hand this load balancer over to the Service" },
      YES_FLAG,
      JSON_FLAG,
    ],
    epilogue: `Without a Service, makes no changes, and works while the official controller is running. Use the flags and environment that
Lotse will have.

With a Service and a load balancer, shows what would change and, with --yes, sets labels on the load balancer that let this
Service adopt it. The controller then takes it over. Use this after a cluster was rebuilt, when the load balancer still
belongs to a Service of the old one, and where LOTSE_ADOPTION=labelled requires it. The change is recorded in the
controller's namespace, which you must be allowed to write to.

Examples:
  lotse adopt --cluster-cidr 10.244.0.0/16
  lotse adopt --json | jq '.services[] | select(.finds != "own")'
  lotse adopt default/web --load-balancer shop          # show what would change
  lotse adopt default/web --load-balancer shop --yes    # hand it over

${FORECAST_CODES}

${ENVIRONMENT}`,
    action: async (given) => (await import("./status/adopt.ts")).adopt(given),
  },
  {
    name: "destroy",
    summary: "show this cluster's load balancers, certificates and routes, and delete them",
    flags: DEPARTURE_FLAGS,
    epilogue: `Has the same effect as deleting every Service: a load balancer stays if it was adopted, is protected against deletion, has
foreign parts, or has the annotation on-delete: keep. The Services themselves stay, without addresses. Resources that do not belong to this
cluster are not touched. Deleted addresses cannot be restored.

Stop the controller first. The command refuses to run next to a leading controller, which it finds by the Lease, and a
controller that starts later recreates everything.

Examples:
  lotse destroy --cluster-cidr 10.244.0.0/16          # show what would be deleted, and ask
  lotse destroy --cluster-cidr 10.244.0.0/16 --yes    # delete it

${DEPARTURE_CODES}

${ENVIRONMENT}`,
    action: async (given) => (await import("./departure/depart.ts")).destroy(given),
  },
  {
    name: "release",
    summary: "show this cluster's load balancers, and stop managing them; they stay as they are",
    flags: DEPARTURE_FLAGS,
    epilogue: `Removes the owner labels from load balancers and the finalizer from Services. Deleting a Service, or the cluster, then no
longer deletes its load balancer. Routes and certificates stay. You do not need this to return to the official controller,
which takes over what it finds.

Stop the controller first: a controller that starts later takes the load balancers back by their names. They return only to
Services of the same namespace and name.

Examples:
  lotse release          # show what would be released, and ask
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
