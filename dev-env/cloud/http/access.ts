/** Checks API tokens. */
import { refuse } from "../api/errors.ts";

/** The valid tokens. Without `token`, any token of the right length is valid. */
export interface Tokens {
  readonly token: string | undefined;
  readonly readOnlyToken: string | undefined;
}

/** What a token allows. */
export type Access = "read" | "write";

/** The length of all tokens. The Terraform provider rejects others without a request. */
const TOKEN_LENGTH = 64;

/** The access that the `Authorization` header grants. Throws 401 if it is invalid. */
export function accessOf(header: string | undefined, { token, readOnlyToken }: Tokens): Access {
  const given = /^Bearer\s+(\S+)$/i.exec(header ?? "")?.[1];
  if (given === undefined) throw refuse("unauthorized", "token is required");
  if (given === readOnlyToken) return "read";
  const isValid = token === undefined ? given.length === TOKEN_LENGTH : given === token;
  if (!isValid) throw refuse("unauthorized", "the token you have provided is invalid");
  return "write";
}
