import { describe, expect, it } from "vitest";
import { keepOnRetire, leaveBehind } from "../../../../../controller/render/service/retire.ts";
import { aBalancerState, aListener, aService, NETWORK_ID, UID } from "../../../../support/builders.ts";

const OWN = { "hcloud-ccm/service-uid": UID };
const RELEASED = { "lotse/released": UID, "lotse/released-namespace": "default", "lotse/released-name": "web" };
const service = (annotations: Record<string, string> = {}) => aService({ isDeleted: true, annotations });
const state = aBalancerState({
  labels: { ...OWN, team: "a", web: "b", "lotse/label-web": "true" },
  deleteProtection: true,
  network: { networkId: NETWORK_ID, ip: "10.0.0.5" },
  listeners: [aListener(80)],
  targets: [{ kind: "server", serverId: 1, usePrivateIp: true }],
});

describe("a load balancer whose Service is deleted", () => {
  it.each([{}, { "on-delete": "delete" }, { "on-delete": "DELETE" }, { bad: "x", type: "\u0000" }])(
    "is deleted too: %j",
    (annotations) => {
      expect(keepOnRetire(service(annotations), state)).toBeUndefined();
    },
  );

  it.each(["keep", "Keep"])("is kept unchanged, without an owner, with on-delete %s", (text) => {
    const kept = keepOnRetire(service({ "on-delete": text }), state);
    expect(kept?.spec.labels).toEqual({ team: "a", ...RELEASED });
    expect(kept?.spec).toMatchObject({
      name: "balancer",
      type: "lb11",
      deleteProtection: true,
      place: { location: "fsn1" },
    });
    for (const side of [kept?.spec, kept?.existing]) {
      expect(side).toMatchObject({ listeners: [], targets: [] });
      expect(side).not.toHaveProperty("network");
    }
  });

  it("is kept when on-delete is invalid, because its address would be lost", () => {
    expect(keepOnRetire(service({ "on-delete": "keeep" }), state)?.reason).toContain("on-delete is invalid");
  });

  it.each(["lotse/foreign-listener-8443", "lotse/adopted"])(
    "loses the Service's parts, then its owner, and is kept, when it is marked %s",
    (mark) => {
      const shared = { ...state, labels: { ...state.labels, [mark]: "true" } };
      const first = keepOnRetire(service(), shared);
      expect(first?.spec).toMatchObject({ labels: shared.labels, listeners: [], targets: [] });
      expect(first?.existing).toEqual(shared);
      const second = keepOnRetire(service(), { ...shared, listeners: [], targets: [] });
      expect(second?.spec.labels).toEqual({ team: "a", [mark]: "true", ...RELEASED });
    },
  );

  it("keeps its marks when it is kept unchanged, so that it returns as it was", () => {
    const before = { ...state, labels: { ...OWN, "lotse/adopted": "true", "lotse/foreign-server-3": "true" } };
    expect(leaveBehind(service(), before, "").spec.labels).toEqual({
      "lotse/adopted": "true",
      "lotse/foreign-server-3": "true",
      ...RELEASED,
    });
  });
});
