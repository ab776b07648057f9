/** Removes credentials from URLs before they are shown. */

/**
 * A URL or address without what may be a user, a password or a query. Everything up to the last `@` is removed: a password
 * that is not encoded may contain any character, also `/` and `?`.
 */
export function withoutCredentials(text: string): string {
  const isUrl = text.includes("://");
  const shown = isUrl ? text.replace(/(?<=:\/\/).*@/s, "…@") : text.replace(/^[^\s:@]*:.*@/s, "…@");
  return isUrl ? shown.replace(/(?<=:\/\/.*)[?#].*$/s, "?…") : shown;
}

/** Shorter parts would occur in any text. */
const LEAST = 4;

/** A message about a URL without its credentials, in whatever form a program repeats them. */
export function hideCredentials(message: string, url: string): string {
  const [, userInfo = ""] = /:\/\/(.*)@/s.exec(url) ?? [];
  const [, password = ""] = /:(.*)$/s.exec(userInfo) ?? [];
  const [, query = ""] = /[?#](.*)$/s.exec(url) ?? [];
  const values = query.split(/[&;]/).flatMap((pair) => [pair, pair.slice(pair.indexOf("=") + 1)]);
  const secrets = [userInfo, password, query, ...values].flatMap((part) => [
    part,
    decoded(part),
    encodeURIComponent(part),
  ]);
  const longest = [...new Set(secrets)].filter(({ length }) => length >= LEAST).toSorted((a, b) => b.length - a.length);
  const known = message.replaceAll(url, withoutCredentials(url));
  return longest
    .reduce((text, part) => text.replaceAll(part, "…"), known)
    .replace(/\S+:\/\/\S+/g, (word) => withoutCredentials(word));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
