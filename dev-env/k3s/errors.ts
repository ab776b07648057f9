/** Something went wrong in a way that was foreseen: the message is for a person, and says what to do. */
export class DevEnvError extends Error {
  override readonly name: string = "DevEnvError";
}
