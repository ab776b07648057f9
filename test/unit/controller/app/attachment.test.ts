import { afterEach, describe, expect, it } from "vitest";
import { checkAttachment, fetchAttachedNetworks } from "../../../../controller/app/assemble-cloud.ts";
import { loadConfig } from "../../../../controller/config/config.ts";
import { ConfigError } from "../../../../controller/diagnostics/errors.ts";
import { type Cloud, startCloud } from "../../../../dev-env/cloud/cloud.ts";
import { aLog } from "../../../support/log.ts";

let cloud: Cloud | undefined;
afterEach(async () => {
  await cloud?.stop();
  cloud = undefined;
});

/** The address of the metadata service as the server asks it. */
const metadataOf = ({ url }: Cloud, server: string) => `${new URL(url).origin}/_metadata/${server}/hetzner/v1/metadata`;

describe("the metadata service", () => {
  it("lists the networks that the server is attached to", async () => {
    cloud = await startCloud();
    const networks = [cloud.addNetwork({ name: "one" }), cloud.addNetwork({ name: "two" })];
    cloud.addServer({ name: "in", network: networks[1]?.id ?? 0 });
    cloud.addServer({ name: "out" });
    expect(await fetchAttachedNetworks(metadataOf(cloud, "in"))).toEqual([networks[1]?.id]);
    expect(await fetchAttachedNetworks(metadataOf(cloud, "out"))).toEqual([]);
  });
});

describe("HCCM E5: the check that this server is attached to the network", () => {
  const check = async (env: Record<string, string>, networkId: number | undefined) => {
    const { log, lines } = aLog();
    await checkAttachment(loadConfig({}, { HCLOUD_TOKEN: "t".repeat(64), ...env }), networkId, log);
    return lines;
  };

  it("passes when it is; otherwise fails with the remedy", async () => {
    cloud = await startCloud();
    const { id } = cloud.addNetwork({ name: "cluster" });
    cloud.addServer({ name: "in", network: id });
    cloud.addServer({ name: "out" });
    expect(await check({ LOTSE_METADATA_ENDPOINT: metadataOf(cloud, "in") }, id)).toEqual([]);
    const outside = { LOTSE_METADATA_ENDPOINT: metadataOf(cloud, "out") };
    await expect(check(outside, id)).rejects.toThrow(ConfigError);
    await expect(check(outside, id)).rejects.toThrow("HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK=true");
    expect(await check({ ...outside, HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: "true" }, id)).toEqual([]);
    expect(await check(outside, undefined)).toEqual([]);
  });

  it("unlike HCCM E5: only warns where there is no metadata service", async () => {
    const lines = await check({ LOTSE_METADATA_ENDPOINT: "http://127.0.0.1:9" }, 7);
    expect(lines).toEqual([expect.objectContaining({ level: "warn" })]);
  });
});
