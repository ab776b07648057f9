/** Users and their kubeconfigs. */
import type { Credential } from "./certificates.ts";

/** A user of the API server. RBAC determines the permissions. */
export interface User {
  readonly name: string;
  readonly groups?: readonly string[];
}

/** A user with all permissions: the API server binds the group to the role cluster-admin. */
export const administrator: User = { name: "lotse-admin", groups: ["system:masters"] };

const serviceAccountPrefix = "system:serviceaccount:";

/** The groups of a user, including those that the token of a service account would have. */
export function groupsOf({ name, groups = [] }: User): readonly string[] {
  if (!name.startsWith(serviceAccountPrefix)) return groups;
  const [namespace] = name.slice(serviceAccountPrefix.length).split(":");
  return [...groups, "system:serviceaccounts", `system:serviceaccounts:${namespace}`];
}

/** A self-contained kubeconfig, as JSON. */
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
