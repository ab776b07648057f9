/** Where the stack's state is kept between processes. The engine works on a local copy. */
export interface StateStore {
  /** The last saved state; undefined if there is none, or if it is incomplete. */
  load(): Promise<string | undefined>;
  /** Saves a state. Throws if another process has saved one since the last access. */
  save(text: string): Promise<void>;
}
