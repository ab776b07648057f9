/** Reads what `npm audit --json` says. */

/** Advisory → why we can live with it. Both are for people: an entry without a reason is refused. */
export type Allowed = Readonly<Record<string, string>>;

/** The outcome in a line or a few, and whether work may go on. */
export interface Judgement {
  readonly isFine: boolean;
  readonly message: string;
}

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

/** Grave advisories that are not allowed make it fail; a registry that has no answers is said aloud, and fine. */
export function judgeAudit(output: string, allowed: Allowed): Judgement {
  const report = parse(output);
  if (!report?.vulnerabilities) {
    return { isFine: true, message: "SKIPPED: the registry has no answers about known weaknesses (npm audit)" };
  }
  const all = Object.values(report.vulnerabilities).flatMap(({ via = [] }) => via);
  const grave = all.filter((it): it is Advisory => typeof it !== "string" && GRAVE.has(it.severity));
  const unknown = [...new Map(grave.map((it) => [it.url ?? "", it])).values()].filter(({ url = "" }) => !allowed[url]);
  if (unknown.length === 0) return { isFine: true, message: "no grave weakness is known that is not allowed" };
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
