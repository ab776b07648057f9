import { refuse } from "../api/errors.ts";

/** Which tokens are good; no `token` means any of the right length. */
export interface Tokens {
  readonly token: string | undefined;
  readonly readOnlyToken: string | undefined;
}

/** What a token allows. */
export type Access = "read" | "write";

/** Every token has this length; the Terraform provider refuses others before asking the API. */
const TOKEN_LENGTH = 64;

/** What the `Authorization` header allows, or Hetzner's 401. */
export function accessOf(header: string | undefined, { token, readOnlyToken }: Tokens): Access {
  const given = /^Bearer\s+(\S+)$/i.exec(header ?? "")?.[1];
  if (given === undefined) throw refuse("unauthorized", "token is required");
  if (given === readOnlyToken) return "read";
  const isValid = token === undefined ? given.length === TOKEN_LENGTH : given === token;
  if (!isValid) throw refuse("unauthorized", "the token you have provided is invalid");
  return "write";
}
