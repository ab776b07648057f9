import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RunReport } from "../../stacks/engine/run.ts";
import { backendFile } from "../../stacks/state/workspace.ts";
import { loadBalancerUnit, routeUnit, unitOf } from "../../stacks/units/names.ts";
import type { LoadBalancerSpec, RouteSpec, UnitId } from "../../stacks/units/spec.ts";
import { aBalancerSpec, aListener } from "../support/builders.ts";
import { changeCloud } from "../support/change-cloud.ts";
import { type EngineWorld, startEngineWorld } from "../support/engine.ts";
import { eventually } from "../support/eventually.ts";
import { descendantsOf } from "../support/process-tree.ts";

let world: EngineWorld;
let empty: ReturnType<EngineWorld["cloud"]["snapshot"]>;
let servers: readonly number[];

beforeAll(async () => {
  world = await startEngineWorld();
  servers = [1, 2].map((index) => world.cloud.addServer({ name: `node-${index}`, network: world.networkId }).id);
  empty = world.cloud.snapshot();
});
beforeEach(async () => {
  await atRest();
  world.cloud.restore(empty);
  world.cloud.journal.clear();
});
afterAll(() => world[Symbol.asyncDispose]());

/** A load balancer with all kinds of parts. */
function balancer(given: Partial<LoadBalancerSpec> = {}): LoadBalancerSpec {
  return aBalancerSpec({
    network: { networkId: world.networkId, publicInterface: true },
    listeners: [aListener(80), httpListener(8080)],
    targets: servers.map((serverId) => ({ kind: "server", serverId, usePrivateIp: true })),
    ...given,
  });
}

function httpListener(port: number) {
  const http = {
    stickySessions: true,
    cookieName: "HCLBSTICKY",
    cookieLifetimeSeconds: 300,
    timeoutIdleSeconds: 50,
    redirectHttp: false,
    certificateIds: [],
  };
  const check = { domain: "", path: "/healthz", response: "", tls: false, statusCodes: ["2??", "3??"] };
  const { healthCheck } = aListener(port);
  return aListener(port, { protocol: "http", http, healthCheck: { ...healthCheck, protocol: "http", http: check } });
}

const route = (): RouteSpec => ({
  kind: "route",
  networkId: world.networkId,
  destination: "10.244.1.0/24",
  gateway: "10.0.1.1",
});

function statusOf({ outcomes }: RunReport): Record<string, string> {
  return Object.fromEntries(Object.entries(outcomes).map(([unit, outcome]) => [unit, outcome.status]));
}

function failuresOf({ outcomes }: RunReport): readonly string[] {
  return Object.values(outcomes).flatMap((outcome) => (outcome.status === "failed" ? [outcome.failure.message] : []));
}

const writes = () => world.cloud.journal.writes.map(({ route: path }) => path.split("/").at(-1));

