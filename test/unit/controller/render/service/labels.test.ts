import { describe, expect, it } from "vitest";
import { renderLabels, renderRdns, takenLabels } from "../../../../../controller/render/service/labels.ts";
import { aBalancerState, someSettings, UID } from "../../../../support/builders.ts";

const OWNER = { "hcloud-ccm/service-uid": UID };
const labelsOf = (
  settings: ReturnType<typeof someSettings>,
  before: Record<string, string> = {},
  more: Partial<Parameters<typeof renderLabels>[1]> = {},
) => renderLabels(settings, { uid: UID, existing: aBalancerState({ labels: before }), ...more });

describe("labels of a load balancer", () => {
  it("contain only the owner on a new one", () => {
    expect(renderLabels(someSettings(), { uid: UID })).toEqual(OWNER);
  });

  it("HCCM S13a: keep foreign labels, and replace a stale owner", () => {
    expect(labelsOf(someSettings(), { team: "a", "hcloud-ccm/service-uid": "stale" })).toEqual({ team: "a", ...OWNER });
  });

  it("are set from the annotation, and marked as ours", () => {
    expect(labelsOf(someSettings({ labels: { team: "web", "example.com/env": "prod" } }))).toEqual({
      team: "web",
      "example.com/env": "prod",
      "lotse/label-team": "true",
      "lotse/label.example.com_env": "true",
      ...OWNER,
    });
  });

  it("are removed with the annotation, if they were ours", () => {
    const before = { team: "web", "lotse/label-team": "true", own: "stays" };
    expect(labelsOf(someSettings(), before)).toEqual({ own: "stays", ...OWNER });
    expect(labelsOf(someSettings({ labels: { env: "x" } }), before)).toEqual({
      own: "stays",
      env: "x",
      "lotse/label-env": "true",
      ...OWNER,
    });
  });

  it("of others stay although the Service wants them too, and are never marked as its own", () => {
    const before = { team: "ops", env: "prod" };
    const wanted = someSettings({ labels: { team: "mine", env: "prod", tier: "web" } });
    const first = labelsOf(wanted, before);
    expect(first).toEqual({ ...before, tier: "web", "lotse/label-tier": "true", ...OWNER });
    expect(labelsOf(someSettings(), first)).toEqual({ ...before, ...OWNER });
    expect(takenLabels({ team: "mine", env: "prod", tier: "web" }, before)).toEqual(["team"]);
    expect(takenLabels({ tier: "api" }, first)).toEqual([]);
  });

  it("of others stay although they resemble one of the Service's: team_x beside team/x", () => {
    const first = labelsOf(someSettings({ labels: { "team/x": "tenant" } }), { team_x: "ops" });
    expect(labelsOf(someSettings({ labels: { "team/x": "tenant" } }), first)).toMatchObject({ team_x: "ops" });
    expect(labelsOf(someSettings(), first)).toEqual({ team_x: "ops", ...OWNER });
  });

  it.each([
    [{ "team/x": "a", "lotse/label-team_x": "true" }, {}],
    [{ "team/x": "a", team_x: "b", "lotse/label-team_x": "true" }, { "team/x": "a" }],
  ])("marked by an earlier version are the Service's if that is unambiguous: %j", (before, left) => {
    expect(labelsOf(someSettings(), before)).toEqual({ ...left, ...OWNER });
  });

  it("are kept while the annotation is invalid", () => {
    const before = { team: "web", "lotse/label-team": "true", ...OWNER };
    expect(labelsOf(someSettings({}, ["labels"]), before)).toEqual(before);
  });

  it("mark foreign parts, and drop the marks of parts that are gone", () => {
    const before = { "lotse/foreign-listener-1": "true", "lotse/released": "x" };
    expect(labelsOf(someSettings(), before, { foreign: new Set(["listener-8443", "ip-2001:db8::1"]) })).toEqual({
      "lotse/foreign-listener-8443": "true",
      "lotse/foreign-ip-2001_db8__1": "true",
      ...OWNER,
    });
  });

  it("mark delete protection while it is set for the Service", () => {
    expect(labelsOf(someSettings({ deleteProtection: true }))).toHaveProperty("lotse/protected");
    expect(labelsOf(someSettings({}, ["deleteProtection"]), { "lotse/protected": "true" })).toHaveProperty(
      "lotse/protected",
    );
    expect(labelsOf(someSettings(), { "lotse/protected": "true" })).toEqual(OWNER);
  });

  it.each([
    ["the annotation is gone", undefined],
    ["it is false", false],
  ])(
    "mark delete protection until the protection itself is gone, so that a killed run can be continued: %s",
    (_, is) => {
      const settings = someSettings(is === undefined ? {} : { deleteProtection: is });
      const labels = { "lotse/protected": "true" };
      const of = (deleteProtection: boolean, before: Record<string, string>) =>
        labelsOf(settings, before, { existing: aBalancerState({ labels: before, deleteProtection }) });
      expect(of(true, labels)).toEqual({ ...labels, ...OWNER });
      expect(of(false, labels)).toEqual(OWNER);
      expect(of(true, {})).toEqual(OWNER);
    },
  );

  it("are valid for the API, from any name", () => {
    const rdns = { ipv4: `${"a".repeat(60)}.${"b".repeat(60)}.example.com` };
    const labels = labelsOf(someSettings({ labels: { ["k".repeat(56)]: "" } }), {}, { rdns });
    for (const [key, value] of Object.entries(labels)) {
      expect(key.split("/").at(-1)).toMatch(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/);
      expect(value).toMatch(/^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/);
    }
  });
});

