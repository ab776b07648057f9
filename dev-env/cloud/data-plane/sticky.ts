import { createHash } from "node:crypto";
import type { ServiceHttp } from "../state/records.ts";

/** The opaque value that names a target in a sticky cookie. */
export function stickyValue(target: number | string): string {
  return createHash("sha256").update(String(target)).digest("hex").slice(0, 32);
}

/** The value of the cookie in a request, if it was sent. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const part of (header ?? "").split(";")) {
    const [key, value] = part.trim().split("=", 2);
    if (key === name) return value;
  }
  return undefined;
}

/** The `Set-Cookie` that binds a client to a target. */
export function renderCookie({ cookie_name, cookie_lifetime }: ServiceHttp, target: number | string): string {
  return `${cookie_name}=${stickyValue(target)}; Path=/; Max-Age=${cookie_lifetime}; HttpOnly`;
}
