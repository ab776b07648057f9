import { expect, it } from "vitest";
import { FINALIZER } from "../../../../controller/formats/finalizer.ts";
import { GUARD_LIMITS } from "../../../../controller/guard/guard.ts";
import { Vanished } from "../../../../controller/observe/vanished.ts";
import { aService } from "../../../support/builders.ts";
import { aLog } from "../../../support/log.ts";

const services = Array.from({ length: 10 }, (_, index) => aService({ name: `web-${index}`, uid: `${index}` }));

async function afterLosing(count: number, readService = async () => undefined as (typeof services)[0] | undefined) {
  const { log, lines } = aLog();
  const vanished = new Vanished({ readService, limits: GUARD_LIMITS, log });
  vanished.hold(services.map((service) => ({ service })));
  const observed = { services: services.slice(count), nodes: [] };
  await vanished.look(observed);
  await vanished.look(observed);
  const deleted = vanished.complete(observed).services.filter(({ metadata }) => metadata?.deletionTimestamp);
  return {
    deleted: deleted.map(({ metadata }) => metadata?.name),
    errors: lines.filter(({ msg }) => `${msg}`.startsWith("many Services")),
  };
}

it("presents a Service that vanished with its finalizer as being deleted", async () => {
  expect((await afterLosing(2)).deleted).toEqual(["web-0", "web-1"]);
});

it("tells a Service that vanished from those that are there, also from one of the same name", async () => {
  const vanished = new Vanished({ readService: async () => undefined, limits: GUARD_LIMITS, log: aLog().log });
  vanished.hold(services.map((service) => ({ service })));
  await vanished.look({ services: services.slice(1), nodes: [] });
  const candidates = [...services.slice(0, 2), aService({ name: "web-0", uid: "new" })];
  expect(candidates.map((service) => vanished.has(service))).toEqual([true, false, false]);
});

it("believes nothing that a direct read does not confirm", async () => {
  expect((await afterLosing(2, async () => services[0])).deleted).toEqual(["web-1"]);
  const failing = async () => Promise.reject(new Error("unreachable"));
  expect((await afterLosing(2, failing)).deleted).toEqual([]);
});

it("presents one that lost type and finalizer in one update as being deleted, if a direct read shows it too", async () => {
  const [first = aService(), second = aService()] = services;
  const asClusterIp = (service: typeof first) => ({ ...service, spec: { ...service.spec, type: "ClusterIP" } });
  const observed = { services: [asClusterIp(first), asClusterIp(second), ...services.slice(2)], nodes: [] };
  const readService = async ({ metadata }: typeof first) => (metadata?.uid === "0" ? asClusterIp(first) : second);
  const vanished = new Vanished({ readService, limits: GUARD_LIMITS, log: aLog().log });
  vanished.hold(services.map((service) => ({ service })));
  await vanished.look(observed);
  const deleted = vanished.complete(observed).services.filter(({ metadata }) => metadata?.deletionTimestamp);
  expect(deleted.map(({ metadata }) => metadata?.name)).toEqual(["web-0"]);
});

it("presents none that only changed its type: its finalizer shows that something is left of it", async () => {
  const changed = aService({ name: "web-0", uid: "0", type: "ClusterIP", finalizers: [FINALIZER] });
  const observed = { services: [changed, ...services.slice(1)], nodes: [] };
  const vanished = new Vanished({ readService: async () => changed, limits: GUARD_LIMITS, log: aLog().log });
  vanished.hold(services.map((service) => ({ service })));
  await vanished.look(observed);
  expect([vanished.has(changed), vanished.complete(observed).services]).toEqual([false, observed.services]);
});

it("presents it as it is now: the same update may ask to keep the load balancer", async () => {
  const annotations = { "on-delete": "keep" };
  const now = aService({ name: "web-0", uid: "0", type: "ClusterIP", annotations });
  const observed = { services: [now, ...services.slice(1)], nodes: [] };
  const vanished = new Vanished({ readService: async () => now, limits: GUARD_LIMITS, log: aLog().log });
  vanished.hold(services.map((service) => ({ service })));
  await vanished.look(observed);
  const [deleted] = vanished.complete(observed).services.filter(({ metadata }) => metadata?.deletionTimestamp);
  expect(deleted?.metadata?.annotations).toEqual(now.metadata?.annotations);
});

it("presents no Service as being deleted that is back, or whose finalizer was removed in the meantime", async () => {
  const vanished = new Vanished({ readService: async () => undefined, limits: GUARD_LIMITS, log: aLog().log });
  vanished.hold(services.map((service) => ({ service })));
  const [first = aService(), second = aService(), third = aService(), ...rest] = services;
  await vanished.look({ services: rest, nodes: [] });
  vanished.release([
    { kind: "remove-finalizer", service: first },
    { kind: "ingress", service: second, ingress: [] },
  ]);
  const { services: presented } = vanished.complete({ services: [third, ...rest], nodes: [] });
  expect(presented.map(({ metadata }) => metadata?.uid).toSorted()).toEqual(
    [second, third, ...rest].map(({ metadata }) => metadata?.uid).toSorted(),
  );
  expect(presented.filter(({ metadata }) => metadata?.deletionTimestamp)).toMatchObject([{ metadata: { uid: "1" } }]);
});

it("keeps every load balancer when many Services vanish at once, as after a restored backup, and says so once", async () => {
  const { deleted, errors } = await afterLosing(6);
  expect(deleted).toEqual([]);
  expect(errors).toHaveLength(1);
});
