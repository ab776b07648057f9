/** Labels of a load balancer: the owner label, the Service's labels, our marks, and all others, which are kept. */
import { defined } from "../../../stacks/units/defined.ts";
import { SERVICE_UID_LABEL } from "../../../stacks/units/names.ts";
import type { IpVersion, LoadBalancerState, ReverseDns } from "../../../stacks/units/spec.ts";
import {
  ADOPTED_MARK,
  foreignMark,
  isMark,
  isServiceLabel,
  labelMark,
  nameValue,
  othersLabels,
  PROTECTED_MARK,
  rdnsMark,
  YES,
} from "../../formats/marks.ts";
import type { Takeover } from "./adoption.ts";
import type { Settings } from "./options/settings.ts";
import { type ForeignParts, NOTHING_FOREIGN } from "./ours.ts";

type Labels = Readonly<Record<string, string>>;

interface Labelled {
  readonly uid: string;
  readonly existing?: LoadBalancerState | undefined;
  readonly foreign?: ForeignParts | undefined;
  /** How the load balancer is being adopted, if it is. */
  readonly takeover?: Takeover | undefined;
  readonly rdns?: ReverseDns;
}

/** All labels that the load balancer should have. */
export function renderLabels(settings: Settings, { uid, existing, foreign, takeover, rdns = {} }: Labelled): Labels {
  const before = existing?.labels ?? {};
  return {
    ...othersLabels(before, SERVICE_UID_LABEL),
    ...serviceLabels(settings, before),
    ...marked([...(foreign ?? NOTHING_FOREIGN)].map(foreignMark)),
    ...rdnsMarks(settings, rdns, before),
    ...protectionMark(settings, existing),
    ...adoptedMark(takeover, before),
    [SERVICE_UID_LABEL]: uid,
  };
}

const RDNS_OPTIONS = { ipv4: "ipv4Rdns", ipv6: "ipv6Rdns" } as const;

/**
 * Reverse DNS names of the public addresses. Null resets a name that was set for the Service and is no longer wanted; a
 * name that was set elsewhere is left alone.
 */
export function renderRdns(settings: Settings, existing?: LoadBalancerState): ReverseDns {
  return defined({ ipv4: nameFor("ipv4", settings, existing), ipv6: nameFor("ipv6", settings, existing) });
}

function nameFor(version: IpVersion, { options, broken }: Settings, existing?: LoadBalancerState) {
  const option = RDNS_OPTIONS[version];
  if (broken.has(option) || (existing && existing[version] === undefined)) return undefined;
  if (options[option]) return options[option];
  const has = existing?.rdns?.[version];
  return has !== undefined && existing?.labels[rdnsMark(version)] === nameValue(has) ? null : undefined;
}

/** A mark is kept until its name is reset, and while the option is invalid. */
function rdnsMarks({ broken }: Settings, rdns: ReverseDns, before: Labels): Labels {
  const marks: Record<string, string> = {};
  for (const version of ["ipv4", "ipv6"] as const) {
    const mark = rdnsMark(version);
    const name = rdns[version];
    const kept = name === null || broken.has(RDNS_OPTIONS[version]) ? before[mark] : undefined;
    const value = name ? nameValue(name) : kept;
    if (value !== undefined) marks[mark] = value;
  }
  return marks;
}

/** Whether a Service may set a label: those that were set elsewhere are not its own, also if they have the same value. */
function isFree(before: Labels, key: string): boolean {
  return !Object.hasOwn(before, key) || isServiceLabel(before, key);
}

/** The keys of wanted labels that were set elsewhere, to other values. */
export function takenLabels(wanted: Labels, before: Labels): readonly string[] {
  return Object.keys(wanted).filter((key) => !isFree(before, key) && before[key] !== wanted[key]);
}

function serviceLabels({ options, broken }: Settings, before: Labels): Labels {
  if (broken.has("labels")) {
    const kept = Object.entries(before).filter(([key]) => isServiceLabel(before, key) && !isMark(key));
    return { ...Object.fromEntries(kept), ...marked(kept.map(([key]) => labelMark(key))) };
  }
  const wanted = Object.entries(options.labels ?? {}).filter(([key]) => isFree(before, key));
  return { ...Object.fromEntries(wanted), ...marked(wanted.map(([key]) => labelMark(key))) };
}

/**
 * The mark is kept until the protection is gone, and while the option is invalid. A run changes labels first: without the
 * mark, a controller that is killed in between would take the protection for one that was set elsewhere.
 */
function protectionMark({ options, broken }: Settings, existing: LoadBalancerState | undefined): Labels {
  const isKept = broken.has("deleteProtection") || (existing?.deleteProtection ?? false);
  const has = Object.hasOwn(existing?.labels ?? {}, PROTECTED_MARK);
  const isWanted = !broken.has("deleteProtection") && (options.deleteProtection ?? false);
  return isWanted || (isKept && has) ? marked([PROTECTED_MARK]) : {};
}

/** A load balancer that returns to its Service is what it was before: adopted, or made for the Service. */
function adoptedMark(takeover: Takeover | undefined, before: Labels): Labels {
  const isNew = takeover === "found" || takeover === "handed over";
  return isNew || Object.hasOwn(before, ADOPTED_MARK) ? marked([ADOPTED_MARK]) : {};
}

function marked(keys: readonly string[]): Labels {
  return Object.fromEntries(keys.map((key) => [key, YES]));
}
