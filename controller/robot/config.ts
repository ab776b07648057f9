/** The environment's settings for dedicated servers; names and defaults are the official controller's (E26 to E30). */
import { url } from "../config/flag-values.ts";
import type { Reading } from "../config/reading.ts";
import { boolean, seconds } from "../service/values.ts";

export interface RobotConfig {
  readonly endpoint: string;
  /** Absent: nodes are not looked up, but may be targets of balancers by the addresses they have. */
  readonly credentials?: {
    readonly user: string;
    readonly password: string;
    /** Where they came from, if from files: these are read again when they change. */
    readonly userFile?: string;
    readonly passwordFile?: string;
  };
  /** How old the list of servers may be. */
  readonly cacheMs: number;
  /** How long Robot is left alone after it refused for the rate. */
  readonly rateLimitWaitMs: number;
  /** Whether internal addresses that a node already has are kept: Robot knows none. */
  readonly forwardInternalIps: boolean;
}

const ENDPOINT = "https://robot-ws.your-server.de";
/** Robot lets a client ask for servers 200 times an hour; after a refusal a pause is due, whatever is configured. */
const LEAST_WAIT_SECONDS = 60;

/** Nothing unless ROBOT_ENABLED. */
export function loadRobotConfig(read: Reading): RobotConfig | undefined {
  if (!read.env("ROBOT_ENABLED", boolean, false)) return undefined;
  const credentials = loadCredentials(read);
  return {
    endpoint: read.env("ROBOT_ENDPOINT", url, ENDPOINT),
    ...(credentials && { credentials }),
    cacheMs: (read.env("ROBOT_CACHE_TIMEOUT", seconds(0, 86_400), 0) || 300) * 1000,
    rateLimitWaitMs: Math.max(LEAST_WAIT_SECONDS, read.env("ROBOT_RATE_LIMIT_WAIT_TIME", seconds(0, 86_400), 0)) * 1000,
    forwardInternalIps: read.env("ROBOT_FORWARD_INTERNAL_IPS", boolean, true),
  };
}

function loadCredentials(read: Reading): RobotConfig["credentials"] {
  const { value: user, file: userFile } = read.secret("ROBOT_USER");
  const { value: password, file: passwordFile } = read.secret("ROBOT_PASSWORD");
  if (!user !== !password) {
    read.mistakes.push("ROBOT_USER and ROBOT_PASSWORD: set both, or none to use dedicated servers as targets only");
  }
  if (!user || !password) return undefined;
  return { user, password, ...(userFile && { userFile }), ...(passwordFile && { passwordFile }) };
}
