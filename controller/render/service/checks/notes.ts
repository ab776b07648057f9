/** Notes: what a user should know about a Service that is served nevertheless. */

/** One note, reported as an Event. */
export interface Note {
  /** Reason of the Event. */
  readonly reason: NoteReason;
  readonly message: string;
}

/** Reasons of these Events; users filter by them. */
export type NoteReason =
  /** A certificate of an https port is missing, not issued or not renewed. */
  | "CertificateNotReady"
  /** An annotation with our prefix that does not exist. */
  | "UnknownAnnotation"
  /** A port that is not TCP (HCCM V1). */
  | "UnsupportedProtocolConfigured"
  /** A field that Hetzner does not support. */
  | "UnsupportedFieldConfigured"
  | "HealthCheckOverridden"
  | "LoadBalancerTypeDeprecated"
  | "LoadBalancerNotMoved"
  /** There are more nodes than the type allows targets (HCCM T4). */
  | "MaxTargetsReached"
  /** Foreign listeners and targets on the load balancer are kept. */
  | "ForeignPartsKept";
