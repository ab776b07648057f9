import { describe, expect, it } from "vitest";
import { ConfigError } from "../../../../controller/diagnostics/errors.ts";
import { type Choices, loadConfig, readChoices } from "../../../../dev-env/k3s/config.ts";

const DEFAULTS = {
  name: "lotse-dev",
  workers: 2,
  controlPlaneType: "cx23",
  workerType: "cx23",
  location: "fsn1",
  k3sChannel: "stable",
  image: "",
  allowFrom: ["0.0.0.0/0", "::/0"],
};

function mistakesOf(now: Choices, before: Choices = {}): readonly string[] {
  try {
    loadConfig(now, before);
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
}

describe("what to build", () => {
  it("is the default when nobody says anything", () => {
    expect(loadConfig({})).toEqual(DEFAULTS);
  });

  it("is what flags say, then variables, then what was said last time", () => {
    const now = readChoices({ workers: "3" }, { LOTSE_DEV_WORKERS: "4", LOTSE_DEV_WORKER_TYPE: "cx33" });
    expect(now).toEqual({ workers: "3", workerType: "cx33" });
    expect(loadConfig(now, { workers: "5", workerType: "cx43", location: "hel1" })).toEqual({
      ...DEFAULTS,
      workers: 3,
      workerType: "cx33",
      location: "hel1",
    });
  });

  it("takes an empty variable for none", () => {
    expect(readChoices({}, { LOTSE_DEV_LOCATION: "" })).toEqual({});
  });

  it("is refused with every mistake at once, each with its source and what is allowed", () => {
    expect(mistakesOf({ workers: "10", location: "ash" }, { k3sChannel: "nightly" })).toEqual([
      '--workers or LOTSE_DEV_WORKERS: "10" is not a whole number from 0 to 9',
      '--location or LOTSE_DEV_LOCATION: "ash" is not one of fsn1, nbg1, hel1',
      'k3s-channel of the last time: "nightly" is not stable, latest, testing or v1.34',
    ]);
  });

  it("lists mistakes of others with its own", () => {
    expect(() => loadConfig({ workers: "x" }, {}, ["HCLOUD_TOKEN is not set"])).toThrow(
      /HCLOUD_TOKEN is not set\n--workers/,
    );
  });

  it.each<[keyof Choices, readonly string[]]>([
    ["name", ["", "Dev", "dev_1", "-dev", "dev-", "1dev", "a".repeat(31), "dev\n", "dev;reboot", "../dev"]],
    ["workers", ["-1", "1.5", "", "two"]],
    ["controlPlaneType", ["", "CX23", "cx", "cx23 ", "cx23\n"]],
    ["k3sChannel", ["", "stable; reboot", "v1", "v1.34.2", "$(id)", "stable\n"]],
    [
      "image",
      ["lotse", "registry.example/lotse", "lotse:", "lotse:dev dev", "lotse:dev\n", `lotse@sha256:${"0".repeat(64)}`],
    ],
    ["allowFrom", ["", "10.0.0.1", "10.0.0.0/33", "10.0.0.0/8,,", "anywhere"]],
  ])("refuses values of %s that would end up in a name, a shell or a firewall", (name, texts) => {
    for (const text of texts) expect(mistakesOf({ [name]: text }), JSON.stringify(text)).toHaveLength(1);
  });

  it.each<[keyof Choices, string]>([
    ["name", "a"],
    ["workers", "0"],
    ["workers", "9"],
    ["k3sChannel", "v1.34"],
    ["image", "registry.example:5000/team/lotse:dev"],
    ["allowFrom", "198.51.100.7/32, 2001:db8::/32"],
  ])("takes %s %j", (name, text) => {
    expect(mistakesOf({ [name]: text })).toEqual([]);
  });
});
