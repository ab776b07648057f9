/** Whether the records that we write from the cloud's lists are those that the engine writes itself. */
import { X509Certificate } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Gateway } from "../../controller/hcloud/gateway.ts";
import { Upstream } from "../../controller/hcloud/sender.ts";
import { insertKeys } from "../../controller/render/certificates.ts";
import { PROVIDER } from "../../stacks/engine/operation.ts";
import type { RunRequest } from "../../stacks/engine/run.ts";
import { recordsFor } from "../../stacks/state/checkpoint.ts";
import { parseMirror, renderMirror } from "../../stacks/state/mirror.ts";
import { backendFile } from "../../stacks/state/workspace.ts";
import { PRIVATE_KEY } from "../../stacks/units/inputs.ts";
import { unitOf } from "../../stacks/units/names.ts";
import type { StackOutputs } from "../../stacks/units/outputs.ts";
import type { UnitSpec } from "../../stacks/units/spec.ts";
import { aBalancerSpec, aListener } from "../support/builders.ts";
import { aCertificateSpec, aPair, managed } from "../support/certificates.ts";
import { changeCloud } from "../support/change-cloud.ts";
import { type EngineWorld, startEngineWorld } from "../support/engine.ts";
import { aPulumiUser } from "../support/pulumi-user.ts";

type Fields = Readonly<Record<string, unknown>>;

const PAIR = aPair();
let world: EngineWorld;
let specs: readonly UnitSpec[];
/** Records as the engine wrote them. */
let written: readonly Fields[];

beforeAll(async () => {
  world = await startEngineWorld();
  const { networkId } = world;
  const serverId = world.cloud.addServer({ name: "node-1", network: networkId }).id;
  const subnet = { type: "cloud", ip_range: "10.0.9.0/24", network_zone: "eu-central" };
  await changeCloud(world.cloud, "POST", `/networks/${networkId}/actions/add_subnet`, subnet);
  specs = everyKind(networkId, serverId);
  await applyAll();
  written = JSON.parse(await readFile(backendFile(world.home), "utf8")).checkpoint.latest.resources;
});
afterAll(() => world[Symbol.asyncDispose]());

/** Units with resources of all eight types. */
function everyKind(networkId: number, serverId: number): readonly UnitSpec[] {
  const check = { domain: "", path: "/", response: "", tls: false, statusCodes: ["2??", "301"] };
  const http = {
    stickySessions: true,
    cookieName: "SID",
    cookieLifetimeSeconds: 300,
    timeoutIdleSeconds: 50,
    redirectHttp: false,
    certificateIds: [],
  };
  const healthCheck = { ...aListener(81).healthCheck, protocol: "http", http: check } as const;
  const { fingerprint256: fingerprint } = new X509Certificate(PAIR.certificate);
  return [
    aBalancerSpec({
      network: { networkId, publicInterface: true, subnet: "10.0.9.0/24" },
      rdns: { ipv4: "a.example.com", ipv6: "b.example.com" },
      listeners: [aListener(80), aListener(81, { protocol: "http", http, healthCheck })],
      targets: [
        { kind: "server", serverId, usePrivateIp: true },
        { kind: "ip", ip: "203.0.113.7" },
      ],
    }),
    { kind: "route", networkId, destination: "10.244.1.0/24", gateway: "10.0.0.2" },
    aCertificateSpec({ content: managed("a.example.com") }),
    aCertificateSpec({ name: "uploaded", content: { type: "uploaded", pem: PAIR.certificate, fingerprint } }),
  ];
}

async function applyAll(): Promise<void> {
  const { url: endpoint, token } = world.cloud;
  const gateway = new Gateway(
    new Upstream({ endpoint, token: () => token, userAgent: "test", timeoutMs: 5_000 }),
    () => {},
  );
  await gateway.start();
  const complete = insertKeys(new Map([["uploaded", PAIR.privateKey]]));
  const access = gateway.open({ run: "test", mode: "apply", complete });
  const { outcomes } = await world.run({ units: specs, access });
  await access.close();
  await gateway.stop();
  expect(Object.values(outcomes).map(({ status }) => status)).toEqual(specs.map(() => "applied"));
}