describe("reverse DNS", () => {
  const state = (rdns: { ipv4?: string; ipv6?: string }, labels: Record<string, string> = {}) =>
    aBalancerState({ rdns, labels });

  it("HCCM A7, A8: is set from the annotations", () => {
    const settings = someSettings({ ipv4Rdns: "a.example.com", ipv6Rdns: "b.example.com" });
    expect(renderRdns(settings, undefined)).toEqual({ ipv4: "a.example.com", ipv6: "b.example.com" });
    expect(renderRdns(settings, state({ ipv4: "x" }))).toEqual({ ipv4: "a.example.com", ipv6: "b.example.com" });
  });

  it("is marked with the names that were set for the Service, so that they can be reset", () => {
    const rdns = { ipv4: "a.example.com", ipv6: "b.example.com" };
    const marks = { "lotse/rdns-ipv4": "a.example.com", "lotse/rdns-ipv6": "b.example.com" };
    expect(labelsOf(someSettings(), {}, { rdns })).toEqual({ ...marks, ...OWNER });
    expect(labelsOf(someSettings(), { "lotse/rdns-ipv4": "before" }, { rdns })).toEqual({ ...marks, ...OWNER });
  });

  it("unlike HCCM A7, A8: is reset with the annotation, until it is gone", () => {
    const labels = { "lotse/rdns-ipv4": "a.example.com" };
    expect(renderRdns(someSettings(), state({ ipv4: "a.example.com" }, labels))).toEqual({ ipv4: null });
    expect(labelsOf(someSettings(), labels, { rdns: { ipv4: null } })).toMatchObject(labels);
    expect(renderRdns(someSettings(), state({ ipv4: "the provider's" }, labels))).toEqual({});
    expect(labelsOf(someSettings(), labels, { rdns: {} })).toEqual(OWNER);
  });

  it("is left alone when it was set elsewhere", () => {
    expect(renderRdns(someSettings(), state({ ipv4: "by.hand.example.com" }))).toEqual({});
    expect(renderRdns(someSettings({ ipv4Rdns: "" }), state({ ipv4: "by.hand.example.com" }))).toEqual({});
  });

  it("is left alone while the annotation is invalid, and so is its mark", () => {
    const labels = { "lotse/rdns-ipv4": "a.example.com" };
    const settings = someSettings({}, ["ipv4Rdns"]);
    expect(renderRdns(settings, state({ ipv4: "a.example.com" }, labels))).toEqual({});
    expect(labelsOf(settings, labels, { rdns: {} })).toMatchObject(labels);
  });

  it("is not requested where there is no address", () => {
    const { ipv6: _, ...existing } = aBalancerState();
    expect(renderRdns(someSettings({ ipv6Rdns: "a.example.com" }), existing)).toEqual({});
  });
});
