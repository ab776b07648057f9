/** Routes of `/ssh_keys`. */
import { createHash } from "node:crypto";
import { nameTaken } from "../api/errors.ts";
import { name } from "../api/fields.ts";
import { labels } from "../api/labels.ts";
import { commonRules, textFilter } from "../api/listing.ts";
import { claimName, deleteRoute, one, readRoutes, renameRoute, type StoredKind } from "../api/resource.ts";
import type { Answer, Call, Route } from "../api/route.ts";
import { type Check, object, optional, parseBody, reject } from "../api/schema.ts";
import type { SshKeyRecord } from "../state/records.ts";

/** SSH keys, for the generic routes. */
export const sshKeyKind: StoredKind<SshKeyRecord, SshKeyRecord> = {
  singular: "ssh_key",
  rows: (project) => project.sshKeys,
  view: (_project, key) => key,
  rules: {
    ...commonRules({ fingerprint: textFilter((key) => key.fingerprint) }),
    sort: { id: (key) => key.id, name: (key) => key.name },
  },
};

const PUBLIC_KEY = /^((?:ssh|ecdsa|sk)-[a-z0-9@.-]+) ([A-Za-z0-9+/]+={0,2})(?: [^\n]*)?\n?$/;

/** A line of an `authorized_keys` file. The type in the blob must equal the first word. */
const publicKey: Check<string> = (value, path) => {
  const match = typeof value === "string" ? PUBLIC_KEY.exec(value) : null;
  const [, type = "", blob = ""] = match ?? [];
  const bytes = Buffer.from(blob, "base64");
  const named = bytes.length > 4 ? bytes.subarray(4, 4 + bytes.readUInt32BE(0)).toString() : "";
  return type !== "" && named === type ? String(value) : reject(path, "Must be a valid SSH public key.");
};

/** MD5 of the key blob, as `ssh-keygen -E md5` prints it. */
function fingerprintOf(key: string): string {
  const blob = Buffer.from(key.split(" ")[1] ?? "", "base64");
  const digest = createHash("md5").update(blob).digest("hex");
  return (digest.match(/../g) ?? []).join(":");
}

const createBody = object({ name, public_key: publicKey, labels: optional(labels) });

function create({ project, body }: Call): Answer {
  const { name: keyName, public_key, labels: keyLabels } = parseBody(createBody, body);
  const message = "SSH key name is already used";
  claimName(project.sshKeys, keyName, { message });
  const fingerprint = fingerprintOf(public_key);
  if (project.sshKeys.idsWith(`fingerprint/${fingerprint}`).size > 0) {
    throw nameTaken("SSH key with the same fingerprint already exists", "public_key");
  }
  const key = project.sshKeys.put({ ...project.newResource(keyName, keyLabels), fingerprint, public_key });
  return { ...one(sshKeyKind, project, key), status: 201 };
}

/** All of `/ssh_keys`. */
export const sshKeyRoutes: readonly Route[] = [
  ...readRoutes(sshKeyKind),
  { method: "POST", path: "/ssh_keys", handle: create },
  renameRoute(sshKeyKind),
  deleteRoute(sshKeyKind, (project, key) => project.sshKeys.delete(key.id)),
];
