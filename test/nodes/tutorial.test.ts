/** Runs the tutorial on real nodes, from the cluster without a controller on, with its sections `With real nodes`. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Shell } from "../support/console.ts";
import { sectionOf, shellLines } from "../support/readme.ts";
import { RealDemo } from "../support/real-demo.ts";
import { readPage, runPage } from "../support/tutorial.ts";

const FIRST = "2-development-environment";
/** The rest of the first page is about servers at Hetzner. */
const SECTIONS = ["A cluster without a controller", "With real nodes"];
const PAGES = ["3-nodes", "4-services", "5-routes"];

describe("the tutorial, on real nodes", () => {
  const ends = new AsyncDisposableStack();
  let shell: Shell;

  beforeAll(async () => {
    const [start, enter] = shellLines(sectionOf(await readPage(FIRST), "With real nodes"));
    expect([start, enter]).toEqual(["npm start -- --real --no-controller", "sh .lotse/world bash"]);
    const demo = ends.use(new RealDemo("--no-controller"));
    await demo.ready();
    shell = ends.use(demo.shell());
  });
  afterAll(() => ends.disposeAsync());

  test.each(SECTIONS)(`${FIRST}: %s`, async (section) => {
    await runPage(shell, sectionOf(await readPage(FIRST), section));
  });

  test.each(PAGES)("%s", { timeout: 300_000 }, async (page) => {
    await runPage(shell, await readPage(page));
  });
});
