/** The health of targets. */

/** The health of a target on one listener. `detail` is set only if it is unhealthy. */
export interface HealthState {
  readonly status: "healthy" | "unhealthy" | "unknown";
  readonly detail?:
    | "unspecified"
    | "layer4_no_connection"
    | "layer4_timeout"
    | "layer7_timeout"
    | "unexpected_http_status"
    | "unexpected_http_content";
  readonly http_status_code?: number;
}

/** Identifies a health check. The target is a server id or an IP. */
export interface Probe {
  readonly loadBalancer: number;
  readonly listenPort: number;
  readonly target: number | string;
}

const keyOf = ({ loadBalancer, listenPort, target }: Probe): string => `${loadBalancer}/${listenPort}/${target}`;

/** The health of targets without a data plane. */
const ASSUMED: HealthState = { status: "healthy" };

/** The health of all targets: checked by the data plane or assumed, unless a test overrides it. */
export class HealthBook {
  readonly #found = new Map<string, HealthState>();
  readonly #overrides = new Map<number | string, HealthState>();

  get(probe: Probe): HealthState {
    return this.#overrides.get(probe.target) ?? this.#found.get(keyOf(probe)) ?? ASSUMED;
  }

  record(probe: Probe, state: HealthState): void {
    this.#found.set(keyOf(probe), state);
  }

  forget(probe: Probe): void {
    this.#found.delete(keyOf(probe));
  }

  /** Overrides the health of a target on all load balancers; undefined removes the override. */
  override(target: number | string, state: HealthState | undefined): void {
    if (state) this.#overrides.set(target, state);
    else this.#overrides.delete(target);
  }
}
