/** `npm start` as a newcomer runs it: it prints, keeps running, and exits on Ctrl-C. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";

const DEMO = fileURLToPath(new URL("../../dev-env/demo/main.ts", import.meta.url));

describe("the demo", () => {
  let demo: ChildProcess | undefined;
  afterEach(() => demo?.kill("SIGKILL"));

  function start(...args: readonly string[]) {
    const child = spawn(process.execPath, [DEMO, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    demo = child;
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    return { child, output: () => output, ended: once(child, "close").then(([code]) => code as number | null) };
  }

  it("keeps running until Ctrl-C without a controller (newcomer B1)", async () => {
    const { child, output, ended } = start("--no-controller");
    await eventually(() => expect(output()).toContain("Ctrl-C stops everything"), { timeoutMs: 60_000 });
    expect(await Promise.race([ended, setTimeout(2_000, "still running")]), output()).toBe("still running");
    child.kill("SIGINT");
    expect(await ended, output()).toBe(0);
  });
});