describe("a run", () => {
  it("creates a load balancer and a route, and a second run changes nothing", async () => {
    const spec = balancer();
    const units = [spec, route()];
    const made = await world.run({ units });
    expect(statusOf(made)).toEqual({ [unitOf(spec)]: "applied", "route/10.244.1.0/24": "applied" });
    const existing = { ...world.stateOf(unitOf(spec), spec.name), ...world.stateOf(routeUnit(route())) };
    world.cloud.journal.clear();
    await world.run({ units }, existing);
    expect(writes()).toEqual([]);
  });

  it("changes nothing that already exists, whatever the state file of the last run holds", async () => {
    const spec = balancer();
    await world.run({ units: [spec, route()] });
    const existing = { ...world.stateOf(unitOf(spec), spec.name), ...world.stateOf(routeUnit(route())) };
    for (const text of ["", '{"version":3,"checkpoint":{"lat', "not json", JSON.stringify({ version: 99 })]) {
      await writeFile(backendFile(world.home), text);
      world.cloud.journal.clear();
      const report = await world.run({ units: [spec, route()] }, existing);
      expect(statusOf(report)).toEqual({ [unitOf(spec)]: "applied", "route/10.244.1.0/24": "applied" });
      expect(world.cloud.journal.entries, `state: ${text}`).toEqual([]);
    }
  });

  describe("with reverse DNS and a subnet", () => {
    const NAMES = { ipv4: "a.example.com", ipv6: "b.example.com" };
    const named = () => balancer({ rdns: NAMES });
    const pointers = () => {
      const { ipv4, ipv6 } = world.cloud.state.loadBalancers.values()[0]?.public_net ?? {};
      return [ipv4?.dns_ptr, ipv6?.dns_ptr];
    };
    const attachment = () => world.cloud.state.loadBalancers.values()[0]?.private_net[0];

    it("sets the reverse DNS, then changes nothing, and repairs it", async () => {
      await world.run({ units: [named()] });
      expect(pointers()).toEqual(["a.example.com", "b.example.com"]);
      world.cloud.journal.clear();
      await world.run({ units: [named()] }, world.stateOf(unitOf(named()), "balancer"));
      expect(writes()).toEqual([]);
      const other = balancer({ rdns: { ...NAMES, ipv4: "c.example.com" } });
      const repaired = await world.run({ units: [other] }, world.stateOf(unitOf(other), "balancer"));
      expect(failuresOf(repaired)).toEqual([]);
      expect(writes()).toEqual(["change_dns_ptr"]);
      expect(pointers()).toEqual(["c.example.com", "b.example.com"]);
    });

    it("restores the default reverse DNS on request, and otherwise leaves it unchanged", async () => {
      await world.run({ units: [balancer()] });
      const own = pointers();
      await world.run({ units: [named()] }, world.stateOf(unitOf(named()), "balancer"));
      world.cloud.journal.clear();
      await world.run({ units: [balancer()] }, world.stateOf(unitOf(named()), "balancer"));
      expect(writes()).toEqual([]);
      const without = balancer({ rdns: { ipv4: null, ipv6: null } });
      await world.run({ units: [without] }, world.stateOf(unitOf(without), "balancer"));
      expect(pointers()).toEqual(own);
    });

    it("attaches to the subnet, and again only if it is outside of it, with its private targets", async () => {
      const inSubnet = (subnet: string) => {
        const network = { networkId: world.networkId, publicInterface: true, subnet };
        return balancer({ network });
      };
      await changeCloud(world.cloud, "POST", `/networks/${world.networkId}/actions/add_subnet`, {
        type: "cloud",
        ip_range: "10.0.9.0/24",
        network_zone: "eu-central",
      });
      await world.run({ units: [balancer()] });
      const first = attachment()?.ip ?? "";
      const there = `${first.split(".").slice(0, 3).join(".")}.0/24`;
      world.cloud.journal.clear();
      await world.run({ units: [inSubnet(there)] }, world.stateOf(unitOf(balancer()), "balancer"));
      expect(writes()).toEqual([]);
      const other = there === "10.0.9.0/24" ? "10.0.1.0/24" : "10.0.9.0/24";
      const report = await world.run({ units: [inSubnet(other)] }, world.stateOf(unitOf(balancer()), "balancer"));
      expect(failuresOf(report)).toEqual([]);
      expect(attachment()?.ip).toMatch(other.slice(0, -4));
      const targets = world.cloud.state.loadBalancers.values()[0]?.targets;
      expect(targets?.map((target) => target.type === "server" && target.server.id).toSorted()).toEqual(servers);
      world.cloud.journal.clear();
      await world.run({ units: [inSubnet(other)] }, world.stateOf(unitOf(balancer()), "balancer"));
      await world.run({ units: [balancer()] }, world.stateOf(unitOf(balancer()), "balancer"));
      expect(writes()).toEqual([]);
    });
  });

  it("changes nothing outside the request, even with an empty program", async () => {
    const spec = balancer();
    await world.run({ units: [spec, route()] });
    const before = world.cloud.snapshot();
    await world.run({});
    expect(world.cloud.snapshot()).toEqual(before);
  });

  it("creates missing parts, removes extra ones, and corrects others, in one run", async () => {
    const spec = balancer();
    await world.run({ units: [spec] });
    const id = world.cloud.state.loadBalancers.find(spec.name)?.id;
    await act(id, "remove_target", { type: "server", server: { id: servers[0] } });
    await act(id, "update_service", { listen_port: 80, destination_port: 1 });
    await act(id, "add_service", { listen_port: 99, destination_port: 99, protocol: "tcp" });
    world.cloud.journal.clear();
    await world.run({ units: [spec] }, world.stateOf(unitOf(spec), spec.name));
    expect(writes().toSorted()).toEqual(["add_target", "delete_service", "update_service"]);
  });

  it("changes a load balancer in place and never replaces it", async () => {
    const spec = balancer();
    await world.run({ units: [spec] });
    const before = world.cloud.state.loadBalancers.find(spec.name);
    const changed = balancer({
      name: "renamed",
      type: "lb21",
      algorithm: "least_connections",
      place: { location: "nbg1" },
      labels: { ...spec.labels, team: "web" },
      network: { networkId: world.networkId, publicInterface: false },
      listeners: [httpListener(80)],
    });
    const report = await world.run({ units: [changed] }, world.stateOf(unitOf(spec), spec.name));
    expect(statusOf(report)).toEqual({ [unitOf(spec)]: "applied" });
    expect(world.cloud.state.loadBalancers.values()).toEqual([
      expect.objectContaining({
        id: before?.id,
        name: "renamed",
        algorithm: { type: "least_connections" },
        labels: changed.labels,
      }),
    ]);
    expect(world.cloud.state.loadBalancers.values()[0]).toMatchObject({
      location: { name: "fsn1" },
      load_balancer_type: { name: "lb21" },
    });
  });

  it("replaces the gateway of a route, old route first", async () => {
    await world.run({ units: [route()] });
    world.cloud.journal.clear();
    const moved = { ...route(), gateway: "10.0.1.2" };
    await world.run({ units: [moved] }, world.stateOf(routeUnit(moved)));
    expect(writes()).toEqual(["delete_route", "add_route"]);
  });

  it("removes one unit and keeps the others", async () => {
    const spec = balancer();
    const other = balancer({ service: { namespace: "default", name: "other", uid: "other-0000" }, name: "other" });
    await world.run({ units: [spec, other, route()] });
    const before = world.cloud.state.loadBalancers.find("other");
    const report = await world.run({ removals: [unitOf(spec)] }, world.stateOf(unitOf(spec), spec.name));
    expect(statusOf(report)).toEqual({ [unitOf(spec)]: "applied" });
    expect(world.cloud.state.loadBalancers.values()).toEqual([before]);
    expect(world.cloud.state.networks.get(world.networkId)?.routes).toHaveLength(1);
  });

  it("deletes a load balancer with at most two calls, whatever its parts", async () => {
    const spec = balancer();
    await world.run({ units: [spec] });
    world.cloud.journal.clear();
    await world.run({ removals: [unitOf(spec)] }, world.stateOf(unitOf(spec), spec.name));
    expect(world.cloud.state.loadBalancers.values()).toEqual([]);
    expect(world.cloud.journal.entries.length).toBeLessThanOrEqual(2);
  });

  it("framework R35: fails only the failing unit, with the message of the API", async () => {
    const bad = balancer({
      service: { namespace: "default", name: "bad", uid: "bad-0000" },
      name: "bad",
      type: "lb99",
    });
    const good = balancer();
    const { outcomes } = await world.run({ units: [bad, good, route()] });
    expect(outcomes[unitOf(good)]?.status).toBe("applied");
    expect(outcomes["route/10.244.1.0/24"]?.status).toBe("applied");
    const failed = outcomes[unitOf(bad)];
    expect(failed).toMatchObject({
      status: "failed",
      failure: { code: expect.stringMatching(/^(not_found|invalid_input)$/) },
    });
    expect(failed?.status === "failed" && failed.failure.message).not.toMatch(/urn:pulumi|error occurred/);
  });

  it("previews what an apply would do, and changes nothing", async () => {
    const spec = balancer();
    const { outcomes } = await world.run({ mode: "preview", units: [spec] });
    expect(outcomes[unitOf(spec)]?.changes.map(({ part, operation }) => `${operation} ${part}`).toSorted()).toEqual(
      ["balancer", "listener-80", "listener-8080", "network", ...servers.map((id) => `server-${id}`)]
        .map((part) => `create ${part}`)
        .toSorted(),
    );
    expect(writes()).toEqual([]);
  });

  it("leaves no history, backups or logs, and no credential in the state", async () => {
    await world.run({ units: [balancer()] });
    const files = await readdir(world.home.directory, { recursive: true });
    expect(files.filter((file) => /history|backups|logs/.test(file))).toEqual([]);
    for (const file of files.filter((name) => name.endsWith(".json") || name.endsWith(".yaml"))) {
      expect(await readFile(join(world.home.directory, file), "utf8"), file).not.toContain(world.cloud.token);
    }
  });
});

