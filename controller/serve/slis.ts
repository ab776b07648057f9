/** Metrics of health checks, named as in all Kubernetes components. */
import { Counter, Gauge, Registry } from "prom-client";

/** Called with the result of every health check. */
export type NoteCheck = (endpoint: string, name: string, isFine: boolean) => void;

/** Counts health checks by result. */
export class HealthIndicators {
  readonly registry = new Registry();
  readonly #last = new Gauge({
    name: "kubernetes_healthcheck",
    help: "Result of the latest run of a health check: 1 for success.",
    labelNames: ["name", "type"],
    registers: [this.registry],
  });
  readonly #total = new Counter({
    name: "kubernetes_healthchecks_total",
    help: "Health checks by result.",
    labelNames: ["name", "type", "status"],
    registers: [this.registry],
  });

  readonly note: NoteCheck = (type, name, isFine) => {
    this.#last.set({ name, type }, isFine ? 1 : 0);
    this.#total.inc({ name, type, status: isFine ? "success" : "error" });
  };
}
