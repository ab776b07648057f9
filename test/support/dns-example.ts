/** Runs dev-env/examples/dns against the stack that a controller saves in a Pulumi backend. */
import { cp, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect } from "vitest";
import type { StackOutputs } from "../../stacks/units/outputs.ts";
import { eventually } from "./eventually.ts";
import { aPulumiUser, type PulumiUser, type PulumiUserOptions } from "./pulumi-user.ts";
import type { World } from "./world.ts";

/** Copies the example into the user's folder, with a stack `dev` that names `www` after the Service default/web. */
async function copyDnsExample(user: PulumiUser): Promise<string> {
  const project = join(user.folder, "dns");
  await cp("dev-env/examples/dns", project, { recursive: true });
  await symlink(resolve("node_modules"), join(user.folder, "node_modules"));
  await user.pulumi(["stack", "init", "dev"], project);
  await user.pulumi(["config", "set", "zone", "example.com"], project);
  await user.pulumi(["config", "set", "--path", "names.www", "default/web"], project);
  return project;
}

/** The records of `www` in the cloud: `A 203.0.113.7`. */
function wwwRecords(world: World): readonly string[] {
  const sets = world.cloud.state.rrsets().filter(({ name }) => name === "www");
  return sets.flatMap(({ type, records }) => records.map(({ value }) => `${type} ${value}`)).sort();
}

/** The addresses of the Service's load balancer, as records. */
function balancerRecords(world: World): readonly string[] {
  const [balancer] = world.cloud.state.loadBalancers.values();
  const { ipv4, ipv6 } = balancer?.public_net ?? {};
  return [`A ${ipv4?.ip}`, `AAAA ${ipv6?.ip}`];
}

/**
 * A controller saves at the backend; the example gives a Service its name there, follows it to another load balancer,
 * and keeps the records while there is none.
 */
export async function expectDnsFrom(world: World, options: PulumiUserOptions = {}): Promise<void> {
  await using user = await aPulumiUser(world, options);
  const controller = world.startController([`--state=${user.backend}`], options.env);
  const outputs = async (): Promise<StackOutputs> =>
    JSON.parse(await user.pulumi(["stack", "output", "--json", "--stack", "kubernetes"]));
  const shows = (check: (service: object | undefined) => void) =>
    eventually(async () => check((await outputs()).services["default/web"]), { timeoutMs: 60_000 });
  await world.changeCloud("POST", "/zones", { name: "example.com", mode: "primary" });

  await world.createService("web");
  await shows((service) => expect(service).toHaveProperty("ipv4"));
  const project = await copyDnsExample(user);
  await user.pulumi(["up", "--yes", "--skip-preview"], project);
  expect(wwwRecords(world)).toEqual(balancerRecords(world));

  const before = wwwRecords(world);
  await world.core.deleteNamespacedService({ namespace: "default", name: "web" });
  await shows((service) => expect(service).toBeUndefined());
  // The outputs no longer show a Service that is being deleted.
  await eventually(async () => {
    const { items } = await world.core.listNamespacedService({ namespace: "default" });
    expect(items.map(({ metadata }) => metadata?.name)).not.toContain("web");
  });
  const refused = user.pulumi(["up", "--yes", "--skip-preview"], project);
  await expect(refused).rejects.toThrow("Service default/web has no load balancer with a public address");
  expect(wwwRecords(world)).toEqual(before);

  await world.createService("web");
  await shows((service) => expect(service).toHaveProperty("ipv4"));
  await user.pulumi(["up", "--yes", "--skip-preview"], project);
  expect(wwwRecords(world)).toEqual(balancerRecords(world));
  expect(wwwRecords(world)).not.toEqual(before);
  expect(controller.records("state not saved, retrying")).toEqual([]);
  await controller.stop();
  await user.pulumi(["destroy", "--yes", "--skip-preview"], project);
  expect(wwwRecords(world)).toEqual([]);
}