describe("a prepared engine", () => {
  const prepare = async (token = world.cloud.token) => {
    world.engine.prepare({ endpoint: world.cloud.url, token });
    return eventually(() => {
      const [plugin, ...others] = pluginsOf(world);
      expect(others).toEqual([]);
      return plugin?.pid ?? expect.unreachable("the plugin starts before the run");
    });
  };

  const waiting = () =>
    eventually(() => {
      const [cli, ...others] = commandLinesOf(world);
      expect(others).toEqual([]);
      return cli?.pid ?? expect.unreachable("the command line starts before the run");
    });

  it("uses the plugin and the command line it has started, and ends them with the run", async () => {
    const plugin = await prepare();
    const cli = await waiting();
    const used = new Set<number>();
    const spec = balancer();
    const report = await world.run({ units: [spec] }, {}, () => {
      for (const { pid } of [...pluginsOf(world), ...commandLinesOf(world)]) used.add(pid);
    });
    expect(statusOf(report)).toEqual({ [unitOf(spec)]: "applied" });
    expect(used).toEqual(new Set([plugin, cli]));
    await eventually(() => expect([...pluginsOf(world), ...commandLinesOf(world)]).toEqual([]));
  });

  it("uses the state at the time of the run, not of the start of the command line", async () => {
    await prepare();
    await waiting();
    const first = balancer();
    await world.run({ units: [first] });
    const unit = unitOf(first);
    const there = world.stateOf(unit, first.name);
    await prepare();
    await waiting();
    const before = world.cloud.journal.writes.length;
    expect(statusOf(await world.run({ units: [first] }, there))).toEqual({ [unit]: "applied" });
    expect(world.cloud.journal.writes.slice(before)).toEqual([]);
  });

  it("keeps what it has prepared for the same credential, and starts again for another", async () => {
    await prepare();
    const cli = await waiting();
    await prepare();
    expect(await waiting()).toBe(cli);
    await prepare("b".repeat(64));
    await eventually(() => expect(commandLinesOf(world).map(({ pid }) => pid)).not.toContain(cli));
    const spec = balancer();
    expect(statusOf(await world.run({ units: [spec] }))).toEqual({ [unitOf(spec)]: "applied" });
  });

  it("ends when no run follows, and starts for the next one", async () => {
    // Counted, because a worker may come and go between two looks at the processes.
    let starts = 0;
    await using brief = await startEngineWorld({}, { idleMs: 200, onWorker: () => (starts += 1) });
    brief.engine.prepare({ endpoint: brief.cloud.url, token: brief.cloud.token });
    await eventually(() => expect(starts).toBe(1));
    await eventually(() => expect([...workersOf(brief), ...pluginsOf(brief)]).toEqual([]));
    expect(statusOf(await brief.run({ units: [{ ...route(), networkId: brief.networkId }] }))).toEqual({
      "route/10.244.1.0/24": "applied",
    });
    expect(starts).toBe(2);
    await eventually(() => expect([...workersOf(brief), ...pluginsOf(brief)]).toEqual([]));
  });

  it("works if the command line has died", async () => {
    await prepare();
    process.kill(await waiting(), "SIGKILL");
    const spec = balancer();
    expect(statusOf(await world.run({ units: [spec] }))).toEqual({ [unitOf(spec)]: "applied" });
  });

  it("can run a preview instead", async () => {
    await prepare();
    await waiting();
    const spec = balancer();
    const { outcomes } = await world.run({ mode: "preview", units: [spec] });
    expect(outcomes[unitOf(spec)]?.changes.map(({ operation }) => operation)).toContain("create");
    expect(world.cloud.journal.writes).toEqual([]);
  });

  it("works if the plugin has died", async () => {
    process.kill(await prepare(), "SIGKILL");
    // The engine has noticed when it has ended the rest, too.
    await eventually(() => expect([...pluginsOf(world), ...workersOf(world)]).toEqual([]));
    const spec = balancer();
    expect(statusOf(await world.run({ units: [spec] }))).toEqual({ [unitOf(spec)]: "applied" });
  });

  it("starts again for a run with another credential", async () => {
    await prepare();
    const access = { endpoint: world.cloud.url, token: "b".repeat(64) };
    const spec = balancer();
    expect(statusOf(await world.run({ units: [spec], access }))).toEqual({ [unitOf(spec)]: "applied" });
  });
});

