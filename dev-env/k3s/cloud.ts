/** The first stack of an environment: everything it has in the cloud before there is a cluster. */
import * as hcloud from "@pulumi/hcloud";
import * as pulumi from "@pulumi/pulumi";
import { renderControlPlane, renderWorker } from "./cloud-init.ts";
import type { EnvironmentConfig } from "./config.ts";
import {
  API_PORT,
  CONTROL_PLANE_IP,
  cloudName,
  IMAGE,
  labelsOf,
  NETWORK_CIDR,
  NETWORK_ZONE,
  SUBNET_CIDR,
  workerIp,
} from "./layout.ts";
import type { Secrets } from "./secrets.ts";

/** What the stack is made from: finished data, nothing is looked up. */
export interface CloudSpec {
  readonly config: EnvironmentConfig;
  readonly secrets: Pick<Secrets, "sshKey" | "hostKey" | "k3sToken">;
  /** How the plugin waits for actions of the API. */
  readonly polling?: { readonly pollInterval: string; readonly pollFunction: string };
}

/** What the next stack needs to know of this one. */
export interface CloudOutputs {
  readonly networkId: string;
  readonly controlPlane: { readonly id: string; readonly ipv4: string };
}

const POLLING = { pollInterval: "500ms", pollFunction: "constant" };

/** The program of the stack. */
export function cloudProgram(spec: CloudSpec): () => Promise<pulumi.Inputs> {
  return async () => {
    const provider = new hcloud.Provider("hcloud", spec.polling ?? POLLING);
    return new CloudDeclaration(spec, { provider }).declare();
  };
}

/** Declares the parts, each with the environment's name and label. */
class CloudDeclaration {
  readonly #spec: CloudSpec;
  readonly #options: pulumi.CustomResourceOptions;

  constructor(spec: CloudSpec, options: pulumi.CustomResourceOptions) {
    this.#spec = spec;
    this.#options = options;
  }

  declare(): Record<keyof CloudOutputs, pulumi.Input<unknown>> {
    const { config, secrets } = this.#spec;
    const { k3sChannel } = config;
    const network = new hcloud.Network("network", { ...this.#named("network"), ipRange: NETWORK_CIDR }, this.#options);
    const surroundings = this.#surroundings(network);
    const controlPlane = this.#server("control-plane", surroundings, {
      serverType: config.controlPlaneType,
      ip: CONTROL_PLANE_IP,
      userData: renderControlPlane({ k3sChannel, secrets }),
    });
    for (let index = 1; index <= config.workers; index++) {
      this.#server(`worker-${index}`, surroundings, {
        serverType: config.workerType,
        ip: workerIp(index),
        userData: controlPlane.id.apply((controlPlaneId) =>
          renderWorker({ k3sChannel, secrets, index, controlPlaneId }),
        ),
      });
    }
    return { networkId: network.id, controlPlane: { id: controlPlane.id, ipv4: controlPlane.ipv4Address } };
  }

  #surroundings(network: hcloud.Network): Surroundings {
    const networkId = network.id.apply(Number);
    const subnetInputs = { networkId, type: "cloud", networkZone: NETWORK_ZONE, ipRange: SUBNET_CIDR };
    const { publicKey } = this.#spec.secrets.sshKey;
    return {
      networkId,
      subnet: new hcloud.NetworkSubnet("subnet", subnetInputs, this.#options),
      sshKey: new hcloud.SshKey("ssh-key", { ...this.#named("ssh-key"), publicKey }, this.#options),
      firewall: new hcloud.Firewall("firewall", { ...this.#named("firewall"), rules: this.#rules() }, this.#options),
      group: new hcloud.PlacementGroup(
        "placement-group",
        { ...this.#named("placement-group"), type: "spread" },
        this.#options,
      ),
    };
  }

  /** What may come in from the internet. The private network is not behind the firewall. */
  #rules() {
    const sourceIps = [...this.#spec.config.allowFrom];
    const from = { direction: "in", sourceIps };
    return [
      { ...from, protocol: "tcp", port: "22", description: "SSH" },
      { ...from, protocol: "tcp", port: String(API_PORT), description: "Kubernetes API" },
      { ...from, protocol: "icmp", description: "ping" },
    ];
  }

  #server(part: string, { networkId, subnet, sshKey, firewall, group }: Surroundings, machine: Machine): hcloud.Server {
    const { serverType, ip, userData } = machine;
    return new hcloud.Server(
      part,
      {
        ...this.#named(part),
        serverType,
        image: IMAGE,
        location: this.#spec.config.location,
        sshKeys: [sshKey.id],
        firewallIds: [firewall.id.apply(Number)],
        placementGroupId: group.id.apply(Number),
        networks: [{ networkId, ip, aliasIps: [] }],
        userData: pulumi.secret(userData),
      },
      {
        ...this.#options,
        dependsOn: subnet,
        // A name can only be used once; and a resized server would stay off: a new one is as good here.
        deleteBeforeReplace: true,
        replaceOnChanges: ["serverType"],
      },
    );
  }

  #named(part: string) {
    const { name } = this.#spec.config;
    return { name: cloudName(name, part), labels: labelsOf(name) };
  }
}

/** What all servers share. */
interface Surroundings {
  readonly networkId: pulumi.Output<number>;
  readonly subnet: hcloud.NetworkSubnet;
  readonly sshKey: hcloud.SshKey;
  readonly firewall: hcloud.Firewall;
  readonly group: hcloud.PlacementGroup;
}

interface Machine {
  readonly serverType: string;
  readonly ip: string;
  readonly userData: pulumi.Input<string>;
}
