/** Base images of a Dockerfile, and their digests in a registry. */

/** A base image: `golang:1.26.8-bookworm`, and the digest it is pinned to. */
export interface BaseImage {
  readonly name: string;
  readonly digest?: string;
}

const IMAGE = /^ARG \w+_IMAGE=(?<name>[^@\s]+)(?:@(?<digest>sha256:[0-9a-f]{64}))?$/gm;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** All images of `ARG …_IMAGE=` lines. */
export function imagesIn(dockerfile: string): readonly BaseImage[] {
  return [...dockerfile.matchAll(IMAGE)].map(({ groups }) => {
    const digest = groups?.digest;
    return { name: groups?.name ?? "", ...(digest !== undefined && { digest }) };
  });
}

/** The Dockerfile with an image pinned to a digest. */
export function withDigest(dockerfile: string, image: string, digest: string): string {
  return dockerfile.replaceAll(IMAGE, (line, name: string) =>
    name === image ? `${line.split("@", 1)[0]}@${digest}` : line,
  );
}

/** Registry, repository and tag of an image. Names without a registry are Docker Hub's. */
export function parseImage(image: string): { readonly registry: string; readonly path: string; readonly tag: string } {
  const {
    host = "",
    path = "",
    tag = "latest",
  } = /^(?:(?<host>[^/]*[.:][^/]*)\/)?(?<path>[^:]+)(?::(?<tag>[\w.-]+))?$/.exec(image)?.groups ?? {};
  if (host !== "") return { registry: host, path, tag };
  return { registry: "registry-1.docker.io", path: path.includes("/") ? path : `library/${path}`, tag };
}

/** Manifests for several platforms come first, so that one digest serves all of them. */
const TYPES = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
];

type Fetch = (url: string, options: RequestInit) => Promise<Response>;

/** Asks the registry for the digest of an image, with an anonymous token if it demands one. */
export async function fetchDigest(image: string, send: Fetch = fetch): Promise<string> {
  const { registry, path, tag } = parseImage(image);
  const url = `https://${registry}/v2/${path}/manifests/${tag}`;
  const ask = (headers: Record<string, string>) => request(send, url, { method: "HEAD", headers });
  const accept = TYPES.join(", ");
  let response = await ask({ accept });
  if (response.status === 401) {
    const token = await anonymousToken(response.headers.get("www-authenticate") ?? "", send);
    response = await ask({ accept, authorization: `Bearer ${token}` });
  }
  const digest = response.headers.get("docker-content-digest") ?? "";
  if (response.ok && DIGEST.test(digest)) return digest;
  throw new Error(`${registry} responded with status ${response.status} and no digest`);
}

async function anonymousToken(challenge: string, send: Fetch): Promise<string> {
  const fields = Object.fromEntries([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]));
  if (!fields.realm?.startsWith("https://")) throw new Error("the registry demands an unknown kind of credential");
  const query = new URLSearchParams({ service: fields.service ?? "", scope: fields.scope ?? "" });
  const response = await request(send, `${fields.realm}?${query}`, {});
  const { token, access_token = token } = (await response.json()) as { token?: string; access_token?: string };
  return access_token ?? "";
}

async function request(send: Fetch, url: string, options: RequestInit): Promise<Response> {
  try {
    return await send(url, { ...options, signal: AbortSignal.timeout(30_000) });
  } catch (error) {
    throw new Error(`cannot reach ${new URL(url).host}, so its digest is unknown`, { cause: error });
  }
}