describe("a broken engine", () => {
  const unit: UnitId = loadBalancerUnit(aBalancerSpec().service);

  it("returns an outcome for every unit if its worker is killed, and recovers in the next run", async () => {
    const spec = balancer();
    const report = await world.run({ units: [spec] }, {}, atFirstStep(killWorker));
    expect(report.outcomes[unit]).toMatchObject({ status: "failed", failure: { code: "worker-died", retry: "soon" } });
    await atRest();
    const again = await world.run({ units: [spec] }, world.stateOf(unit, spec.name));
    expect(failuresOf(again)).toEqual([]);
    expect(statusOf(again)).toEqual({ [unit]: "applied" });
    expect(world.cloud.state.loadBalancers.values()).toHaveLength(1);
  });

  it("recovers after its command line was killed during a run", async () => {
    const spec = balancer();
    const killCommandLine = () => {
      for (const { pid } of commandLinesOf(world)) process.kill(pid, "SIGKILL");
    };
    const report = await world.run({ units: [spec] }, {}, atFirstStep(killCommandLine));
    expect(report.outcomes[unit]?.status).toBe("failed");
    await atRest();
    const again = await world.run({ units: [spec] }, world.stateOf(unit, spec.name));
    expect(failuresOf(again)).toEqual([]);
    expect(statusOf(again)).toEqual({ [unit]: "applied" });
  });

  it("starts another worker if the prepared one has died", async () => {
    world.engine.prepare({ endpoint: world.cloud.url, token: world.cloud.token });
    await eventually(() => expect(workersOf(world)).toHaveLength(1));
    const pid = workerPid(world);
    killWorker();
    await eventually(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"));
    const report = await world.run({ units: [route()] });
    expect(statusOf(report)).toEqual({ "route/10.244.1.0/24": "applied" });
  });

  it("interrupts a run at its deadline, and kills it if it does not end", async () => {
    await using slow = await startEngineWorld({ actionMs: 60_000 }, { deadlineMs: 1_500, graceMs: 1_000 });
    // Prepared, because a busy machine may need longer than the deadline to start the command line.
    slow.engine.prepare({ endpoint: slow.cloud.url, token: slow.cloud.token });
    await eventually(() => expect(commandLinesOf(slow)).toHaveLength(1));
    const spec = balancer({ network: { networkId: slow.networkId, publicInterface: true }, targets: [] });
    const report = await slow.run({ units: [spec] });
    expect(report.outcomes[unit]).toMatchObject({ status: "failed", failure: { code: "deadline" } });
    expect(report.durationMs).toBeLessThan(10_000);
  });

  it("ends everything it started and deletes its scratch folder if its process is killed", async () => {
    const directory = await mkdtemp(join(tmpdir(), "lotse-engine-"));
    const options = {
      home: { ...world.home, directory, isScratch: true },
      deadlineMs: 1e4,
      graceMs: 1,
      idleMs: 1e5,
    };
    const access = { endpoint: world.cloud.url, token: world.cloud.token };
    const program = `
      import { Engine } from ${JSON.stringify(new URL("../../stacks/engine/engine.ts", import.meta.url))};
      const engine = new Engine(${JSON.stringify(options)});
      await engine.start();
      engine.prepare(${JSON.stringify(access)});`;
    const owner = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "inherit" });
    const started = () =>
      descendantsOf(0).filter(({ command }) => command.includes(directory) && !command.includes("--eval"));
    await eventually(() =>
      expect(
        started()
          .map(({ command }) => /worker\.ts|plugins/.exec(command)?.[0])
          .toSorted(),
      ).toEqual(["plugins", "worker.ts"]),
    );
    owner.kill("SIGKILL");
    await once(owner, "exit");
    await eventually(() => expect(started()).toEqual([]));
    expect(existsSync(directory)).toBe(false);
  });

  function killWorker(): void {
    process.kill(workerPid(world), "SIGKILL");
  }

  /** Acts at the first step of a run. Others may already be on their way when that ends the run. */
  function atFirstStep(act: () => void): () => void {
    let hasActed = false;
    return () => {
      if (!hasActed) act();
      hasActed = true;
    };
  }
});

