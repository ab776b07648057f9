/** Phrases that keep prose from reading as native technical English, and what to write instead. */

interface Banned {
  /** The phrase as a person would name it. */
  readonly phrase: string;
  readonly pattern: RegExp;
  readonly suggestion: string;
}

/** A banned phrase in a text. */
export interface Finding {
  readonly phrase: string;
  readonly suggestion: string;
  /** Line of the text, from 1. */
  readonly line: number;
}

/** One row for each phrase. Patterns match across line breaks: prose is wrapped. */
const BANNED: readonly Banned[] = [
  { phrase: "whoever", pattern: /\bwhoever\b/i, suggestion: "name the actor: the client, the caller, everyone who …" },
  { phrase: "somebody", pattern: /\bsomebody\b/i, suggestion: "name the actor: a person, another client, an operator" },
  { phrase: "nobody", pattern: /\bnobody\b/i, suggestion: "name the actor: no client, no replica, nothing" },
  { phrase: "is told", pattern: /\b(is|are|was|were|be) told\b/i, suggestion: "is reported, is notified" },
  { phrase: "hears of", pattern: /\b(hears?|heard) (of|so)\b/i, suggestion: "is notified, gets an Event" },
  { phrase: "is to be had", pattern: /\b(is|are|to|can|cannot|could) (to )?be had\b/i, suggestion: "is available" },
  { phrase: "any more", pattern: /\bany more\b/i, suggestion: "no longer" },
  { phrase: "for so long", pattern: /\bfor so long\b/i, suggestion: "this long, for this period" },
  { phrase: "anew", pattern: /\banew\b/i, suggestion: "again, or the verb: recreate, reopen, reissue" },
  { phrase: "is well", pattern: /\b(is|are) (it )?well(?=[.,;:?!])/i, suggestion: "is healthy" },
  { phrase: "try again", pattern: /\b(try|tries|tried|trying) again\b/i, suggestion: "retry" },
  { phrase: "such a one", pattern: /\bsuch a one\b/i, suggestion: "repeat the noun" },
  { phrase: "what there is", pattern: /\bwhat there (is|was)\b/i, suggestion: "what exists" },
  { phrase: "of our making", pattern: /\bof (our|its|their) making\b/i, suggestion: "generated, created by …" },
  { phrase: "balancer", pattern: /(?<!\bload[-\s])\bbalancers?\b/i, suggestion: "load balancer" },
];

/** Every banned phrase in a text, in the order of its lines. */
export function bannedIn(text: string): readonly Finding[] {
  const findings = BANNED.flatMap(({ phrase, pattern, suggestion }) =>
    [...text.matchAll(new RegExp(widened(pattern), "gi"))].map(({ index }) => ({
      phrase,
      suggestion,
      line: text.slice(0, index).split("\n").length,
    })),
  );
  return findings.toSorted((a, b) => a.line - b.line);
}

/** The pattern with every blank standing for any white space. */
function widened({ source }: RegExp): string {
  return source.replaceAll(" ", "\\s+");
}
