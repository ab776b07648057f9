/** The real engine on a simulated cloud, without Kubernetes. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { certificateState } from "../../controller/render/certificate/listed.ts";
import { balancerState } from "../../controller/render/service/load-balancer-state.ts";
import { type Cloud, type CloudOptions, startCloud } from "../../dev-env/cloud/cloud.ts";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import { Engine, type EngineOptions } from "../../stacks/engine/engine.ts";
import type { RunReport, RunRequest, Step } from "../../stacks/engine/run.ts";
import type { EngineHome } from "../../stacks/state/workspace.ts";
import { routeUnit, unitOf } from "../../stacks/units/names.ts";
import type { CertificateSpec, UnitId, UnitState } from "../../stacks/units/spec.ts";

/** An engine with its cloud and folder. */
export class EngineWorld implements AsyncDisposable {
  readonly cloud: Cloud;
  readonly home: EngineHome;
  readonly networkId: number;
  readonly engine: Engine;

  constructor(cloud: Cloud, home: EngineHome, networkId: number, options: Partial<EngineOptions>) {
    this.cloud = cloud;
    this.home = home;
    this.networkId = networkId;
    this.engine = new Engine({ home, deadlineMs: 60_000, graceMs: 5_000, idleMs: 30_000, ...options });
  }

  /** Runs a request with defaults; `existing` is what exists of the units. */
  run(
    given: Partial<RunRequest>,
    existing: RunRequest["existing"] = {},
    onStep?: (step: Step) => void,
  ): Promise<RunReport> {
    const access = { endpoint: this.cloud.url, token: this.cloud.token };
    return this.engine.run({ mode: "apply", units: [], removals: [], existing, access, ...given }, onStep);
  }

  /** What exists of a unit: the load balancer of this name, or the route. */
  stateOf(unit: UnitId, name?: string): Partial<Record<UnitId, UnitState>> {
    const balancer = name === undefined ? undefined : this.cloud.state.loadBalancers.find(name);
    if (balancer) return { [unit]: balancerState(balancer, this.cloud.state.networks.get(this.networkId)) };
    const routes = this.cloud.state.networks.get(this.networkId)?.routes ?? [];
    const route = routes.find(({ destination }) => routeUnit({ destination }) === unit);
    return route ? { [unit]: { kind: "route" as const, networkId: this.networkId, ...route } } : {};
  }

  /** What exists of a certificate, by its name. */
  certificateOf(spec: CertificateSpec): Partial<Record<UnitId, UnitState>> {
    const certificate = this.cloud.state.certificates.find(spec.name);
    return certificate ? { [unitOf(spec)]: certificateState(certificate, spec.service) } : {};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine.stop();
    await this.cloud.stop();
    await rm(this.home.directory, { recursive: true, force: true });
  }
}

/** The binaries of an engine, with a new folder. */
export async function makeEngineHome(): Promise<EngineHome> {
  const { paths, pulumiHome } = await ensureToolchain(["pulumi", "pulumi-resource-hcloud"]);
  const directory = await mkdtemp(join(tmpdir(), "lotse-engine-"));
  return { pulumi: paths.pulumi, plugins: join(pulumiHome, "plugins"), directory, isScratch: false, stack: "test" };
}

/** Starts a cloud and a warm engine. */
export async function startEngineWorld(
  cloudOptions: CloudOptions = {},
  options: Partial<EngineOptions> = {},
): Promise<EngineWorld> {
  const home = await makeEngineHome();
  const cloud = await startCloud(cloudOptions);
  const network = cloud.addNetwork({ name: "cluster" });
  const world = new EngineWorld(cloud, home, network.id, options);
  try {
    await world.engine.start();
    return world;
  } catch (error) {
    await world[Symbol.asyncDispose]();
    throw error;
  }
}
