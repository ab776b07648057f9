/** Says what to do where this machine cannot carry the load balancers' traffic. */
import { type Cloud, type CloudOptions, startCloud } from "../cloud/cloud.ts";
import { LoopbackRangeError } from "../cloud/data-plane/slot.ts";
import { repeat } from "../cluster/repeat.ts";

/** Prints one line. */
export type Say = (topic: string, text: string) => void;

const POLL_MS = 300;
const UNPRIVILEGED_PORTS = "net.ipv4.ip_unprivileged_port_start";

/** Starts a cloud with traffic, or without where loopback has one address only, as on macOS. */
export async function startCloudWithTraffic(options: CloudOptions, say: Say): Promise<Cloud> {
  try {
    return await startCloud(options);
  } catch (error) {
    if (!(error instanceof LoopbackRangeError)) throw error;
    say("note", `load balancers carry no traffic. ${remedyForRange(error.slot)}`);
    return startCloud({ ...options, dataPlane: false });
  }
}

/** The command that adds the addresses of the first servers and load balancers to the loopback interface of macOS. */
function remedyForRange(slot: number): string {
  const ips = [`127.${slot}.0.1`, `127.${slot}.1.{1..5}`, `127.${slot}.64.{1..9}`].join(" ");
  return `To change that, run: for ip in ${ips}; do sudo ifconfig lo0 alias $ip; done. Then restart`;
}

/** Watches for ports that could not be opened, and names each once, with the Service it belongs to. */
export function watchPorts(cloud: Cloud, serviceOf: (uid: string) => string | undefined, say: Say): Disposable {
  const ending = new AbortController();
  let known: ReadonlySet<string> = new Set();
  const look = async () => {
    const problems = cloud.problems();
    for (const problem of problems.filter((it) => !known.has(it))) {
      const [, address = problem] = /^([\d.]+):\d+: /.exec(problem) ?? [];
      const balancer = cloud.state.loadBalancers.values().find(({ public_net }) => public_net.ipv4.ip === address);
      const service = serviceOf(balancer?.labels["hcloud-ccm/service-uid"] ?? "");
      say("note", `${service ?? `load balancer ${balancer?.name}`}: ${explainClosedPort(problem, process.platform)}`);
    }
    known = new Set(problems);
  };
  void repeat(POLL_MS, look, ending.signal);
  return { [Symbol.dispose]: () => ending.abort() };
}

/** Why a port is closed, such as `127.16.1.1:80: listen EACCES: permission denied`, and the remedy. */
export function explainClosedPort(problem: string, platform: NodeJS.Platform): string {
  const [, socket = "", port = "", reason = problem] = /^([\d.]+:(\d+)): (.*)$/.exec(problem) ?? [];
  if (!reason.includes("EACCES")) return `${socket} is closed: ${reason}`;
  const setting = platform === "linux" ? `, or run "sudo sysctl ${UNPRIVILEGED_PORTS}=${port}" and restart` : "";
  return `${socket} is closed, because ports below 1024 need root: use a port above 1023${setting}`;
}
