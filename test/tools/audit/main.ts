/** Checks the shipped npm packages for known vulnerabilities. Part of `npm test`. */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { judgeAudit } from "./judge.ts";

const ALLOWED = new URL("../../../.ci/audit-allow.json", import.meta.url);

const child = spawn("npm", ["audit", "--omit=dev", "--json"], { stdio: ["ignore", "pipe", "ignore"], timeout: 60_000 });
const [output, allowed] = await Promise.all([text(child.stdout), readFile(ALLOWED, "utf8")]);
const { message, isFine } = judgeAudit(output, JSON.parse(allowed));
process.stdout.write(`${message}\n`);
process.exitCode = isFine ? 0 : 1;
