/** Pools of public addresses. */
import { parseIp, renderIp } from "./cidr.ts";

/** The number of addresses assigned from each pool. */
export interface AddressPoolState {
  readonly servers: number;
  readonly balancers: number;
}

/** The benchmarking range of RFC 2544, which is not routed and has room for tens of thousands of servers. */
const UNROUTED = { servers: "198.18.0.0", balancers: "198.19.0.0" };

/** Assigns public addresses, each once. IPv6 addresses have the documentation prefix. */
export class AddressPool {
  readonly #servers: number;
  readonly #balancers: number;
  #used = { servers: 0, balancers: 0 };

  /** With a loopback slot, IPv4 addresses come from `127.<slot>.0.0/16`, where the data plane can listen. */
  constructor(loopbackSlot?: number) {
    const pools =
      loopbackSlot === undefined
        ? UNROUTED
        : { servers: `127.${loopbackSlot}.64.0`, balancers: `127.${loopbackSlot}.1.0` };
    this.#servers = parseIp(pools.servers) ?? 0;
    this.#balancers = parseIp(pools.balancers) ?? 0;
  }

  nextServerIpv4(): string {
    return hostIn(this.#servers, this.#used.servers++);
  }

  /** A /64 in the notation of the API. */
  nextServerIpv6(): string {
    return `${prefix64("1", this.#used.servers++)}::/64`;
  }

  /** The two addresses of a load balancer. */
  nextBalancer(): { readonly ipv4: string; readonly ipv6: string } {
    const index = this.#used.balancers++;
    return { ipv4: hostIn(this.#balancers, index), ipv6: `${prefix64("2", index)}::1` };
  }

  state(): AddressPoolState {
    return { ...this.#used };
  }

  restore(state: AddressPoolState): void {
    this.#used = { ...state };
  }
}

/** The n-th host address, without .0 and .255 of every /24. */
function hostIn(base: number, index: number): string {
  return renderIp(base + Math.floor(index / 254) * 256 + (index % 254) + 1);
}

/** The n-th /64. It has no zero group, so that it stays canonical with `::` appended. */
function prefix64(kind: string, index: number): string {
  const [high, low] = [Math.floor(index / 0xffff) + 1, (index % 0xffff) + 1];
  return `2001:db8:${kind}${high.toString(16).padStart(2, "0")}:${low.toString(16)}`;
}

/** Hetzner's default reverse DNS of an address. */
export function defaultDnsPtr(ip: string): string {
  return `static.${ip.split(".").reverse().join(".")}.clients.your-server.de`;
}
