/** Certificate sources → certificates that a listener can present, or why it cannot; and what must be created. */
import { defined } from "../../../stacks/units/defined.ts";
import { certificateUnit, contentKey, SERVICE_UID_LABEL } from "../../../stacks/units/names.ts";
import type { CertificateContent, ServiceRef } from "../../../stacks/units/spec.ts";
import { isReleasedBy, releaserOf, withoutReleasedMarks } from "../../formats/marks.ts";
import type { Certificate } from "../../hcloud/api.ts";
import { issuanceOf, STAGING_LABEL } from "./listed.ts";
import type { OwnedCertificate } from "./owned.ts";
import type { CertificateSurroundings, WantedCertificate } from "./plan.ts";
import type { CertificateSource } from "./sources.ts";
import { parseTlsSecret } from "./tls-secret.ts";

/** The id of a usable certificate, or the problem. `isInCloud`: newer lists from the cloud could resolve it. */
export type Resolution = { readonly id: number } | { readonly problem: string; readonly isInCloud: boolean };

/** Resolves the certificate sources of one Service, and collects each certificate that must exist for them once. */
export class Resolver {
  readonly #service: ServiceRef;
  readonly #owned: readonly OwnedCertificate[];
  readonly #around: CertificateSurroundings;
  readonly #wanted = new Map<string, WantedCertificate>();
  /** Content by claimed certificate name. */
  readonly #claims = new Map<string, string>();

  constructor(service: ServiceRef, owned: readonly OwnedCertificate[], around: CertificateSurroundings) {
    this.#service = service;
    this.#owned = owned;
    this.#around = around;
  }

  /** The certificates that must exist for what was resolved so far. */
  get wanted(): readonly WantedCertificate[] {
    return [...this.#wanted.values()];
  }

  /** The certificate of one source. */
  resolve(source: CertificateSource): Resolution {
    switch (source.kind) {
      case "listed":
        return this.#listed(source.idOrName);
      case "managed":
        return this.#managed(source.content, source.name || `ccm-managed-certificate-${this.#service.uid}`);
      case "secret":
        return this.#secret(source.name);
    }
  }

  /** A number is tried as an id first, as in the official controller (HCCM A23). */
  #listed(idOrName: string): Resolution {
    const { certificates } = this.#around;
    const found =
      certificates.find(({ id }) => String(id) === idOrName) ?? certificates.find(({ name }) => name === idOrName);
    if (!found) return { problem: `certificate "${idOrName}" does not exist in this project`, isInCloud: true };
    return this.#isOrWasOthers(found)
      ? {
          problem: `certificate "${found.name}" (id ${found.id}) belongs to another Service: use a certificate without the labels ${SERVICE_UID_LABEL} and lotse/released`,
          isInCloud: true,
        }
      : usable(found);
  }

  #managed(content: CertificateContent, base: string): Resolution {
    const key = contentKey(content);
    const claim = this.#claims.get(base) ?? key;
    this.#claims.set(base, claim);
    const own = this.#own(content);
    const holder = this.#around.certificates.find(({ name }) => name === base);
    const isForeign = holder !== undefined && !this.#isOrWasOwn(holder);
    if (isForeign && !own && claim === key) {
      const problem = `certificate "${base}" (id ${holder.id}) does not belong to this Service: choose another name with http-managed-certificate-name${this.#isOrWasOthers(holder) ? "" : ", or use it with http-certificates"}`;
      return { problem, isInCloud: true };
    }
    const isFree = claim === key && (!holder || holder.id === own?.listed.id);
    const spare = `${base}-${key}`;
    return this.#make(content, isFree ? base : (own?.listed.name ?? spare));
  }

  #secret(name: string): Resolution {
    const { secrets, now } = this.#around;
    const secret = secrets?.get(name);
    if (!secret) return { problem: `Secret "${name}" of type kubernetes.io/tls does not exist`, isInCloud: false };
    const parsed = parseTlsSecret(secret, now);
    if ("problem" in parsed) return { problem: `Secret "${name}" cannot be used: ${parsed.problem}`, isInCloud: false };
    const { privateKey, ...pair } = parsed.pair;
    const content: CertificateContent = { type: "uploaded", ...pair };
    const uploadName = `ccm-uploaded-certificate-${this.#service.uid}-${contentKey(content)}`;
    return this.#make(content, uploadName, privateKey);
  }

  /** Requests a certificate with this content. A spent one with the same content must be removed first. */
  #make(content: CertificateContent, name: string, privateKey?: string): Resolution {
    const own = this.#own(content);
    const spent = this.#owned.find(
      ({ isSpent, state }) => isSpent && contentKey(state.content) === contentKey(content),
    );
    if (spent && !own) return usable(spent.listed);
    const labels = withoutReleasedMarks(own?.state.labels ?? {});
    const fields = { name, labels: { ...labels, ...this.#labels(content) }, content };
    const spec = { kind: "certificate", service: this.#service, ...fields } as const;
    this.#wanted.set(contentKey(content), { spec, ...defined({ privateKey }) });
    return own ? usable(own.listed) : { problem: `certificate "${name}" is being created`, isInCloud: true };
  }

  #labels(content: CertificateContent): Readonly<Record<string, string>> {
    const isStaging = content.type === "managed" && content.isStaging;
    return { [SERVICE_UID_LABEL]: this.#service.uid, ...(isStaging && { [STAGING_LABEL]: "true" }) };
  }

  /** Whether it was made for another Service: its private key may come from a Secret that this Service may not use. */
  #isOrWasOthers(certificate: Certificate): boolean {
    const { labels } = certificate;
    const isOrWasOwned = labels[SERVICE_UID_LABEL] !== undefined || releaserOf(labels) !== undefined;
    return isOrWasOwned && !this.#isOrWasOwn(certificate);
  }

  #isOrWasOwn({ labels }: Certificate): boolean {
    const owner = labels[SERVICE_UID_LABEL];
    return owner === undefined ? isReleasedBy(labels, this.#service) : owner === this.#service.uid;
  }

  #own(content: CertificateContent): OwnedCertificate | undefined {
    const unit = certificateUnit({ service: this.#service, content });
    return this.#owned.find((owned) => owned.unit === unit);
  }
}

function usable(certificate: Certificate): Resolution {
  const { id, name } = certificate;
  const issuance = issuanceOf(certificate);
  switch (issuance.kind) {
    case "issued":
      return { id };
    case "pending":
      return { problem: `certificate "${name}" is being issued`, isInCloud: true };
    case "failed":
      return { problem: `certificate "${name}" could not be issued: ${issuance.reason}`, isInCloud: true };
  }
}
