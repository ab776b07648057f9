import type { Credential } from "./certificates.ts";

/** Who somebody is to the API server. RBAC decides what they may do. */
export interface User {
  readonly name: string;
  readonly groups?: readonly string[];
}

/** May do everything: the group is bound to the role cluster-admin by the API server itself. */
export const administrator: User = { name: "lotse-admin", groups: ["system:masters"] };

const serviceAccountPrefix = "system:serviceaccount:";

/** The groups of a user, with those that the API server would give a service account by its token. */
export function groupsOf({ name, groups = [] }: User): readonly string[] {
  if (!name.startsWith(serviceAccountPrefix)) return groups;
  const [namespace] = name.slice(serviceAccountPrefix.length).split(":");
  return [...groups, "system:serviceaccounts", `system:serviceaccounts:${namespace}`];
}

/** A kubeconfig with everything in it. JSON, which is YAML too. */
export function renderKubeconfig(url: string, authority: string, user: User, credential: Credential): string {
  const encode = (text: string) => Buffer.from(text).toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "lotse", cluster: { server: url, "certificate-authority-data": encode(authority) } }],
    users: [
      {
        name: user.name,
        user: {
          "client-certificate-data": encode(credential.certificate),
          "client-key-data": encode(credential.key),
        },
      },
    ],
    contexts: [{ name: "lotse", context: { cluster: "lotse", user: user.name } }],
    "current-context": "lotse",
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
