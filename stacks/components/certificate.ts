/** The Pulumi component of one certificate. */
import * as hcloud from "@pulumi/hcloud";
import * as pulumi from "@pulumi/pulumi";
import { managedInputs, uploadedInputs } from "../units/inputs.ts";
import { partName } from "../units/names.ts";
import { COMPONENT_TYPE, type Labels } from "./component.ts";

/** A certificate: issued by Hetzner for `domains`, or uploaded as `certificate` and `privateKey`. */
export interface CertificateArgs {
  readonly name: pulumi.Input<string>;
  readonly labels?: Labels;
  readonly domains?: readonly pulumi.Input<string>[];
  /** The certificate and its chain, in PEM format. */
  readonly certificate?: pulumi.Input<string>;
  readonly privateKey?: pulumi.Input<string>;
}

/**
 * A certificate. Its content never changes: other content needs a component of another name, beside this one. Textual
 * differences of the same content (line endings, the order of names) must not replace it, hence `ignoreChanges`.
 *
 * @example
 * ```ts
 * const certificate = new Certificate("www-2026", { name: "www-2026", domains: ["www.example.com"] });
 * const listener = {
 *   listenPort: 443,
 *   destinationPort: 8080,
 *   protocol: "https",
 *   http: { certificateIds: [certificate.certificateId] },
 * };
 * ```
 */
export class Certificate extends pulumi.ComponentResource {
  readonly certificateId: pulumi.Output<number>;

  constructor(name: string, args: CertificateArgs, opts?: pulumi.ComponentResourceOptions) {
    super(COMPONENT_TYPE.certificate, name, {}, opts);
    this.certificateId = this.#declare(partName(name, "certificate"), args).id.apply(Number);
    this.registerOutputs({ certificateId: this.certificateId });
  }

  #declare(name: string, args: CertificateArgs): hcloud.ManagedCertificate | hcloud.UploadedCertificate {
    if (args.domains) {
      const inputs = managedInputs(args, args.domains);
      return new hcloud.ManagedCertificate(name, inputs, { parent: this, ignoreChanges: ["domainNames"] });
    }
    const { certificate, privateKey } = args;
    if (certificate === undefined || privateKey === undefined)
      throw new Error(`certificate ${name}: needs domains, or both certificate and privateKey`);
    const inputs = uploadedInputs(args, { certificate, privateKey });
    const ignoreChanges = ["certificate", "privateKey"];
    return new hcloud.UploadedCertificate(name, inputs, { parent: this, ignoreChanges });
  }
}
