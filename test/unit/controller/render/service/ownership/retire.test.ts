import { describe, expect, it } from "vitest";
import { keepOnRetire } from "../../../../../../controller/render/service/ownership/retire.ts";
import { aBalancerState, aListener, aService, NETWORK_ID, UID } from "../../../../../support/builders.ts";

const OWN = { "hcloud-ccm/service-uid": UID };
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
    expect(kept?.spec.labels).toEqual({ team: "a", "lotse/released": UID });
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

  it("loses the Service's parts and is kept when it has foreign ones", () => {
    const shared = { ...state, labels: { ...state.labels, "lotse/foreign-listener-8443": "true" } };
    const kept = keepOnRetire(service(), shared);
    expect(kept?.spec).toMatchObject({ labels: { team: "a", "lotse/released": UID }, listeners: [], targets: [] });
    expect(kept?.existing).toEqual(shared);
  });
});
