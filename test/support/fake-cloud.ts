/** A cloud for unit tests, made of plain lists. */
import { CloudError } from "../../controller/diagnostics/errors.ts";
import type { Catalogue, Certificate, LoadBalancer, Network, Server } from "../../controller/hcloud/api.ts";
import { CloudReader, CloudView } from "../../controller/hcloud/reader.ts";

/** Lists that tests may change. `reads` has the path of every read. */
export interface FakeCloud {
  servers: readonly Server[];
  /** Servers that a direct read finds, whatever the list says. */
  direct: readonly Server[];
  balancers: readonly LoadBalancer[];
  /** Load balancers that exist but are not listed. */
  unlisted: readonly LoadBalancer[];
  certificates: readonly Certificate[];
  network: Network | undefined;
  /** If undefined, it cannot be read. */
  catalogue: Catalogue | undefined;
  /** If set, every read fails with this error. */
  failure: CloudError | undefined;
  readonly reads: string[];
  readonly reader: CloudReader;
  readonly view: CloudView;
}

export function aCloud(
  given: Partial<Pick<FakeCloud, "servers" | "balancers" | "certificates" | "network">> = {},
): FakeCloud {
  const reads: string[] = [];
  const read = async <T>(path: string): Promise<T> => {
    reads.push(path);
    if (cloud.failure) throw cloud.failure;
    if (path.startsWith("/servers?")) return { servers: cloud.servers } as T;
    const server = [...cloud.direct, ...cloud.servers].find(({ id }) => path === `/servers/${id}`);
    if (server) return { server } as T;
    const balancer = [...cloud.balancers, ...cloud.unlisted].find(({ id }) => path === `/load_balancers/${id}`);
    if (balancer) return { load_balancer: balancer } as T;
    if (path.startsWith("/load_balancers?")) return { load_balancers: cloud.balancers } as T;
    if (path.startsWith("/certificates?")) return { certificates: cloud.certificates } as T;
    if (cloud.network && path === `/networks/${cloud.network.id}`) return { network: cloud.network } as T;
    if (cloud.catalogue && path.startsWith("/load_balancer_types?")) {
      return { load_balancer_types: cloud.catalogue.types } as T;
    }
    if (cloud.catalogue && path.startsWith("/locations?")) return { locations: cloud.catalogue.locations } as T;
    throw new CloudError(`GET ${path}`, 404, "not_found", "not found");
  };
  const reader = new CloudReader({ read });
  const cloud: FakeCloud = {
    servers: given.servers ?? [],
    direct: [],
    balancers: given.balancers ?? [],
    unlisted: [],
    certificates: given.certificates ?? [],
    network: given.network,
    catalogue: undefined,
    failure: undefined,
    reads,
    reader,
    view: new CloudView(reader, given.network?.id),
  };
  return cloud;
}
