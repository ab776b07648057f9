/**
 * The mirror: the cluster's units and outputs as the state of an ordinary Pulumi stack, for people and other programs.
 * Lotse never reads it. Its records have `retainOnDelete`, so that `pulumi destroy` removes nothing in the cloud.
 */
import { rootUrn } from "../units/names.ts";
import type { StackOutputs } from "../units/outputs.ts";
import type { UnitSpec, UnitStates } from "../units/spec.ts";
import { FORMAT, recordsFor, renderCheckpoint } from "./checkpoint.ts";
import { VERSIONS } from "./versions.ts";
import { backendFile, cliEnvironment, type EngineHome, prepareFolders, removeLocks, writeState } from "./workspace.ts";

const STACK_TYPE = "pulumi:pulumi:Stack";

/** What a mirror shows. */
export interface Mirrored {
  readonly stack: string;
  readonly existing: UnitStates;
  readonly specs: readonly UnitSpec[];
  readonly outputs: StackOutputs;
}

/** Where mirrors are saved. */
export interface StateStore {
  /** Replaces the saved state. Throws if another process has saved one since the last access, where that is detectable. */
  save(text: string): Promise<void>;
}

/** The text of the state. `at` is the time that Pulumi shows as the last update. */
export function renderMirror({ stack, existing, specs, outputs }: Mirrored, at: Date): string {
  // No provider settings: a plain command line does not set any either.
  const context = { stack, provider: { version: VERSIONS.hcloud, config: {} } };
  const records = recordsFor(existing, specs, context).map((record) => {
    if (record.urn === rootUrn(stack)) return { ...record, outputs };
    return record.parent === undefined ? record : { ...record, retainOnDelete: true };
  });
  return renderCheckpoint(records, stack, at);
}

/** A saved mirror, parsed. */
export interface SavedMirror {
  /** What `pulumi stack import` takes. */
  readonly exported: { readonly version: number; readonly deployment: object };
  /** The outputs, in the version that the controller wrote. */
  readonly outputs: StackOutputs;
  /** When it was saved, in ISO 8601. */
  readonly savedAt: string;
}

interface SavedState {
  readonly version?: number;
  readonly checkpoint?: {
    readonly latest?: {
      readonly manifest?: { readonly time?: string };
      readonly resources?: readonly { readonly type?: string; readonly outputs?: StackOutputs }[];
    };
  };
}

/** Parses the text of a mirror; undefined if it is none, or of another format. */
export function parseMirror(text: string): SavedMirror | undefined {
  const { version, checkpoint } = parseState(text);
  const { manifest, resources } = checkpoint?.latest ?? {};
  const outputs = Array.isArray(resources) ? resources.find(({ type }) => type === STACK_TYPE)?.outputs : undefined;
  if (version !== FORMAT || !checkpoint?.latest || !outputs) return undefined;
  return { exported: { version, deployment: checkpoint.latest }, outputs, savedAt: manifest?.time ?? "" };
}

function parseState(text: string): SavedState {
  try {
    return (JSON.parse(text) as SavedState | null) ?? {};
  } catch {
    return {};
  }
}

/** Variables that only the engine's own runs need. */
const OWN = new Set(["USER", "PATH", "HOME", "PULUMI_SKIP_CHECKPOINTS", "PULUMI_IGNORE_AMBIENT_PLUGINS"]);

/** Writes a local backend with the mirror. Returns the environment with which `pulumi` uses it. */
export async function writeBackend(home: EngineHome, mirrored: Mirrored): Promise<Record<string, string>> {
  await prepareFolders(home);
  await removeLocks(home);
  await writeState(backendFile(home), renderMirror(mirrored, new Date()));
  return Object.fromEntries(Object.entries(cliEnvironment(home)).filter(([name]) => !OWN.has(name)));
}
