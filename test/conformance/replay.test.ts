/** Recordings of `npm run test:account -- --record`, replayed against the simulator. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Cloud, startCloud } from "../../dev-env/cloud/cloud.ts";
import { ProjectApi } from "../../dev-env/project/api.ts";
import { type Exchange, type LabellingProxy, startProxy } from "../account/proxy.ts";
import { record } from "../account/recording.ts";
import { replay } from "../account/replay.ts";
import { aPair } from "../support/certificates.ts";

const KEPT = fileURLToPath(new URL("recordings", import.meta.url));
const files = existsSync(KEPT) ? readdirSync(KEPT) : [];

describe.skipIf(files.length === 0)("a recording of the real API", () => {
  it.each(files)("%s shows no difference", async (file) => {
    expect(await replay(JSON.parse(readFileSync(`${KEPT}/${file}`, "utf8")))).toEqual([]);
  });
});

describe("a recording of the simulator", () => {
  let cloud: Cloud;
  let proxy: LabellingProxy;
  let api: ProjectApi;
  beforeAll(async () => {
    cloud = await startCloud({ actionMs: 30, firstId: 5_000_001 });
    proxy = await startProxy({ endpoint: cloud.url, token: cloud.token }, "run-1");
    api = new ProjectApi(proxy.access, "test-account");
    await work();
  });
  afterAll(async () => {
    api[Symbol.dispose]();
    await proxy.close();
    await cloud.stop();
  });

  /** Uses most of what the suite uses, with other ids than a new simulator's, and actions that take a moment. */
  async function work(): Promise<void> {
    const subnets = [{ type: "cloud", ip_range: "10.0.1.0/24", network_zone: "eu-central" }];
    const wanted = { name: "net", ip_range: "10.0.0.0/16", subnets };
    const { network } = await api.send<{ network: { id: number } }>("POST", "/networks", wanted);
    const server = { name: "one", server_type: "cx23", image: "debian-13", location: "fsn1", networks: [network.id] };
    const made = await api.make<{ server: { id: number } }>("/servers", server);
    const route = { destination: "10.244.1.0/24", gateway: "10.0.1.1" };
    await api.make(`/networks/${network.id}/actions/add_route`, route);
    const { certificate, privateKey } = aPair();
    const upload = { name: "pair", certificate, private_key: privateKey };
    const { certificate: pair } = await api.send<{ certificate: { id: number } }>("POST", "/certificates", upload);
    const balancer = await api.make<{ load_balancer: { id: number } }>("/load_balancers", {
      name: "web",
      load_balancer_type: "lb11",
      location: "fsn1",
      network: network.id,
      services: [{ protocol: "https", listen_port: 443, destination_port: 30_443, http: { certificates: [pair.id] } }],
      targets: [{ type: "server", server: { id: made.server.id }, use_private_ip: true }],
    });
    const path = `/load_balancers/${balancer.load_balancer.id}`;
    await api.make(`${path}/actions/change_algorithm`, { type: "least_connections" });
    for (const collection of ["servers", "networks", "load_balancers", "certificates"]) {
      await api.send("GET", `/${collection}?page=1&per_page=50`);
    }
    await expect(api.send("DELETE", `/certificates/${pair.id}`)).rejects.toThrow("resource_in_use");
    await api.send("DELETE", path);
    await expect(api.send("GET", path)).rejects.toThrow("not_found");
  }

  /** The recording, with a deviation in the responses that a path matches. */
  const deviating = (path: RegExp, change: (answer: string) => string): readonly Exchange[] =>
    proxy.exchanges.map((it) => (path.test(`${it.method} ${it.path}`) ? { ...it, answer: change(it.answer) } : it));

  it("shows no difference, although ids and addresses are others", async () => {
    expect(await replay(record(proxy.exchanges))).toEqual([]);
  });

  it.each([
    ["a missing field", /GET \/networks/, /"expose_routes_to_vswitch":false,/, "", /only the simulator has it/],
    [
      "a new field",
      /GET \/networks/,
      /"ip_range":"10.0.0.0/,
      '"new":1,"ip_range":"10.0.0.0',
      /networks\[\]\.new: the simulator does not/,
    ],
    [
      "another value",
      /POST \/load_balancers$/,
      /"round_robin"/,
      '"random"',
      /the API has "random", the simulator "round_robin"/,
    ],
    [
      "another type",
      /GET \/load_balancers\?/,
      /"listen_port":443/,
      '"listen_port":"443"',
      /the API has "443", the simulator 443/,
    ],
    [
      "another reference",
      /GET \/load_balancers\?/,
      /"certificates":\[\d+\]/,
      '"certificates":[5000001]',
      /certificates\[\]/,
    ],
    [
      "another error",
      /DELETE \/certificates/,
      /resource_in_use/,
      "protected",
      /protected, the simulator's resource_in_use/,
    ],
  ])("shows %s", async (_, path, from, to, difference) => {
    const exchanges = deviating(path, (answer) => answer.replace(from, to));
    expect(exchanges).not.toEqual(proxy.exchanges);
    expect(await replay(record(exchanges))).toEqual([expect.stringMatching(difference)]);
  });

  it("shows another status, and what follows from it", async () => {
    const exchanges = proxy.exchanges.map((it) =>
      it.method === "DELETE" && it.status < 300 ? { ...it, status: 204 } : it,
    );
    expect(await replay(record(exchanges))).toContainEqual(
      expect.stringMatching(/^DELETE \/load_balancers\/-: the API responds with 204, the simulator with \d+$/),
    );
  });

  it("contains no secrets, and no addresses of the account", async () => {
    const server = cloud.state.servers.find("one");
    const text = JSON.stringify(record(proxy.exchanges));
    expect(text).toContain('"private_key":"<private_key>"');
    for (const secret of [cloud.token, proxy.access.token, "BEGIN", server?.public_net.ipv4?.ip ?? "?"]) {
      expect(text).not.toContain(secret);
    }
    expect(text).toContain("10.0.1.1"); // the same in every account
    expect(text).toMatch(/203\.0\.113\.\d+/);
  });
});