/** What only the engine knows or needs: when and where a resource was declared, and how the bridge encodes it. */
const NOTES = ["created", "modified", "sourcePosition", "stackTrace", "ignoreChanges", "additionalSecretOutputs"];
const BRIDGE_NOTES = ["__pulumi_raw_state_delta", "__defaults", "__internal"];
/** Outputs that the provider computes and that no diff looks at. */
const COMPUTED: Readonly<Record<string, readonly string[]>> = {
  LoadBalancer: ["targets"],
  ManagedCertificate: ["certificate", "created", "fingerprint", "notValidAfter", "notValidBefore", "type"],
  UploadedCertificate: ["created", "domainNames", "fingerprint", "notValidAfter", "notValidBefore", "type"],
};
const SECRET = "4dabf18193072939515e22adb298388d";

function normal(record: Fields): unknown {
  const computed = COMPUTED[String(record.type).split(":").at(-1) ?? ""] ?? [];
  const { outputs: all, ...rest } = without(record, NOTES);
  // A component registers its outputs for the program that declares it; the engine does not compare them.
  const outputs = String(record.type).startsWith("lotse:") ? {} : all;
  const text = JSON.stringify({ ...rest, outputs: without((outputs ?? {}) as Fields, computed) }, (name, value) => {
    // The engine collects dependencies in any order.
    if (name === "dependencies") return value.toSorted();
    if (Array.isArray(value) || typeof value !== "object" || value === null) return value ?? undefined;
    return SECRET in value ? PRIVATE_KEY : without(value, BRIDGE_NOTES);
  });
  const { propertyDependencies = {}, ...kept } = JSON.parse(text) as Fields & { propertyDependencies?: Fields };
  const used = Object.entries(propertyDependencies).filter(([, urns]) => (urns as string[]).length > 0);
  return used.length > 0 ? { ...kept, propertyDependencies: Object.fromEntries(used) } : kept;
}

function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/** What the cloud's lists show. */
function listed(): RunRequest["existing"] {
  return Object.assign(
    {},
    ...specs.map((spec) =>
      spec.kind === "certificate"
        ? world.certificateOf(spec)
        : world.stateOf(unitOf(spec), spec.kind === "load-balancer" ? spec.name : undefined),
    ),
  );
}

it("writes whole records as the engine does, for all eight types, and no others", () => {
  const ours = recordsFor(listed(), specs, { stack: "test", provider: PROVIDER });
  const types = new Set(ours.map(({ type }) => type).filter((type) => type.startsWith("hcloud:")));
  expect(types.size).toBe(8);
  const byUrn = (records: readonly { readonly urn?: unknown }[]) =>
    Object.fromEntries(records.map((record) => [record.urn, normal(record as Fields)]));
  expect(byUrn(ours)).toEqual(byUrn(written));
});

it("writes a mirror of all eight types that `pulumi refresh` finds unchanged", async () => {
  await using user = await aPulumiUser(world);
  const outputs: StackOutputs = { schemaVersion: 1, nodes: {}, services: {}, routes: {} };
  const text = renderMirror({ stack: "test", existing: listed(), specs, outputs }, new Date());
  const file = join(user.folder, "mirror.json");
  await writeFile(file, JSON.stringify(parseMirror(text)?.exported));
  await user.pulumi(["stack", "init", "test"]);
  await user.pulumi(["stack", "import", "--file", file]);
  const { length } = recordsFor(listed(), specs, { stack: "test", provider: PROVIDER });
  const said = await user.pulumi(["refresh", "--preview-only", "--diff"]);
  expect(said).toMatch(/Resources:\n {4}\d+ unchanged/);
  expect(Number(/(\d+) unchanged/.exec(said)?.[1])).toBeGreaterThan(length - 3);
});

it("has seen every difference that a new engine or provider brings to these records", async () => {
  const texts = written.map((record) => JSON.stringify(normal(record), null, 2));
  // Ids depend on the order in which resources are created, and certificates on the day.
  const stable = texts.map((text) =>
    text
      .replaceAll(/-----BEGIN[^"]+/g, "PEM")
      .replaceAll(/1000\d{3}(?!\d)/g, "ID")
      .replaceAll(/(?<=certificate\/default\/web@\w+\/)[0-9a-f]{12}/g, "CONTENT"),
  );
  await expect(`${stable.toSorted().join("\n")}\n`).toMatchFileSnapshot("records.txt");
});
