/** What is checked before a run creates anything: token, leftovers, an empty project, the price. */
import { InvalidArgumentError } from "commander";
import type { ProjectApi } from "../../dev-env/project/api.ts";
import { describeFound } from "../../dev-env/project/inventory.ts";
import { listOwn, listProject, removeOwn } from "./project.ts";

/** How to run the suite. */
export interface AccountOptions {
  readonly location: string;
  readonly serverType: string;
  /** A domain whose DNS zone is hosted at Hetzner, for a managed certificate. */
  readonly domain?: string;
  /** Interval at which the controller looks for drift. */
  readonly resync: string;
  readonly timeoutMs: number;
  /** Ids of the steps to run; absent means all. */
  readonly only?: readonly string[];
  readonly signal: AbortSignal;
  readonly say: (topic: string, text: string) => void;
}

/** A problem that the user must solve. The message says how. */
export class AccountError extends Error {
  override readonly name = "AccountError";
}

/** A number of seconds on the command line, in milliseconds. */
export function parseSeconds(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError("not a whole number of seconds from 1 to 99999");
  return Number(text) * 1000;
}

/** Removes what a killed run has left. Returns the number of removed resources. */
export async function clean(api: ProjectApi, say: AccountOptions["say"]): Promise<number> {
  const left = await listOwn(api);
  if (left.length === 0) return 0;
  say("leftovers", `of an earlier run: ${describeFound(left)}`);
  const removed = await removeOwn(api);
  say("leftovers", `${removed} removed`);
  return removed;
}

/** Throws unless the project is empty. */
export async function refuseUsedProject(api: ProjectApi, domain?: string): Promise<void> {
  const found = await listProject(api, domain);
  if (found.length === 0) return;
  throw new AccountError(
    `the project is not empty: ${describeFound(found)}. Nothing was changed. Create a project for this test alone, and a token for it`,
  );
}
