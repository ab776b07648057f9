/** Cookies of sticky sessions. */
import { createHash } from "node:crypto";
import type { ServiceHttp } from "../state/records.ts";

/** The opaque cookie value for a target. */
export function stickyValue(target: number | string): string {
  return createHash("sha256").update(String(target)).digest("hex").slice(0, 32);
}

/** The value of a cookie in a request, if present. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const part of (header ?? "").split(";")) {
    const [key, value] = part.trim().split("=", 2);
    if (key === name) return value;
  }
  return undefined;
}

/** The `Set-Cookie` header that binds a client to a target. */
export function renderCookie({ cookie_name, cookie_lifetime }: ServiceHttp, target: number | string): string {
  return `${cookie_name}=${stickyValue(target)}; Path=/; Max-Age=${cookie_lifetime}; HttpOnly`;
}
