/** The commands beside `run`. Each is loaded when it is called: the controller should not carry them in its memory. */
import type { CommandDefinition } from "../command-line.ts";
import { CLUSTER_FLAGS, type Flag } from "../flags.ts";

const ENVIRONMENT = `Reads the same environment as the controller: HCLOUD_TOKEN, HCLOUD_NETWORK, HCLOUD_ENDPOINT, HCLOUD_LOAD_BALANCERS_*.
The cluster is the one that kubectl would talk to: --kubeconfig, $KUBECONFIG or ~/.kube/config.`;

const JSON_FLAG: Flag = { name: "json", doc: "print JSON, for programs" };

export const OTHER_COMMANDS: readonly CommandDefinition[] = [
  {
    name: "preview",
    summary: "show what the controller would change in the cloud right now, and why; changes nothing",
    flags: [
      ...CLUSTER_FLAGS,
      { name: "from", value: "<path>", doc: "as if the Services and Nodes in this file or folder were applied" },
      { name: "node-count", value: "<count>", doc: "as if the cluster had this many nodes" },
      JSON_FLAG,
      { name: "markdown", doc: "print Markdown, for a comment on a pull request" },
    ],
    epilogue: `Examples:
  lotse preview --cluster-cidr 10.244.0.0/16
  lotse preview --from manifests/ --markdown
  lotse preview --node-count 12

Exit codes: 0 nothing to change, 2 changes, 1 an error, which is explained.

${ENVIRONMENT}`,
    action: async (given) => (await import("./preview.ts")).preview(given),
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
    action: async (given) => (await import("./stack.ts")).stack(given),
  },
];
