/**
 * How long the controller waits for what it cannot see, in milliseconds: watches, retries and proofs of absence (the lease
 * has flags). One table, so that the values can be compared, and so that slow tests can shorten all of them alike.
 */
const table = {
  /**
   * A watch is renewed after a random time between `shortest` and `longest`, so a connection that is still silent
   * `grace` after that is dead. This bounds how long a half-open connection goes unnoticed.
   */
  watch: { shortest: 10_000, longest: 15_000, grace: 5_000 },
  /** Pauses between attempts to watch. After `patience` refusals in a row they grow to `mostRefused`. */
  watchRetry: { first: 100, most: 500, mostRefused: 10_000 },
  /** A watch that stayed open this long counts as healthy. */
  steadyWatch: 1_000,
  /** What the API server has not confirmed for this long is not acted on. Longer than the longest watch with its grace. */
  stale: 30_000,
  /** After an outage of this length every loop runs at once instead of waiting for its next retry. */
  outage: 10_000,
  /** An unanswered request has reached its end by then: it is as long as an answer is waited for. */
  absence: 30_000,
  /** A turn that failed. */
  turnRetry: { first: 1_000, most: 30_000 },
  /** A unit that failed, by the verdict on its failure. `never`: until the object changes, with a rare look in between. */
  unitRetry: {
    soon: { first: 1_000, most: 60_000 },
    backoff: { first: 5_000, most: 300_000 },
    never: { first: 300_000, most: 300_000 },
  },
  /** A Service whose finalizer could not be set. */
  claimRetry: 1_000,
};

type Timings<T> = { readonly [K in keyof T]: T[K] extends number ? number : Timings<T[K]> };

export const TIMINGS: Timings<typeof table> = table;

/** For tests that wait for real: multiplies every value. Called before anything else is loaded. */
export function scaleTimings(factor: number): void {
  scale(table, factor);
}

function scale(values: Record<string, unknown>, factor: number): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "number") values[name] = value * factor;
    else scale(value as Record<string, unknown>, factor);
  }
}
