import { describe, expect, it } from "vitest";
import { nextStage, type Room } from "../../../../../controller/render/service/stages.ts";
import { aBalancerSpec, aBalancerState, aListener, NETWORK_ID } from "../../../../support/builders.ts";

const ROOM: Room = { foreignListeners: 0, foreignTargets: 0, limits: { listeners: 5, targets: 3 } };
const listeners = (...ports: number[]) => ports.map((port) => aListener(port));
const targets = (...ids: number[]) =>
  ids.map((serverId) => ({ kind: "server", serverId, usePrivateIp: false }) as const);
const ports = (spec: { listeners: readonly { listenPort: number }[] }) =>
  spec.listeners.map(({ listenPort }) => listenPort);
const ids = (spec: { targets: readonly object[] }) =>
  spec.targets.map((target) => "serverId" in target && target.serverId);

describe("nextStage", () => {
  it("is the desired load balancer if one run suffices", () => {
    const spec = aBalancerSpec({ listeners: listeners(80), targets: targets(1, 2) });
    expect(
      nextStage(spec, aBalancerState({ targets: targets(1, 3) }), { ...ROOM, limits: { listeners: 5, targets: 4 } }),
    ).toEqual(spec);
    const { limits: _, ...unknown } = ROOM;
    expect(nextStage(spec, aBalancerState({ targets: targets(3, 4, 5, 6) }), unknown)).toEqual(spec);
  });

  it("unlike HCCM V3: makes room on a full load balancer before it adds listeners", () => {
    const existing = aBalancerState({ listeners: listeners(1, 2, 3, 4, 5) });
    const spec = aBalancerSpec({ listeners: listeners(1, 2, 3, 6, 7) });
    expect(ports(nextStage(spec, existing, ROOM))).toEqual([1, 2, 3]);
    const roomy = aBalancerState({ listeners: listeners(1, 2, 3) });
    expect(ports(nextStage(spec, roomy, ROOM))).toEqual([1, 2, 3, 6, 7]);
    const foreign = { ...ROOM, foreignListeners: 1 };
    expect(ports(nextStage(spec, roomy, foreign))).toEqual([1, 2, 3, 6]);
  });

  it("makes room before it adds targets", () => {
    const existing = aBalancerState({ targets: targets(1, 2, 3) });
    const spec = aBalancerSpec({ targets: targets(1, 2, 4) });
    expect(ids(nextStage(spec, existing, ROOM))).toEqual([1, 2]);
    const roomy = aBalancerState({ targets: targets(1, 2) });
    expect(ids(nextStage(spec, roomy, ROOM))).toEqual([1, 2, 4]);
    expect(ids(nextStage(spec, roomy, { ...ROOM, foreignTargets: 1 }))).toEqual([1, 2]);
  });

  it("changes to a smaller type once everything fits it", () => {
    const room = { ...ROOM, presentLimits: { listeners: 15, targets: 75 } };
    const spec = aBalancerSpec({ type: "lb11", targets: targets(1) });
    const crowded = aBalancerState({ type: "lb21", targets: targets(1, 2, 3, 4) });
    expect(nextStage(spec, crowded, room)).toMatchObject({ type: "lb21", targets: [{ serverId: 1 }] });
    const roomy = aBalancerState({ type: "lb21", targets: targets(1), listeners: listeners(1) });
    expect(nextStage(spec, roomy, room).type).toBe("lb11");
    expect(nextStage(spec, roomy, { ...room, foreignTargets: 2, foreignListeners: 4 }).type).toBe("lb11");
    expect(nextStage(spec, roomy, { ...room, foreignTargets: 3 }).type).toBe("lb21");
    expect(nextStage(spec, roomy, { ...room, foreignListeners: 5 }).type).toBe("lb21");
  });

  it("disables the public interface once no target needs it", () => {
    const network = { networkId: NETWORK_ID, publicInterface: false };
    const spec = aBalancerSpec({ network, targets: [{ kind: "server", serverId: 1, usePrivateIp: true }] });
    const isPublic = (existing: Parameters<typeof aBalancerState>[0]) =>
      nextStage(spec, aBalancerState(existing), ROOM).network?.publicInterface;
    expect(isPublic({ targets: targets(1) })).toBe(true);
    expect(isPublic({ targets: spec.targets })).toBe(false);
    expect(isPublic({ targets: [] })).toBe(false);
    expect(isPublic({ targets: targets(1), publicInterface: false })).toBe(false);
    expect(isPublic({ targets: [{ kind: "ip", ip: "10.0.1.7" }], publicInterface: true }), "dedicated").toBe(false);
  });

  it("keeps a redirect and a listener on port 80 apart", () => {
    const http = {
      stickySessions: false,
      cookieName: "HCLBSTICKY",
      cookieLifetimeSeconds: 300,
      timeoutIdleSeconds: 50,
      redirectHttp: true,
      certificateIds: [1],
    };
    const redirecting = aListener(443, { protocol: "https", http });
    const plain = aListener(443, { protocol: "https", http: { ...http, redirectHttp: false } });
    const first = nextStage(
      aBalancerSpec({ listeners: [redirecting] }),
      aBalancerState({ listeners: [aListener(80), plain] }),
      ROOM,
    );
    expect(first.listeners).toEqual([plain]);
    const back = nextStage(
      aBalancerSpec({ listeners: [aListener(80), plain] }),
      aBalancerState({ listeners: [redirecting] }),
      ROOM,
    );
    expect(back.listeners).toEqual([plain]);
    const alone = nextStage(aBalancerSpec({ listeners: [redirecting] }), aBalancerState({ listeners: [plain] }), ROOM);
    expect(alone.listeners).toEqual([redirecting]);
  });
});
