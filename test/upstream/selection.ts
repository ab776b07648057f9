/** Which of Kubernetes' own tests run, and why some are left out or do not pass. Pure. */

/** What happens to a test, unless it passes. */
export interface Exception {
  /** Part of the test's name. */
  readonly name: RegExp;
  /** "left out": it does not run. "skipped": it ends itself. "failed": it runs, and must fail. */
  readonly outcome: "left out" | "skipped" | "failed";
  /** One sentence for the page. */
  readonly reason: string;
}

/** The tests of load balancers, and of the Services that load balancers rest on. */
const SELECTED = /^\[sig-network\] (?:LoadBalancers|Services) /;

/** Every test that is left out or does not pass. A test that deviates from this table makes the command fail. */
export const EXCEPTIONS: readonly Exception[] = [
  {
    name: /UDP (?:service|traffic)/,
    outcome: "left out",
    reason: "Load balancers of Hetzner forward TCP only. Lotse reports other protocols in an Event.",
  },
  {
    name: /loadbalancer source ranges/,
    outcome: "left out",
    reason:
      "Load balancers of Hetzner cannot filter by source. Lotse reports in an Event that the field has no effect.",
  },
  {
    name: /session affinity .*LoadBalancer service/,
    outcome: "left out",
    reason:
      "Load balancers of Hetzner cannot bind clients to targets by address. Lotse reports in an Event that the field has no effect.",
  },
  {
    name: /LoadBalancer Service without NodePort/,
    outcome: "left out",
    reason: "Load balancers of Hetzner reach pods through node ports. Lotse reports missing ones in an Event.",
  },
  {
    name: /connectivity disruption during rolling update/,
    outcome: "left out",
    reason: "Takes 15 minutes: five updates of three pods that take 60 s to end.",
  },
  {
    name: /ExternalTrafficPolicy: Local .*should work for type=LoadBalancer/,
    outcome: "failed",
    reason:
      "Expects the client's address, but load balancers of Hetzner are proxies: pods see the address of the load balancer. Use the PROXY protocol.",
  },
  {
    name: /session affinity timeout/,
    outcome: "left out",
    reason: "Tests kube-proxy alone: waits 130 s, up to ten times, until another pod is chosen by chance.",
  },
  {
    name: /work after restarting (?:kube-proxy|apiserver)/,
    outcome: "left out",
    reason: "Logs in to machines with SSH, which those of the local cloud do not run.",
  },
  {
    name: /rejected for evicted pods/,
    outcome: "left out",
    reason: "Fills a disk, and those of the local cloud have no limit.",
  },
];

/** Whether a test belongs on the page. */
export function isSelected(test: string): boolean {
  return SELECTED.test(test);
}

/** The entry of the table for a test. Undefined means that it must pass. */
export function exceptionFor(test: string): Exception | undefined {
  return EXCEPTIONS.find(({ name }) => name.test(test));
}
