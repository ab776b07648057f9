/**
 * Timings of watches, retries and proofs of absence, in milliseconds (those of the lease are flags). They are one table so that
 * they can be compared, and so that slow tests can scale all of them.
 */
export const TIMINGS = {
  /**
   * A watch is renewed after a random time between `shortest` and `longest`, so a connection that is still silent
   * `grace` after that is dead. This bounds how long a half-open connection goes unnoticed.
   */
  watch: { shortest: 10_000, longest: 15_000, grace: 5_000 },
  /**
   * Limit for a response of the API server. A request that is sent over a half-open connection fails after this time, so it
   * must be shorter than the longest watch with its grace.
   */
  kubeRequest: 15_000,
  /** Pauses between attempts to watch. After several consecutive refusals they grow to `mostRefused`. */
  watchRetry: { first: 100, most: 500, mostRefused: 10_000 },
  /** A watch that stayed open this long counts as healthy. */
  steadyWatch: 1_000,
  /** Lists that the API server has not confirmed for this long are not acted on. Longer than the longest watch with its grace. */
  stale: 30_000,
  /** After an outage of this length every loop runs at once instead of waiting for its next retry. */
  outage: 10_000,
  /** By then an unanswered request can no longer take effect: it equals the request timeout. */
  absence: 30_000,
  /**
   * A turn accepts a list of load balancers of this age: one that was read while it gathered events, or by the turn before
   * it. Not longer than the first pause after a failed unit, so that a retry is planned from a new list.
   */
  recent: 1_000,
  /** Pauses after a failed turn. */
  turnRetry: { first: 1_000, most: 30_000 },
  /** Pauses after a failed unit, by the verdict on its failure, and after a failed write (`soon`). `never` waits for the object to change, with rare retries. */
  unitRetry: {
    soon: { first: 1_000, most: 60_000 },
    backoff: { first: 5_000, most: 300_000 },
    never: { first: 300_000, most: 300_000 },
  },
  /** Changes of units and nodes within this time are saved in the stack's state together. */
  mirror: 5_000,
  /**
   * Pauses between changes of a Service that keeps changing, rounded up to a multiple of `step`, until it has not changed
   * for `calm`. The number of such changes is limited per `window`.
   */
  pace: { first: 30_000, most: 300_000, calm: 600_000, step: 10_000, window: 60_000 },
} as const;
