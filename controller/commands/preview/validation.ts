/**
 * Checks manifests as the API server does: the types of all fields, unknown fields, and the ports of Services. The types
 * come from the generated models of the Kubernetes client.
 */
import type { V1Service } from "@kubernetes/client-node";
import { matching, objectName } from "../../config/flag-values.ts";
import { quote } from "../../formats/values.ts";

/** Anything that looks like a Kubernetes object. Other fields have not been checked. */
export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
}

type Attributes = readonly { readonly baseName: string; readonly type: string }[];
type Models = Readonly<Record<string, { getAttributeTypeMap?(): Attributes }>>;

/** Returns all mistakes of a Service or Node, each with its field and the remedy. */
export type Validator = (object: ManifestObject) => readonly string[];

/** Loads the models, which takes about half a second. */
export async function loadValidator(): Promise<Validator> {
  const models = (await import("@kubernetes/client-node")) as unknown as Models;
  return (object) => {
    const mistakes = checkType(object, `V1${object.kind}`, "", models);
    if (mistakes.length > 0) return mistakes; // fields of the wrong type cannot be checked further
    const known = withoutNulls(object);
    return [...checkName(known), ...(object.kind === "Service" ? checkService(known as V1Service) : [])];
  };
}

/** The API server takes a field that is null for absent. */
export function withoutNulls<T>(value: T): T {
  return stripped(value) as T;
}

function stripped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stripped);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(fields.map(([key, inner]) => [key, stripped(inner)]));
}

/** `type` is a TypeScript type as the models write it. */
function checkType(value: unknown, type: string, path: string, models: Models): readonly string[] {
  if (value === null || value === undefined) return [];
  const item = /^Array<(.+)>$/.exec(type)?.[1];
  if (item !== undefined) {
    if (!Array.isArray(value)) return [`${path}: must be a list`];
    return value.flatMap((one, index) => {
      const at = `${path}[${index}]`;
      return one === null ? [`${at}: must not be empty`] : checkType(one, item, at, models);
    });
  }
  const entry = /^\{ \[key: string\]: (.+); \}$/.exec(type)?.[1];
  const attributes = models[type]?.getAttributeTypeMap?.();
  if (entry === undefined && !attributes) return checkScalar(value, type, path);
  if (typeof value !== "object" || Array.isArray(value)) return [`${path}: must be an object with fields`];
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = fieldPath(path, key);
    if (entry !== undefined) return checkType(inner, entry, at, models);
    const attribute = attributes?.find(({ baseName }) => baseName === key);
    return attribute ? checkType(inner, attribute.type, at, models) : [`${at}: unknown field, check its spelling`];
  });
}

function fieldPath(path: string, key: string): string {
  if (path === "metadata.annotations") return `annotation ${key}`;
  return path === "metadata.labels" ? `label ${key}` : path === "" ? key : `${path}.${key}`;
}

interface Scalar {
  readonly name: string;
  readonly fits: (value: unknown) => boolean;
  /** What looks like this fits without its quotes. Absent for strings, which fit with quotes. */
  readonly unquoted?: RegExp;
}

const isText = (value: unknown) => typeof value === "string";

/** Every other type, such as a date, is a string in a manifest. */
const TEXT: Scalar = { name: "a string", fits: isText };
const SCALARS: Readonly<Record<string, Scalar>> = {
  number: { name: "a whole number", fits: Number.isInteger, unquoted: /^-?\d+$/ },
  boolean: { name: "a boolean", fits: (value) => typeof value === "boolean", unquoted: /^(true|false)$/ },
  IntOrString: { ...TEXT, fits: (value) => isText(value) || Number.isInteger(value) },
  any: { ...TEXT, fits: () => true },
};

function checkScalar(value: unknown, type: string, path: string): readonly string[] {
  const { name, fits, unquoted } = SCALARS[type] ?? TEXT;
  if (fits(value)) return [];
  if (typeof value === "object") return [`${path}: must be ${name}`];
  if (typeof value !== "string") return [`${path}: ${value} is not ${name}${unquoted ? "" : ": put it in quotes"}`];
  return [`${path}: ${quote(value)} is not ${name}${unquoted?.test(value) ? ": remove the quotes" : ""}`];
}

/** A Service's name is also a label of DNS. */
const serviceName = matching(
  /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/,
  "a name of at most 63 lower-case letters, digits and dashes",
);

function checkName({ kind, metadata }: ManifestObject): readonly string[] {
  const name = metadata?.name ?? "";
  const parsed = kind === "Service" ? serviceName(name) : objectName(name);
  return "value" in parsed ? [] : [`metadata.name: ${quote(name)} is not ${parsed.allowed}`];
}

const TYPES = ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"];
const PROTOCOLS = ["TCP", "UDP", "SCTP"];

function checkService({ spec }: V1Service): readonly string[] {
  const { type = "ClusterIP", ports = [], clusterIP } = spec ?? {};
  const isPortless = type === "ExternalName" || clusterIP === "None";
  const keys = ports.map(({ port, protocol = "TCP" }) => `${port}/${protocol}`);
  return [
    ...(TYPES.includes(type) ? [] : [`spec.type: ${quote(type)} is not one of ${TYPES.join(", ")}`]),
    ...(ports.length === 0 && !isPortless ? ["spec.ports: at least one port is required"] : []),
    ...ports.flatMap(({ port, nodePort, protocol = "TCP", name }, index) => [
      ...checkPort(port, `spec.ports[${index}].port`),
      ...(nodePort ? checkPort(nodePort, `spec.ports[${index}].nodePort`) : []),
      ...(PROTOCOLS.includes(protocol)
        ? []
        : [`spec.ports[${index}].protocol: ${quote(protocol)} is not one of ${PROTOCOLS.join(", ")}`]),
      ...(ports.length > 1 && !name ? [`spec.ports[${index}].name: required when there are several ports`] : []),
      ...(keys.indexOf(`${port}/${protocol}`) < index
        ? [`spec.ports[${index}]: ${port}/${protocol} is listed twice`]
        : []),
    ]),
  ];
}

function checkPort(port: number | undefined, path: string): readonly string[] {
  if (port === undefined) return [`${path}: required`];
  return port >= 1 && port <= 65_535 ? [] : [`${path}: ${port} must be from 1 to 65535`];
}
