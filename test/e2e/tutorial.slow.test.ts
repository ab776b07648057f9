/**
 * Runs every command of the tutorial that needs no real nodes: in a terminal with `npm start`, and in a second one. Where
 * possible as an ordinary user, who may do less than root.
 */
import { afterAll, beforeAll, describe, test } from "vitest";
import { Checkout, printed, whyNoOrdinaryUser } from "../support/checkout.ts";
import type { Shell } from "../support/console.ts";
import { shellLines } from "../support/readme.ts";
import { readPage, runPage, withoutRealNodes } from "../support/tutorial.ts";

const PAGES = ["1-empty-program", "2-development-environment", "3-nodes", "4-services", "5-routes"];

describe("the tutorial", () => {
  const ends = new AsyncDisposableStack();
  let shell: Shell;

  beforeAll(async () => {
    const checkout = ends.use(new Checkout(whyNoOrdinaryUser() ? "current" : "ordinary"));
    const [start = ""] = shellLines(await readPage("2-development-environment"));
    await printed(checkout.start(start), "Ctrl-C stops everything");
    shell = ends.use(checkout.shell());
  });
  afterAll(() => ends.disposeAsync());

  test.each(PAGES)("%s", { timeout: 300_000 }, async (page) => {
    await runPage(shell, withoutRealNodes(await readPage(page)));
  });
});
