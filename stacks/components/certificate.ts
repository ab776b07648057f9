/** The Pulumi component of one certificate. */
import * as hcloud from "@pulumi/hcloud";
import * as pulumi from "@pulumi/pulumi";
import { managedInputs, uploadedInputs } from "../units/inputs.ts";
import { COMPONENT_TYPE, certificateUnit, partName } from "../units/names.ts";
import type { CertificateSpec } from "../units/spec.ts";

/**
 * One certificate of a Service. Its unit is named by its content, so the content never changes. Textual differences of
 * the same content (line endings, the order of names) must not replace it, hence `ignoreChanges`.
 */
export class Certificate extends pulumi.ComponentResource {
  constructor(spec: CertificateSpec) {
    const unit = certificateUnit(spec);
    super(COMPONENT_TYPE.certificate, unit);
    const name = partName(unit, "certificate");
    const { content } = spec;
    if (content.type === "managed") {
      const inputs = managedInputs(spec, content.domains);
      new hcloud.ManagedCertificate(name, inputs, { parent: this, ignoreChanges: ["domainNames"] });
    } else {
      const inputs = uploadedInputs(spec, content.pem);
      new hcloud.UploadedCertificate(name, inputs, { parent: this, ignoreChanges: ["certificate", "privateKey"] });
    }
    this.registerOutputs({});
  }
}