/** Resolves when the last run has no processes, and the cloud has handled what they sent. */
async function atRest(): Promise<void> {
  await eventually(() => expect([...workersOf(world), ...pluginsOf(world)]).toEqual([]));
  // A killed plugin can leave a request in its connection. The cloud reads that before it answers a later one.
  const answer = await fetch(new URL("/_control/faults", world.cloud.url));
  await answer.text();
}

function workersOf({ home }: EngineWorld) {
  return descendantsOf(process.pid).filter(
    ({ command }) => command.includes("worker.ts") && command.includes(home.directory),
  );
}

function workerPid(world: EngineWorld): number {
  return workersOf(world)[0]?.pid ?? expect.unreachable("the engine has a worker");
}

/** Started by the worker itself: a process that the command line is about to start looks like it for a moment. */
function commandLinesOf(of: EngineWorld) {
  return workersOf(of).flatMap(({ pid }) =>
    descendantsOf(pid).filter(({ parent, command }) => parent === pid && command.includes("pulumi up")),
  );
}

/** Plugins of this engine, wherever they are in the process tree. */
function pluginsOf({ home }: EngineWorld) {
  return descendantsOf(0).filter(({ command }) => command.startsWith(join(home.directory, "home", "plugins")));
}

/** Calls the API of the cloud directly. */
async function act(balancerId: number | undefined, action: string, body: object): Promise<void> {
  await changeCloud(world.cloud, "POST", `/load_balancers/${balancerId}/actions/${action}`, body);
}
