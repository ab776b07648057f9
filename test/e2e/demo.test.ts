/** `npm start` as a newcomer runs it: it prints, keeps running and takes flags. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { Checkout, printed } from "../support/checkout.ts";
import { eventually } from "../support/eventually.ts";
import { sectionOf, shellLines } from "../support/readme.ts";

const READY = "Ctrl-C stops everything";

describe("the demo", () => {
  let checkout: Checkout;
  const start = (line: string) => {
    checkout = new Checkout("current");
    return checkout.start(line);
  };
  afterEach(() => checkout?.[Symbol.dispose]());

  it("runs without a controller, which CONTRIBUTING.md starts, until Ctrl-C (newcomer B1)", async () => {
    const [command = "", ...lines] = shellLines(sectionOf(readFileSync("CONTRIBUTING.md", "utf8"), "Debug a run"));
    const demo = start(command);
    await printed(demo, READY);
    expect(await Promise.race([demo.ended, setTimeout(2_000, "still running")]), demo.output()).toBe("still running");
    await using shell = checkout.shell();
    for (const line of lines.slice(0, -1)) {
      const text = await shell.run(line);
      expect([0, 2], `$ ${line}\n\n${text}`).toContain(shell.status);
    }
    await shell.run(`${lines.at(-1)} 2> log &`);
    await eventually(async () => expect(await shell.run("cat log")).toContain("service has its load balancer"));
    await shell.run("kill %1; wait");
    demo.kill("SIGINT");
    await demo.ended;
    expect(demo.output()).toContain("stopping");
    expect(readdirSync(join(checkout.folder, ".lotse"))).toEqual(["bin"]);
  });

  it.each([
    ["npm start -- --approval=manual", "npm start -- -- --approval=manual"],
    ["npm start -- --no-controller -- --approval=manual", "--no-controller starts no controller"],
    ["npm start -- -- --aproval=manual", "Did you mean --approval?"],
  ])("explains what is wrong with %j (newcomer W25)", async (line, text) => {
    const demo = start(line);
    expect(await demo.ended).toBe(1);
    expect(demo.output()).toContain(text);
    expect(demo.output()).not.toMatch(/^ +at /m);
  });
});
