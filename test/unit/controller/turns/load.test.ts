import { expect, it } from "vitest";
import { Absence } from "../../../../controller/apply/proof.ts";
import { FINALIZER } from "../../../../controller/formats/finalizer.ts";
import { GUARD_LIMITS } from "../../../../controller/guard/guard.ts";
import { Pace } from "../../../../controller/guard/pace.ts";
import type { Snapshot } from "../../../../controller/render/cluster.ts";
import { ClusterTurn } from "../../../../controller/turns/cluster.ts";
import { aRenderOptions } from "../../../support/builders.ts";
import { manyAnnotations, manyPorts, manySecrets, manyServices, manyTerms } from "../../../support/crowded.ts";
import { longestStepMs } from "../../../support/event-loop.ts";
import { aCloud } from "../../../support/fake-cloud.ts";
import { aLog } from "../../../support/log.ts";

/** Turns on a snapshot that wants nothing or cannot be served, with an engine that does nothing. */
function aTurn({ services, nodes, cloud: { servers, loadBalancers, catalogue }, ...rest }: Snapshot): ClusterTurn {
  const cloud = aCloud({ servers, balancers: loadBalancers });
  cloud.catalogue = catalogue;
  const claimed = services.map((service) => ({
    ...service,
    metadata: { ...service.metadata, finalizers: [FINALIZER] },
  }));
  return new ClusterTurn({
    observed: () => ({ ...rest, services: claimed, nodes }),
    view: cloud.view,
    runner: {
      startTurn: () => {},
      apply: async () => ({ id: "1", outcomes: {}, durationMs: 1 }),
      conclude: () => {},
      preview: async () => [],
      recordApprovals: () => {},
      prepare: () => {},
      isUnderWay: () => false,
      slowFailure: () => undefined,
      lastRun: undefined,
    },
    gateway: { sinceWriteMs: () => 0 },
    absence: new Absence(cloud.reader),
    pace: new Pace(),
    patcher: { readService: async () => undefined },
    publish: async () => [],
    options: aRenderOptions(),
    guardLimits: GUARD_LIMITS,
    resyncMs: 60_000,
    log: aLog().log,
  });
}

/** More than the limit of 100 ms, because code that runs for the first time is slow. */
const MOST_MS = 250;

it.each([
  ["a Service with 256 kB of unknown annotations", manyAnnotations],
  ["a Service with 10,000 ports", manyPorts],
  ["a Service with a node selector of 60,000 terms, and 1,000 nodes", manyTerms],
  ["25 TLS Secrets of 700 kB on 30 ports", () => manySecrets(700_000)],
  ["25 TLS Secrets of the largest permitted size on 30 ports", () => manySecrets(60_000)],
  ["300 Services and 1,000 nodes", () => manyServices(300, 1_000)],
])("%s do not block the event loop (hardening 1)", { timeout: 60_000 }, async (_, snapshot) => {
  const turn = aTurn(snapshot());
  expect(await longestStepMs(() => turn.run())).toBeLessThan(MOST_MS);
});
