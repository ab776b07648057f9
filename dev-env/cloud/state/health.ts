/** What a balancer thinks of one target on one listen port. `detail` only when unhealthy. */
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

/** Names one probe: which balancer, which listener, which target (a server id or an IP). */
export interface Probe {
  readonly loadBalancer: number;
  readonly listenPort: number;
  readonly target: number | string;
}

const keyOf = ({ loadBalancer, listenPort, target }: Probe): string => `${loadBalancer}/${listenPort}/${target}`;

/** What targets report when no data plane looks at them. */
const ASSUMED: HealthState = { status: "healthy" };

/** Health of all targets: found out by the data plane, or assumed, and open to be overruled by a test. */
export class HealthBook {
  readonly #found = new Map<string, HealthState>();
  readonly #overruled = new Map<number | string, HealthState>();

  get(probe: Probe): HealthState {
    return this.#overruled.get(probe.target) ?? this.#found.get(keyOf(probe)) ?? ASSUMED;
  }

  record(probe: Probe, state: HealthState): void {
    this.#found.set(keyOf(probe), state);
  }

  forget(probe: Probe): void {
    this.#found.delete(keyOf(probe));
  }

  /** A target (server id or IP) reports this on every balancer until taken back with undefined. */
  overrule(target: number | string, state: HealthState | undefined): void {
    if (state) this.#overruled.set(target, state);
    else this.#overruled.delete(target);
  }
}
