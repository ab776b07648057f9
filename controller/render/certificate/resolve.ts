/** What a listener asks for → a certificate it can present, or why there is none; and what has to be made for it. */
import { certificateUnit, contentKey, SERVICE_UID_LABEL } from "../../../stacks/units/names.ts";
import type { CertificateContent, ServiceRef } from "../../../stacks/units/spec.ts";
import { RELEASED_MARK } from "../../formats/marks.ts";
import type { Certificate } from "../../hcloud/api.ts";
import { issuanceOf, STAGING_LABEL } from "./listed.ts";
import type { OwnedCertificate } from "./owned.ts";
import type { CertificateSurroundings, WantedCertificate } from "./plan.ts";
import type { CertificateSource } from "./sources.ts";
import { parseTlsSecret } from "./tls-secret.ts";

/** The id of a certificate that can be presented, or what is in the way: something in the cloud, or in the cluster. */
export type Resolution = { readonly id: number } | { readonly problem: string; readonly isInCloud: boolean };

/** Resolves what the ports of one Service ask for, and gathers the certificates that this takes, each once. */
export class Resolver {
  readonly #service: ServiceRef;
  readonly #owned: readonly OwnedCertificate[];
  readonly #around: CertificateSurroundings;
  readonly #wanted = new Map<string, WantedCertificate>();
  /** Which content has a name for itself. */
  readonly #claims = new Map<string, string>();

  constructor(service: ServiceRef, owned: readonly OwnedCertificate[], around: CertificateSurroundings) {
    this.#service = service;
    this.#owned = owned;
    this.#around = around;
  }

  get wanted(): readonly WantedCertificate[] {
    return [...this.#wanted.values()];
  }

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

  /** A number is an id first, as users of the official controller expect (HCCM A23). */
  #listed(idOrName: string): Resolution {
    const { certificates } = this.#around;
    const found =
      certificates.find(({ id }) => String(id) === idOrName) ?? certificates.find(({ name }) => name === idOrName);
    return found
      ? usable(found)
      : { problem: `there is no certificate "${idOrName}" in this project`, isInCloud: true };
  }

  #managed(content: CertificateContent, base: string): Resolution {
    const key = contentKey(content);
    const claim = this.#claims.get(base) ?? key;
    this.#claims.set(base, claim);
    const own = this.#own(content);
    const holder = this.#around.certificates.find(({ name }) => name === base);
    const isForeign = holder !== undefined && !this.#isOrWasOwn(holder);
    if (isForeign && !own && claim === key) {
      const problem = `certificate "${base}" (id ${holder.id}) is not this Service's: choose another name with http-managed-certificate-name, or use it with http-certificates`;
      return { problem, isInCloud: true };
    }
    const isFree = claim === key && (!holder || holder.id === own?.listed.id);
    const spare = `${base}-${key}`;
    return this.#make(content, isFree ? base : (own?.listed.name ?? spare));
  }

  #secret(name: string): Resolution {
    const { secrets, now } = this.#around;
    const secret = secrets?.get(name);
    if (!secret) return { problem: `there is no Secret "${name}" of type kubernetes.io/tls`, isInCloud: false };
    const parsed = parseTlsSecret(secret, now);
    if ("problem" in parsed) return { problem: `Secret "${name}" cannot be used: ${parsed.problem}`, isInCloud: false };
    const { pem, fingerprint, privateKey } = parsed.pair;
    const content: CertificateContent = { type: "uploaded", pem, fingerprint };
    const uploadName = `ccm-uploaded-certificate-${this.#service.uid}-${contentKey(content)}`;
    return this.#make(content, uploadName, privateKey);
  }

  /** Wants a certificate with this content. One that failed long ago has to make room first. */
  #make(content: CertificateContent, name: string, privateKey?: string): Resolution {
    const own = this.#own(content);
    const spent = this.#owned.find(
      ({ isSpent, state }) => isSpent && contentKey(state.content) === contentKey(content),
    );
    if (spent && !own) return usable(spent.listed);
    const { [RELEASED_MARK]: _, ...labels } = own?.state.labels ?? {};
    const spec = {
      kind: "certificate",
      service: this.#service,
      name,
      labels: { ...labels, ...this.#labels(content) },
      content,
    } as const;
    this.#wanted.set(contentKey(content), { spec, ...(privateKey !== undefined && { privateKey }) });
    return own ? usable(own.listed) : { problem: `certificate "${name}" is being made`, isInCloud: true };
  }

  #labels(content: CertificateContent): Readonly<Record<string, string>> {
    const isStaging = content.type === "managed" && content.isStaging;
    return { [SERVICE_UID_LABEL]: this.#service.uid, ...(isStaging && { [STAGING_LABEL]: "true" }) };
  }

  #isOrWasOwn({ labels }: Certificate): boolean {
    return (labels[SERVICE_UID_LABEL] ?? labels[RELEASED_MARK]) === this.#service.uid;
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
