/** `npm run test:account`: the suite on a real account, in an empty project. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { CloudError, messageOf } from "../../controller/diagnostics/errors.ts";
import { programVersion } from "../../controller/diagnostics/version.ts";
import { type Access, DEFAULT_ENDPOINT, explainCloudError, ProjectApi } from "../../dev-env/project/api.ts";
import { ask } from "../../dev-env/terminal/ask.ts";
import { Screen } from "../../dev-env/terminal/screen.ts";
import type { AccountRun } from "./account.ts";
import { AccountError, type AccountOptions, clean, parseSeconds, refuseUsedProject } from "./checks.ts";
import { describePrice } from "./price.ts";
import { record } from "./recording.ts";
import { replay } from "./replay.ts";
import { countCalls, type Report, renderMarkdown, summaryOf } from "./report.ts";

const CLEAN_HINT = "Run `npm run test:account -- --clean` to remove what is left: it costs money.";

interface Flags {
  readonly yes?: true;
  readonly clean?: true;
  readonly location: string;
  readonly serverType: string;
  readonly domain?: string;
  readonly resync: string;
  readonly timeout: number;
  readonly only?: string;
  readonly report: string;
  readonly record?: true;
}

const flags = new Command("npm run test:account --")
  .description("Runs Lotse against the Hetzner Cloud API, in the empty project that HCLOUD_TOKEN belongs to")
  .option("--yes", "do not ask before money is spent")
  .option("--clean", "remove what a killed run has left, and nothing else")
  .option("--location <location>", "location of servers and load balancers", "fsn1")
  .option("--server-type <type>", "type of the two servers", "cx23")
  .option("--domain <name>", "a domain whose DNS zone is at Hetzner, for a managed certificate")
  .option("--resync <duration>", "how often the controller looks for drift", "15s")
  .option("--timeout <seconds>", "how long a step may wait (default: 180)", parseSeconds, 180_000)
  .option("--record", "keep the exchanges with the API beside the report, without secrets and addresses")
  .option("--only <ids>", "steps to run, separated by commas")
  .option(
    "--report <folder>",
    "where reports are written",
    fileURLToPath(new URL("../../.lotse/account", import.meta.url)),
  )
  .parse()
  .opts<Flags>();

const screen = new Screen(process.stdout);
const stop = new AbortController();
const access: Access = {
  endpoint: process.env.HCLOUD_ENDPOINT || DEFAULT_ENDPOINT,
  token: process.env.HCLOUD_TOKEN ?? "",
};

try {
  process.exitCode = await main();
} catch (error) {
  const isExpected = error instanceof AccountError;
  const text =
    error instanceof CloudError
      ? explainCloudError(error, access.endpoint)
      : isExpected
        ? error.message
        : (error as Error).stack;
  process.stderr.write(`test:account: ${text}\n`);
  process.exitCode = 1;
}

async function main(): Promise<number> {
  if (access.token === "")
    throw new AccountError(
      "HCLOUD_TOKEN is not set: create a project for this test alone, and a token with read and write rights",
    );
  const { location, serverType, domain, resync, timeout: timeoutMs, only } = flags;
  const options: AccountOptions = {
    ...{ location, serverType, resync, timeoutMs },
    signal: stop.signal,
    say: (topic, text) => screen.say(topic, text),
    ...(domain !== undefined && { domain }),
    ...(only !== undefined && { only: only.split(",") }),
  };
  using api = new ProjectApi(access, "test-account");
  // Also proves that the token is valid.
  const price = describePrice(options, await api.prices());
  const removed = await clean(api, options.say);
  if (flags.clean) {
    if (removed === 0) screen.say("leftovers", "there are none");
    return 0;
  }
  await refuseUsedProject(api, flags.domain);
  screen.say("price", price);
  await agree();
  listenForStop();
  // Loaded only now: what it needs takes seconds to load, and refusals should be quick.
  const { runAccount } = await import("./account.ts");
  return finish(options, await runAccount(access, api, options));
}

/** Asks before money is spent. Throws unless the user agrees. */
async function agree(): Promise<void> {
  if (flags.yes) return;
  const answer = await ask("Type yes to create all this, and remove it at the end: ");
  if (answer === undefined) throw new AccountError("nothing was created: pass --yes to agree to the price");
  if (answer !== "yes") throw new AccountError("nothing was created");
}

/**
 * The first signal ends the list and cleans up, and so does an unexpected error. Only the third one ends at once, because what
 * is left costs money.
 */
function listenForStop(): void {
  let count = 0;
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      count++;
      if (count > 2) {
        process.stderr.write(`\n${CLEAN_HINT}\n`);
        process.exit(130);
      }
      screen.say("stopping", count === 1 ? "…" : "still removing; once more ends at once, and leaves the rest");
      stop.abort(new AccountError("stopped"));
    });
  }
  process.on("uncaughtException", (error) => stop.abort(error));
  // The terminal may be gone, as after `| head`.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
}

/** Writes the report. Returns the exit code. */
async function finish(options: AccountOptions, run: AccountRun): Promise<number> {
  const { results, exchanges, left, failure } = run;
  const date = new Date().toISOString();
  const why =
    failure instanceof CloudError ? explainCloudError(failure, access.endpoint) : failure && messageOf(failure);
  const recording = record(exchanges, flags.domain);
  const report: Report = {
    date,
    endpoint: access.endpoint,
    version: programVersion(),
    results,
    seconds: results.reduce((sum, { seconds }) => sum + seconds, 0),
    calls: countCalls(exchanges),
    differences: await replay(recording).catch((error: unknown) => [`the replay failed: ${messageOf(error)}`]),
    left,
    ...(why !== undefined && { failure: String(why) }),
  };
  await mkdir(flags.report, { recursive: true });
  const file = join(flags.report, date.replaceAll(":", "-").replace(/\..*/, ""));
  await writeFile(`${file}.json`, `${JSON.stringify(report, undefined, 2)}\n`);
  await writeFile(`${file}.md`, renderMarkdown(report));
  if (flags.record) await writeFile(`${file}.recording.json`, JSON.stringify(recording));
  if (why !== undefined) process.stderr.write(`test:account: ${why}\n`);
  if (left !== "") process.stderr.write(`test:account: the project still has ${left}. ${CLEAN_HINT}\n`);
  screen.say("report", `${file}.md: ${summaryOf(results, report.seconds)}`);
  if (options.signal.aborted) return 130;
  return why === undefined && left === "" && results.every(({ outcome }) => outcome !== "failed") ? 0 : 1;
}
