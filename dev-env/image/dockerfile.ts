/** Parses the parts of Dockerfiles that this project uses. */

/** One instruction, with continued lines joined. */
export interface Instruction {
  readonly keyword: string;
  readonly text: string;
}

/** A build stage. */
export interface Stage {
  readonly name: string;
  readonly base: string;
  readonly instructions: readonly Instruction[];
}

/** A COPY instruction. */
export interface Copy {
  /** Name of the source stage; absent for the build context. */
  readonly from?: string;
  readonly sources: readonly string[];
  readonly target: string;
}

/** Parses a Dockerfile. Variables in FROM are replaced by the defaults of preceding ARG lines. */
export function parseDockerfile(text: string): readonly Stage[] {
  const stages: Stage[] = [];
  const defaults = new Map<string, string>();
  for (const { keyword, text: rest } of instructionsIn(text)) {
    const stage = stages.at(-1);
    if (keyword === "FROM") {
      const [base = "", , name = "final"] = rest
        .replaceAll(/\$\{(\w+)\}/g, (_, it) => defaults.get(it) ?? "")
        .split(" ");
      stages.push({ name, base, instructions: [] });
    } else if (stage)
      stages.splice(-1, 1, { ...stage, instructions: [...stage.instructions, { keyword, text: rest }] });
    else {
      const [name = "", value = ""] = rest.split("=");
      defaults.set(name, value);
    }
  }
  return stages;
}

function instructionsIn(text: string): readonly Instruction[] {
  const lines = text.replaceAll(/\\\n/g, " ").split("\n");
  return lines.flatMap((line) => {
    const match = /^(?<keyword>[A-Z]+) (?<rest>.+)$/.exec(line);
    return match?.groups ? [{ keyword: match.groups.keyword ?? "", text: (match.groups.rest ?? "").trim() }] : [];
  });
}

/** Texts of all instructions of one kind. */
export function textsOf({ instructions }: Stage, keyword: string): readonly string[] {
  return instructions.filter((it) => it.keyword === keyword).map(({ text }) => text);
}

/** The copies of a stage, in order. */
export function copiesOf(stage: Stage): readonly Copy[] {
  return textsOf(stage, "COPY").map((text) => {
    const words = text.split(" ");
    const from = words.find((word) => word.startsWith("--from="))?.slice("--from=".length);
    const paths = words.filter((word) => !word.startsWith("--"));
    return { ...(from && { from }), sources: paths.slice(0, -1), target: paths.at(-1) ?? "" };
  });
}

type Pairs = Readonly<Record<string, string>>;

/** The environment or the labels of a stage, with `args` as build arguments. */
export function pairsIn(stage: Stage, keyword: "ENV" | "LABEL", args: Pairs = {}): Pairs {
  const pairs = textsOf(stage, keyword).flatMap((text) => text.split(" "));
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return [name, value.join("=").replaceAll(/\$\{(\w+)\}/g, (_, it) => args[it] ?? "")];
    }),
  );
}

/** Which files a `.dockerignore` excludes: the last matching line decides. */
export function parseDockerignore(text: string): (path: string) => boolean {
  const rules = text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => ({ keeps: line.startsWith("!"), pattern: patternOf(line.replace(/^!/, "")) }));
  return (path) => rules.findLast(({ pattern }) => pattern.test(path))?.keeps === false;
}

/** A line as a pattern, which also matches everything below a matching folder. */
function patternOf(line: string): RegExp {
  const escaped = line.replaceAll(/[.+?^$()[\]{}|\\]/g, "\\$&");
  const body = escaped.replaceAll(/\*\*\/|\*/g, (stars) => (stars === "*" ? "[^/]*" : "(?:.*/)?"));
  return new RegExp(`^${body}(?:/|$)`);
}
