/** The outputs of the cluster's stack, as people and other Pulumi programs read them. */
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SecretState } from "../../controller/kube/state-secrets.ts";
import type { StackOutputs } from "../../stacks/units/outputs.ts";
import { type Ended, runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { aPulumiUser, type PulumiUser } from "../support/pulumi-user.ts";
import { startWorld, type World } from "../support/world.ts";

const SCHEMA = JSON.parse(readFileSync("docs/reference/outputs.schema.json", "utf8"));
const STACK = ["--stack", "kubernetes"];
const ends = new AsyncDisposableStack();
let world: World;
let user: PulumiUser;

beforeAll(async () => {
  world = ends.use(await startWorld({ nodes: 1 }));
  user = ends.use(await aPulumiUser(world));
});
afterAll(() => ends.disposeAsync());

/** Runs `lotse stack …` with access to the cluster only. */
const stack = (...args: readonly string[]): Promise<Ended> =>
  runCommand(world, ["stack", ...args], {
    HCLOUD_TOKEN: undefined,
    HCLOUD_ENDPOINT: undefined,
    HCLOUD_NETWORK: undefined,
  });

describe("lotse stack export and outputs", () => {
  const SECRET = "/api/v1/namespaces/kube-system/secrets/lotse-state-kubernetes";
  const outputs = async (): Promise<StackOutputs> => JSON.parse((await stack("outputs", "--json")).stdout);

  it("say what to do when there is no saved stack, when it cannot be read, and when they are called wrongly", async () => {
    const fails = async (args: readonly string[], message: RegExp | string) => {
      const stderr = typeof message === "string" ? message : expect.stringMatching(message);
      expect(await stack(...args)).toEqual({ code: 1, stdout: "", stderr });
    };
    await fails(["outputs"], /^lotse: there is no saved stack \(Secret kube-system\/lotse-state-kubernetes does/);
    await fails(["export", "--namespace=default"], /\(Secret default\/lotse-state-kubernetes .*--namespace\n$/);
    await fails(
      ["outputs", "more", "--dir=x"],
      /^lotse: stack outputs: unexpected "more".*\nlotse: --dir: has no effect/,
    );
    await fails(["--json"], "lotse: --json: use it with `lotse stack outputs`\n");
    await new SecretState(world.observer, "kube-system", "kubernetes").save(JSON.stringify({ version: 99 }));
    await fails(["export"], /has an unknown format: use the same version of lotse as the controller\n$/);
    await world.observer.patch(SECRET, "merge", { data: { state: "AAAA" } });
    await fails(["export"], /^lotse: Secret kube-system\/lotse-state-kubernetes is incomplete: a save is in progress/);
    const stranger = await world.cluster.kubeconfigFor({ name: "stranger" });
    await fails(
      ["outputs", `--kubeconfig=${stranger}`],
      /^lotse: the saved state requires permission to get Secret lotse-state-kubernetes in namespace kube-system: .*stranger/,
    );
  });

  it("print what the controller saved, without a Hetzner token", async () => {
    const controller = world.startController();
    await world.createService("web");
    await eventually(async () => expect((await outputs()).services).toHaveProperty(["default/web", "ipv4"]), {
      timeoutMs: 30_000,
    });
    // From here on nothing is saved, and nothing that is missing in the cloud is created again.
    await controller.stop();
    const printed = await outputs();
    expect(new Ajv2020().validate(SCHEMA, printed)).toBe(true);
    const [balancer] = world.cloud.state.loadBalancers.values();
    expect(printed.services["default/web"]).toMatchObject({
      loadBalancerId: balancer?.id,
      ipv4: balancer?.public_net.ipv4.ip,
    });
    const { code, stdout } = await stack("outputs");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Cluster kubernetes \(context lotse, https:.+\): outputs of 20\d\d-.+Z\n\nSERVICES\n/);
    expect(stdout).toMatch(new RegExp(`^  default/web +${balancer?.id} +${balancer?.public_net.ipv4.ip} `, "m"));
  });

  it("are imported into a backend of the reader's own, where destroy removes nothing", async () => {
    const file = join(user.folder, "stack.json");
    await writeFile(file, (await stack("export")).stdout);
    await user.pulumi(["stack", "init", "kubernetes"]);
    await user.pulumi(["stack", "import", "--file", file, ...STACK]);
    expect(JSON.parse(await user.pulumi(["stack", "output", "--json", ...STACK]))).toEqual(await outputs());
    const before = JSON.stringify(world.cloud.snapshot());
    await user.pulumi(["destroy", "--yes", "--skip-preview", ...STACK]);
    expect(JSON.stringify(world.cloud.snapshot())).toBe(before);
  });
});
