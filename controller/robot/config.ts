/** The environment's settings for dedicated servers; names and defaults are the official controller's (E26 to E30). */
import { readFileSync } from "node:fs";
import { messageOf } from "../errors.ts";
import { boolean, type Parser, seconds } from "../service/values.ts";

export interface RobotConfig {
  readonly endpoint: string;
  /** Absent: nodes are not looked up, but may be targets of balancers by the addresses they have. */
  readonly credentials?: { readonly user: string; readonly password: string };
  /** How old the list of servers may be. */
  readonly cacheMs: number;
  /** How long Robot is left alone after it refused for the rate. */
  readonly rateLimitWaitMs: number;
  /** Whether internal addresses that a node already has are kept: Robot knows none. */
  readonly forwardInternalIps: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

const ENDPOINT = "https://robot-ws.your-server.de";
/** Robot lets a client ask for servers 200 times an hour; after a refusal a pause is due, whatever is configured. */
const LEAST_WAIT_SECONDS = 60;

/** Nothing unless ROBOT_ENABLED. Mistakes are added to the list. */
export function loadRobotConfig(env: Environment, mistakes: string[]): RobotConfig | undefined {
  const read = <T>(name: string, parse: Parser<T>, fallback: T): T => {
    const parsed = env[name] ? parse(env[name]) : { value: fallback };
    if ("value" in parsed) return parsed.value;
    mistakes.push(`${name}: ${JSON.stringify(env[name])} is not ${parsed.allowed}`);
    return fallback;
  };
  if (!read("ROBOT_ENABLED", boolean, false)) return undefined;
  const user = readSecret("ROBOT_USER", env, mistakes);
  const password = readSecret("ROBOT_PASSWORD", env, mistakes);
  if ((user === undefined) !== (password === undefined)) {
    mistakes.push("ROBOT_USER and ROBOT_PASSWORD: set both, or none to use dedicated servers as targets only");
  }
  return {
    endpoint: env.ROBOT_ENDPOINT || ENDPOINT,
    ...(user !== undefined && password !== undefined && { credentials: { user, password } }),
    cacheMs: (read("ROBOT_CACHE_TIMEOUT", seconds(0, 86_400), 0) || 300) * 1000,
    rateLimitWaitMs: Math.max(LEAST_WAIT_SECONDS, read("ROBOT_RATE_LIMIT_WAIT_TIME", seconds(0, 86_400), 0)) * 1000,
    forwardInternalIps: read("ROBOT_FORWARD_INTERNAL_IPS", boolean, true),
  };
}

/** A value from the environment, or from the file that `<name>_FILE` names. */
function readSecret(name: string, env: Environment, mistakes: string[]): string | undefined {
  const file = env[`${name}_FILE`];
  if (env[name] || !file) return env[name] || undefined;
  try {
    return readFileSync(file, "utf8").trim() || undefined;
  } catch (error) {
    mistakes.push(`${name}_FILE: ${messageOf(error)}`);
    return undefined;
  }
}
