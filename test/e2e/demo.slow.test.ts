/** `npm start` in other circumstances: killed, twice in one checkout, as an ordinary user, with one loopback address. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { Checkout, printed, type User, whyNoOrdinaryUser } from "../support/checkout.ts";
import { eventually } from "../support/eventually.ts";
import { descendantsOf } from "../support/process-tree.ts";

const obstacle = whyNoOrdinaryUser();
const READY = "Ctrl-C stops everything";

describe("the demo", () => {
  let checkout: Checkout;
  const as = (user: User) => {
    checkout = new Checkout(user);
    return checkout;
  };
  afterEach(() => checkout?.[Symbol.dispose]());

  it("leaves nothing behind after SIGKILL, and leaves a second one alone (newcomer B15, B16)", async () => {
    const first = as("current").start("npm start");
    await printed(first, READY);
    expect(first.output(), "a newcomer sees no warning").not.toMatch(/^ *[\d.]+ s {2}(warning|error) /m);
    // Before anything else, because the engine ends 30 s after the last change. It has just started for the next one.
    const parts = await eventually(() => {
      const all = descendantsOf(first.pid);
      const commands = all.map(({ command }) => command).join("\n");
      for (const part of ["etcd", "kube-apiserver", "controller/main.ts", "worker.ts", "pulumi-resource-hcloud"])
        expect(commands).toContain(part);
      return all;
    });
    const second = checkout.start("npm start -- --no-controller");
    await printed(second, READY);
    expect([first, second].map(({ output }) => /source (\S+)/.exec(output())?.[1])).toEqual([
      ".lotse/env",
      ".lotse/env-2",
    ]);
    const [folder = ""] = /\/\S*lotse-cluster-\w+/.exec(first.output()) ?? [];
    first.kill("SIGKILL");
    await eventually(() => {
      expect(parts.filter(({ pid, command }) => commandOf(pid) === command)).toEqual([]);
      expect(existsSync(folder)).toBe(false);
      expect(readdirSync(join(checkout.folder, ".lotse"))).toEqual(["bin", "env-2"]);
      const scratch = readdirSync(tmpdir()).filter((name) => parts.some(({ pid }) => name.includes(`-${pid}-`)));
      expect(scratch).toEqual([]);
    });
    expect(second.hasEnded()).toBe(false);
  });

  it.skipIf(obstacle)("serves ordinary users above port 1023, and says what to do below (newcomer B9)", async () => {
    const demo = as("ordinary").start("npm start");
    await printed(demo, READY);
    await using shell = checkout.shell();
    await shell.run("source .lotse/env");
    const [curl = ""] = /curl http:\S+/.exec(demo.output()) ?? [];
    expect(await shell.run(`${curl} --silent --retry 5 --retry-all-errors`)).toContain("default/web on node-");
    await shell.run("kubectl apply --filename dev-env/examples/http.yaml");
    await printed(demo, "default/web-http: 127.");
    expect(demo.output()).toContain(":80 is closed, because ports below 1024 need root");
  });

  it.skipIf(obstacle)("runs where loopback has one address, and says how to add others (newcomer B9)", async () => {
    const line = `unshare --net bash -c '
      ip link set lo up && ip address add 127.0.0.1/32 dev lo && ip address delete 127.0.0.1/8 dev lo
      sudo() { ip address add "$4/32" dev lo; } # instead of: ifconfig lo0 alias ADDRESS
      node dev-env/demo/main.ts --no-controller > first & pid=$!
      until grep "Ctrl-C stops" first; do sleep 0.1; done; kill -INT $pid; wait $pid; cat first
      eval "$(grep -o "for ip in .*done" first)"
      exec node dev-env/demo/main.ts --no-controller'`;
    const demo = as("current").start(line);
    await eventually(() => expect(demo.output().split(READY)).toHaveLength(4), { timeoutMs: 60_000 });
    const [, , first, second] = demo.output().split(/(?=cloud {9})/);
    expect(demo.output().match(/load balancers carry no traffic/g), `${first}\n---\n${second}`).toHaveLength(1);
    demo.kill("SIGINT");
    await demo.ended;
  });
});

/** The command line of a process; empty if there is none of that id. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    return "";
  }
}
