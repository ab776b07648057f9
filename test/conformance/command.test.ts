/** The command `npm run cloud`. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";

const main = fileURLToPath(new URL("../../dev-env/cloud/main.ts", import.meta.url));
const running = new Set<ChildProcess>();

afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
  running.clear();
});

/** Starts the command and returns its output up to the last line. */
async function start(...args: readonly string[]): Promise<{ child: ChildProcess; text: string }> {
  const child = spawn(process.execPath, [main, "--port", "0", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  let text = "";
  for await (const chunk of child.stdout) {
    text += chunk;
    if (text.includes("Ctrl-C stops it.")) break;
  }
  return { child, text };
}

const urlIn = (text: string) => /HCLOUD_ENDPOINT=(\S+)/.exec(text)?.[1] ?? "";

describe("npm run cloud", () => {
  test("starts with servers, explains how to configure clients, and exits on SIGTERM", async () => {
    const { child, text } = await start("--servers", "120");
    for (const client of ["hcloud", "HCCM", "Terraform", "Pulumi"]) expect(text).toContain(client);
    const headers = { authorization: `Bearer ${"any".padEnd(64, "!")}` };
    const response = await fetch(`${urlIn(text)}/servers?per_page=1`, { headers });
    expect(await response.json()).toMatchObject({ meta: { pagination: { total_entries: 120 } } });
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  });

  test("accepts durations and a token, and rejects invalid values", async () => {
    const { text } = await start(
      "--latency",
      "30ms",
      "--actions",
      "realistic",
      "--token",
      "k".repeat(64),
      "--data-plane",
    );
    const before = performance.now();
    const response = await fetch(`${urlIn(text)}/locations`, {
      headers: { authorization: `Bearer ${"k".repeat(64)}` },
    });
    expect(response.status).toBe(200);
    expect(performance.now() - before).toBeGreaterThan(28);
    const port = new URL(urlIn(text)).port;
    const second = spawn(process.execPath, [main, "--port", port], { stdio: ["ignore", "ignore", "pipe"] });
    running.add(second);
    expect((await once(second, "exit"))[0]).toBe(1);
    const wrong = spawn(process.execPath, [main, "--latency", "soon"], { stdio: ["ignore", "ignore", "pipe"] });
    running.add(wrong);
    expect((await once(wrong, "exit"))[0]).toBe(1);
  });
});
