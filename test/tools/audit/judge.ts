/** Evaluates the output of `npm audit --json`. */

/** Accepted advisories, with the reason. An empty reason is not accepted. */
export type Allowed = Readonly<Record<string, string>>;

interface Report {
  readonly vulnerabilities?: Readonly<Record<string, Vulnerability>>;
}

interface Vulnerability {
  readonly via?: readonly (string | Advisory)[];
}

interface Advisory {
  readonly url?: string;
  readonly title?: string;
  readonly name?: string;
  readonly severity?: string;
}

const GRAVE: ReadonlySet<string | undefined> = new Set(["high", "critical"]);

/**
 * Whether the packages pass, and the reason as text. Fails for severe advisories that are not accepted. Passes, with a
 * note, if the registry has no audit endpoint.
 */
export function judgeAudit(output: string, allowed: Allowed) {
  const report = parse(output);
  if (!report?.vulnerabilities) {
    return { isFine: true, message: "SKIPPED: npm audit, because the registry does not support it" };
  }
  const all = Object.values(report.vulnerabilities).flatMap(({ via = [] }) => via);
  const grave = all.filter((it): it is Advisory => typeof it !== "string" && GRAVE.has(it.severity));
  const unknown = [...new Map(grave.map((it) => [it.url ?? "", it])).values()].filter(({ url = "" }) => !allowed[url]);
  if (unknown.length === 0) return { isFine: true, message: "no severe vulnerabilities, except accepted ones" };
  const lines = unknown.map(({ severity, name, title, url }) => `${severity}: ${name}: ${title} ${url}`);
  return { isFine: false, message: lines.join("\n") };
}

function parse(output: string): Report | undefined {
  try {
    return JSON.parse(output) as Report;
  } catch {
    return undefined;
  }
}
