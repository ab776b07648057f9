/** `npm run cloud`: the simulated cloud as a command. */
import { Command, InvalidArgumentError } from "commander";
import { type Cloud, type CloudOptions, startCloud } from "./cloud.ts";

const NETWORK_MEMBERS = 100;

function parseDuration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s)?$/.exec(text);
  if (!match) throw new InvalidArgumentError("not a duration, such as 60ms or 1.5s");
  return Number(match[1]) * (match[2] === "s" ? 1000 : 1);
}

function parseNumber(max: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,5}$/.test(text) && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`not a whole number from 0 to ${max}`);
  };
}

interface Flags {
  readonly port: number;
  readonly servers: number;
  readonly latency: number;
  readonly actions: number | "realistic";
  readonly token?: string;
  readonly rateLimit: boolean;
  readonly dataPlane: boolean;
}

const program = new Command("cloud")
  .description("A simulated Hetzner Cloud on loopback, for tests and experiments without an account")
  .option("--port <n>", "port on 127.0.0.1", parseNumber(65_535), 8443)
  .option("--servers <n>", "number of servers to start with; the first 100 are in one network", parseNumber(99_999), 0)
  .option("--latency <duration>", "delay of every response, e.g. 60ms", parseDuration, 0)
  .option("--actions <duration>", "duration of actions, e.g. 800ms, or `realistic`", parseActions, 0)
  .option("--token <token>", "the only valid token (default: any token of 64 characters)")
  .option("--no-rate-limit", "do not limit requests to 3600 per hour")
  .option("--data-plane", "make load balancers accept traffic, on addresses in 127.0.0.0/8", false);

function parseActions(text: string): number | "realistic" {
  return text === "realistic" ? text : parseDuration(text);
}

function optionsOf(flags: Flags): CloudOptions {
  return {
    port: flags.port,
    latencyMs: flags.latency,
    actionMs: flags.actions,
    dataPlane: flags.dataPlane,
    ...(flags.token === undefined ? {} : { token: flags.token }),
    ...(flags.rateLimit ? {} : { rateLimit: "off" }),
  };
}

/** Adds the servers. A network has room for 100; the others have public addresses only. */
function seed(cloud: Cloud, servers: number): void {
  if (servers === 0) return;
  const network = cloud.addNetwork({ name: "network" });
  for (let index = 1; index <= servers; index += 1) {
    const attachment = index <= NETWORK_MEMBERS ? { network: network.id } : {};
    cloud.addServer({ name: `server-${index}`, ...attachment });
  }
}

function instructions({ url, token }: Cloud, { servers, dataPlane }: Flags): string {
  const stock = servers === 0 ? "" : `\n${servers} servers: server-1 … server-${servers}.\n`;
  const traffic = dataPlane
    ? "\nLoad balancers listen on their IPv4 addresses and forward to those of the servers, all on loopback.\n"
    : "";
  return `Hetzner Cloud simulator at ${url}
${stock}${traffic}
  export HCLOUD_ENDPOINT=${url}
  export HCLOUD_TOKEN=${token}

hcloud      hcloud server list
HCCM        the two variables above in its environment
Terraform   the two variables above, or provider "hcloud" { endpoint = "${url}"  poll_interval = "100ms" }
Pulumi      the two variables above, or pulumi config set hcloud:endpoint ${url}
control     curl ${new URL("/_control/journal", url).href}

Ctrl-C stops it.
`;
}

const flags = program.parse().opts<Flags>();
const cloud = await startCloud(optionsOf(flags)).catch((error: Error) =>
  program.error(`cannot start on port ${flags.port}: ${error.message}`),
);
seed(cloud, flags.servers);
process.stdout.write(instructions(cloud, flags));
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    cloud.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}
