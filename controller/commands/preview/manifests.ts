/** Reads Services and Nodes from manifests in files and folders. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { parseAllDocuments } from "yaml";
import { ConfigError, messageOf } from "../../diagnostics/errors.ts";

/** Objects found in manifests. */
export interface Manifests {
  readonly services: readonly V1Service[];
  readonly nodes: readonly V1Node[];
  /** Number of objects of other kinds, which do not affect the cloud. */
  readonly others: number;
}

/** Reads a file, or all `.yaml`, `.yml` and `.json` files below a folder. Throws a ConfigError that names every invalid file. */
export function readManifests(path: string): Manifests {
  const mistakes: string[] = [];
  const objects = filesIn(path).flatMap((file) => {
    try {
      return parseManifests(readFileSync(file, "utf8"));
    } catch (error) {
      mistakes.push(`--from ${file}: ${messageOf(error)}`);
      return [];
    }
  });
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  const services = objects.filter(isKind<V1Service>("Service"));
  const nodes = objects.filter(isKind<V1Node>("Node"));
  return { services, nodes, others: objects.length - services.length - nodes.length };
}

interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: { readonly name?: string };
}

/** All objects of a manifest; Lists are replaced by their items. */
export function parseManifests(text: string): readonly ManifestObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors;
    if (error) throw error;
    return objectsOf(document.toJS());
  });
}

function objectsOf(value: unknown): readonly ManifestObject[] {
  if (value === null || value === undefined) return [];
  const object = value as Partial<ManifestObject> & { readonly items?: unknown };
  if (typeof object !== "object" || typeof object.kind !== "string" || typeof object.apiVersion !== "string")
    throw new Error("not a Kubernetes manifest: apiVersion or kind is missing");
  if (object.kind.endsWith("List") && Array.isArray(object.items)) return object.items.flatMap(objectsOf);
  if (typeof object.metadata?.name !== "string") throw new Error(`${object.kind} without metadata.name`);
  return [object as ManifestObject];
}

function isKind<T>(kind: string) {
  return (object: ManifestObject): object is ManifestObject & T => object.kind === kind && object.apiVersion === "v1";
}

function filesIn(path: string): readonly string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    return readdirSync(path, { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(ya?ml|json)$/.test(name))
      .map((name) => join(path, name))
      .filter((file) => statSync(file).isFile())
      .toSorted();
  } catch (error) {
    throw new ConfigError([`--from ${path}: ${messageOf(error)}`]);
  }
}
