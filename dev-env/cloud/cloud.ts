/** The entry point: starts a simulated cloud. */
import { Router } from "./api/route.ts";
import { DataPlane } from "./data-plane/data-plane.ts";
import { acquireSlot } from "./data-plane/slot.ts";
import { controlEndpoint } from "./http/control.ts";
import { Endpoint } from "./http/endpoint.ts";
import { Faults } from "./http/faults.ts";
import { Journal } from "./http/journal.ts";
import { metadataEndpoint } from "./http/metadata.ts";
import { type CloudOptions, type DataPlaneOptions, DEFAULT_BEHAVIOUR, REALISTIC_ACTION_MS } from "./options.ts";
import { routes } from "./routes.ts";
import { type NetworkSeed, type ServerSeed, seedNetwork, seedServer } from "./seed.ts";
import type { ActionError } from "./state/actions.ts";
import { AddressPool } from "./state/addresses.ts";
import { systemClock } from "./state/clock.ts";
import type { HealthState } from "./state/health.ts";
import { Project, type ProjectSnapshot } from "./state/project.ts";
import { stateOf } from "./state-view.ts";

export type { CloudOptions } from "./options.ts";
export type { CloudState } from "./state-view.ts";

/** The complete state of a cloud as plain data, which any other instance can restore. */
export type CloudSnapshot = ProjectSnapshot;

/** A running simulated cloud. */
export interface Cloud extends ReturnType<typeof inProcess> {
  /** The URL including `/v1`, for `HCLOUD_ENDPOINT`. */
  readonly url: string;
  /** A valid token. */
  readonly token: string;
  /** All requests so far. */
  readonly journal: Journal;
  /** Active faults; also available as `/_control/faults`. */
  readonly faults: Faults;
  /** Calls the listener after every write through the API. Actions that end later are not announced. */
  onWrite(listener: () => void): void;
  stop(): Promise<void>;
}

const FIRST_ID = 1_000_001;
const ANY_TOKEN = "lotse-simulated-cloud-token-".padEnd(64, "0");

/** Starts a cloud, on 127.0.0.1 unless told otherwise. Several may run in one process. */
export async function startCloud(options: CloudOptions = {}): Promise<Cloud> {
  const { host = "127.0.0.1" } = options;
  const traffic = dataPlaneOptions(options.dataPlane);
  const slot = traffic && !traffic.isRouted ? await acquireSlot() : undefined;
  const project = createProject(options, slot?.slot);
  const dataPlane = traffic && new DataPlane(project, traffic);
  const writeListeners: (() => void)[] = [() => dataPlane?.sync()];
  const [journal, faults] = [new Journal(), new Faults()];
  const endpoint = new Endpoint({
    project,
    router: new Router(routes),
    journal,
    faults,
    tokens: { token: options.token, readOnlyToken: options.readOnlyToken },
    latencyMs: options.latencyMs ?? 0,
    rateLimit: options.rateLimit ?? { perHour: 3600 },
    sideEndpoints: [controlEndpoint({ project, journal, faults }), metadataEndpoint(project)],
    onWrite: () => {
      for (const listener of writeListeners) listener();
    },
  });
  const stop = async () => {
    await Promise.all([endpoint.close(), dataPlane?.stop(), slot?.release()]);
  };
  const port = await endpoint.listen(options.port ?? 0, host).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  dataPlane?.start();
  const url = `http://${host}:${port}/v1`;
  const onWrite = (listener: () => void) => void writeListeners.push(listener);
  return { url, token: options.token ?? ANY_TOKEN, journal, faults, onWrite, ...inProcess(project, dataPlane), stop };
}

/** Operations for tests that bypass HTTP. */
function inProcess(project: Project, dataPlane: DataPlane | undefined) {
  return {
    /** All resources in the shape of the API. */
    state: stateOf(project),
    addNetwork: (seed: NetworkSeed = {}) => seedNetwork(project, seed),
    addServer: (seed: ServerSeed) => seedServer(project, seed),
    /** The loopback address at which the data plane reaches a server. */
    backendOf: (server: number) => project.servers.get(server)?.backend,
    /** Overrides the health of a target (server id or IP); undefined removes the override. */
    setHealth: (target: number | string, health: HealthState | HealthState["status"] | undefined) =>
      project.health.override(target, typeof health === "string" ? { status: health } : health),
    /** Ends a running or stuck action now. */
    finishAction: (id: number, error: ActionError | null = null) => project.actions.finish(id, error),
    snapshot: (): CloudSnapshot => project.snapshot(),
    restore: (snapshot: CloudSnapshot) => project.restore(snapshot),
    /** With a data plane: resolves when all listeners are open and every target has been checked once. */
    ready: async () => dataPlane?.ready(),
    /** With a data plane: sockets that could not be opened, with the reason. */
    problems: (): readonly string[] => dataPlane?.problems ?? [],
  };
}

/** Undefined means that there is no data plane. */
function dataPlaneOptions(option: boolean | DataPlaneOptions = false): DataPlaneOptions | undefined {
  return typeof option === "object" ? option : option ? {} : undefined;
}

function createProject(options: CloudOptions, loopbackSlot: number | undefined): Project {
  const { actionMs = 0, clock = systemClock, firstId = FIRST_ID } = options;
  const given = Object.entries(options).filter(([key, value]) => key in DEFAULT_BEHAVIOUR && value !== undefined);
  const behaviour = {
    ...DEFAULT_BEHAVIOUR,
    // The switches have the same names in the options.
    ...(Object.fromEntries(given) as Partial<CloudOptions>),
    actionMs: actionMs === "realistic" ? REALISTIC_ACTION_MS : actionMs,
  };
  return new Project({ clock, behaviour, firstId, addresses: new AddressPool(loopbackSlot) });
}
