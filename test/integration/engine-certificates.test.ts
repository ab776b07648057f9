import { X509Certificate } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Gateway } from "../../controller/hcloud/gateway.ts";
import { Upstream } from "../../controller/hcloud/sender.ts";
import { insertKeys } from "../../controller/render/certificates.ts";
import type { RunReport, RunRequest } from "../../stacks/engine/run.ts";
import { unitOf } from "../../stacks/units/names.ts";
import type { CertificateSpec } from "../../stacks/units/spec.ts";
import { aCertificateSpec, aPair, managed } from "../support/certificates.ts";
import { type EngineWorld, startEngineWorld } from "../support/engine.ts";

const PAIR = aPair();
const MANAGED = aCertificateSpec({ content: managed("a.example.com", "b.example.com") });
const UPLOADED = aCertificateSpec({
  name: "uploaded",
  content: {
    type: "uploaded",
    pem: PAIR.certificate,
    fingerprint: new X509Certificate(PAIR.certificate).fingerprint256,
  },
});
/** Longer than any run. */
const ISSUING_MS = 3_600_000;

let world: EngineWorld;
let gateway: Gateway;
let empty: ReturnType<EngineWorld["cloud"]["snapshot"]>;

beforeAll(async () => {
  world = await startEngineWorld({ actionMs: { create_certificate: ISSUING_MS } });
  empty = world.cloud.snapshot();
});
beforeEach(async () => {
  world.cloud.restore(empty);
  world.cloud.journal.clear();
  // Each test has its own gateway, because a restored cloud reuses ids, for which the gateway has cached reads.
  const { url: endpoint, token } = world.cloud;
  gateway = new Gateway(new Upstream({ endpoint, token: () => token, userAgent: "test", timeoutMs: 5_000 }), () => {});
  await gateway.start();
});
afterEach(() => gateway.stop());
afterAll(() => world[Symbol.asyncDispose]());

/** Runs a request through the gateway, which has the keys. */
async function run(request: Partial<RunRequest>): Promise<RunReport> {
  const keys = new Map([[UPLOADED.name, PAIR.privateKey]]);
  const access = gateway.open({ run: "test", mode: request.mode ?? "apply", complete: insertKeys(keys) });
  try {
    return await world.run({ ...request, access });
  } finally {
    await access.close();
  }
}

const presentOf = (...specs: readonly CertificateSpec[]) =>
  Object.assign({}, ...specs.map((spec) => world.certificateOf(spec)));
const statuses = ({ outcomes }: RunReport) => Object.values(outcomes).map(({ status }) => status);
const writes = () => world.cloud.journal.writes.map(({ method, route }) => `${method} ${route}`);

describe("certificates", () => {
  it("are created without waiting for their issuance, and a second run changes nothing", async () => {
    const units = [MANAGED, UPLOADED];
    const report = await run({ units });
    expect(statuses(report)).toEqual(["applied", "applied"]);
    expect(report.durationMs).toBeLessThan(20_000);
    const found = ({ name }: CertificateSpec) => world.cloud.state.certificates.find(name);
    expect(found(MANAGED)).toMatchObject({ type: "managed", labels: MANAGED.labels, status: { issuance: "pending" } });
    expect(found(UPLOADED)).toMatchObject({ type: "uploaded", labels: UPLOADED.labels, status: null });
    world.cloud.journal.clear();
    expect(statuses(await run({ units, existing: presentOf(...units) }))).toEqual(["applied", "applied"]);
    expect(world.cloud.journal.entries).toEqual([]);
  });

  it("are renamed and labelled in place", async () => {
    await run({ units: [MANAGED, UPLOADED] });
    const before = world.cloud.state.certificates.ids();
    const existing = presentOf(MANAGED, UPLOADED);
    const changed = [MANAGED, UPLOADED].map((spec) => ({
      ...spec,
      name: `new-${spec.name}`,
      labels: { ...spec.labels, team: "web" },
    }));
    expect(statuses(await run({ units: changed, existing }))).toEqual(["applied", "applied"]);
    expect(world.cloud.state.certificates.ids()).toEqual(before);
    for (const { name } of changed) expect(world.cloud.state.certificates.find(name)?.labels.team).toBe("web");
  });

  it("are deleted with one call each", async () => {
    await run({ units: [MANAGED, UPLOADED] });
    const existing = presentOf(MANAGED, UPLOADED);
    world.cloud.journal.clear();
    expect(statuses(await run({ removals: [unitOf(UPLOADED)], existing }))).toEqual(["applied"]);
    expect(world.cloud.state.certificates.values().map(({ name }) => name)).toEqual([MANAGED.name]);
    expect(writes()).toEqual(["DELETE /certificates/{}"]);
  });

  it("are not replaced because of a textual difference", async () => {
    await run({ units: [UPLOADED] });
    const existing = presentOf(UPLOADED);
    const other = { ...UPLOADED, content: { ...UPLOADED.content, pem: `${PAIR.certificate}\n${aPair().certificate}` } };
    world.cloud.journal.clear();
    expect(statuses(await run({ units: [other as CertificateSpec], existing }))).toEqual(["applied"]);
    expect(writes()).toEqual([]);
  });

  it("fail with the message of the API", async () => {
    await run({ units: [UPLOADED] });
    const twin = { ...MANAGED, name: UPLOADED.name };
    const { outcomes } = await run({ units: [twin] });
    expect(outcomes[unitOf(twin)]).toMatchObject({ status: "failed", failure: { code: "uniqueness_error" } });
  });

  it("can be previewed", async () => {
    const { outcomes } = await run({ mode: "preview", units: [MANAGED, UPLOADED] });
    const changes = Object.values(outcomes).flatMap((outcome) => outcome.changes);
    expect(changes.map(({ part, operation }) => `${operation} ${part}`)).toEqual([
      "create certificate",
      "create certificate",
    ]);
    expect(writes()).toEqual([]);
  });

  it("leave no private key in files", async () => {
    await run({ units: [UPLOADED] });
    const [, line = ""] = PAIR.privateKey.split("\n");
    const files = readdirSync(world.home.directory, { recursive: true, withFileTypes: true });
    for (const file of files.filter((entry) => entry.isFile())) {
      const path = join(file.parentPath, file.name);
      expect(readFileSync(path, "utf8").includes(line), path).toBe(false);
    }
  });
});
