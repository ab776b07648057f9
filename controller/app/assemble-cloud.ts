/** Builds the Hetzner side of the controller from its configuration. */
import { defined } from "../../stacks/units/defined.ts";
import type { Config, RobotConfig } from "../config/config.ts";
import { ConfigError, messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { userAgent } from "../diagnostics/version.ts";
import { type ApiResponse, traced } from "../hcloud/exchange.ts";
import { Gateway } from "../hcloud/gateway.ts";
import { CloudReader, CloudView } from "../hcloud/reader.ts";
import { type Exchange, Upstream, type UpstreamOptions } from "../hcloud/sender.ts";
import { trustAuthorities } from "../net/authorities.ts";
import { openWayOut, readText } from "../net/outbound.ts";
import { secretFile } from "../net/secret-file.ts";
import { RobotClient } from "../robot/client.ts";

const API_TIMEOUT_MS = 30_000;
const METADATA_TIMEOUT_MS = 5_000;

/** Hooks: observers of requests, and the permission to write. */
export interface CloudPorts extends Pick<UpstreamOptions, "inFlight" | "mayWrite"> {
  readonly onExchange?: (exchange: Exchange) => void;
  readonly onAnswer?: (answer: ApiResponse) => void;
}

/** The gateway and the readers behind it. Throws a ConfigError when the API is unusable or the network does not exist. */
export async function openCloud(config: Config, log: Logger, ends: AsyncDisposableStack, ports: CloudPorts = {}) {
  const { endpoint, token, tokenFile, robot, debug } = config;
  trustAuthorities(process.env);
  const upstream = new Upstream({
    endpoint,
    token: secretFile(tokenFile, token, log),
    userAgent: userAgent(),
    timeoutMs: API_TIMEOUT_MS,
    ...defined({ mayWrite: ports.mayWrite, inFlight: ports.inFlight }),
    trace: (request, answer) => {
      ports.onAnswer?.(answer);
      if (debug) log.info(traced(request, answer), "api exchange");
    },
  });
  const gateway = new Gateway(upstream, (exchange) => {
    log.debug(exchange, "api request");
    ports.onExchange?.(exchange);
  });
  await gateway.start();
  ends.defer(() => gateway.stop());
  const reader = new CloudReader(gateway);
  const networkId = await resolveNetwork(reader, config);
  return { gateway, networkId, reader, view: new CloudView(reader, networkId), robot: robot && openRobot(robot, log) };
}

/** Undefined without credentials: dedicated servers are then known from their Nodes only. */
function openRobot(config: RobotConfig, log: Logger): RobotClient | undefined {
  if (!config.credentials) return undefined;
  const { user, password, userFile, passwordFile } = config.credentials;
  const current = { user: secretFile(userFile, user, log), password: secretFile(passwordFile, password, log) };
  return new RobotClient({
    ...config,
    get credentials() {
      return { user: current.user(), password: current.password() };
    },
  });
}

/**
 * Refuses to start on a server that is not attached to the cluster's network. Without a metadata service it only warns,
 * where HCCM refuses: nothing is known to be wrong.
 */
export async function checkAttachment(config: Config, networkId: number | undefined, log: Logger): Promise<void> {
  if (networkId === undefined || !config.checksAttachment) return;
  const attached = await fetchAttachedNetworks(config.metadataEndpoint).catch((error: unknown) => {
    log.warn(
      { error: messageOf(error) },
      "metadata service unreachable, cannot check that this server is attached to the network",
    );
    return undefined;
  });
  if (!attached || attached.includes(networkId)) return;
  const remedy = "attach it, or set HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK=true";
  throw new ConfigError([`HCLOUD_NETWORK: this server is not attached to network ${networkId}: ${remedy}`]);
}

/** IDs of the networks that this server is attached to. Throws where there is no metadata service, as outside Hetzner Cloud. */
export async function fetchAttachedNetworks(endpoint: string): Promise<readonly number[]> {
  const direct = openWayOut(endpoint, {}, 1); // never through a proxy
  const options = { headers: { connection: "close" }, timeoutMs: METADATA_TIMEOUT_MS };
  const { status, body } = await readText(direct, `${endpoint}/private-networks`, options);
  if (status !== 200) throw new Error(`the metadata service responded with status ${status}`);
  // A YAML list of which only one field matters.
  return [...body.matchAll(/^[\s-]*network_id:\s*(\d+)\s*$/gm)].map(([, id]) => Number(id));
}

/** The network's ID. Also proves that the API is reachable and accepts the token. */
async function resolveNetwork(reader: CloudReader, { network, endpoint }: Config): Promise<number | undefined> {
  try {
    if (network === undefined) {
      await reader.probe();
      return undefined;
    }
    const found = await reader.findNetwork(network);
    if (found) return found.id;
  } catch (error) {
    throw new ConfigError([`the Hetzner API at ${endpoint} cannot be used: ${messageOf(error)}`]);
  }
  throw new ConfigError([`HCLOUD_NETWORK: no network with id or name ${JSON.stringify(network)} in this project`]);
}
