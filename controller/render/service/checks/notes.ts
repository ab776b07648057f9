/** What a user should know about a Service although nothing is wrong enough to keep it from being served. */
export interface Note {
  /** Reason of the Event that says it. */
  readonly reason: NoteReason;
  readonly message: string;
}

export type NoteReason =
  /** An https port whose certificate is not there, not issued or not renewed. */
  | "CertificateNotReady"
  /** An annotation of ours that means nothing. */
  | "UnknownAnnotation"
  /** A port that is not TCP (HCCM V1). */
  | "UnsupportedProtocolConfigured"
  /** A field that the provider has nothing for. */
  | "UnsupportedFieldConfigured"
  | "HealthCheckOverridden"
  | "LoadBalancerTypeDeprecated"
  | "LoadBalancerNotMoved"
  /** More nodes than the type has room for (HCCM T4). */
  | "MaxTargetsReached"
  /** Listeners and targets of others are on the balancer, and stay. */
  | "ForeignPartsKept";
