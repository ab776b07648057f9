/** Where the stack's state is kept between processes. The engine works on a local copy of it. */
export interface StateStore {
  /** The state as last saved; nothing when there is none, or when it cannot be put together any more. */
  load(): Promise<string | undefined>;
  /** Keeps a state. Throws when somebody else has saved one since we last looked. */
  save(text: string): Promise<void>;
}
