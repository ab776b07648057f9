/** What a user should know about a Service although nothing is wrong enough to keep it from being served. */
export interface Note {
  /** Reason of the Event that says it. */
  readonly reason: NoteReason;
  readonly message: string;
}

export type NoteReason =
  /** An annotation of ours that means nothing. */
  | "UnknownAnnotation"
  /** A port that is neither TCP nor left out silently (HCCM V1). */
  | "UnsupportedProtocolConfigured";
