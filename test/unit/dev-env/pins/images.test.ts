import { describe, expect, it } from "vitest";
import { fetchDigest, imagesIn, parseImage, withDigest } from "../../../../dev-env/pins/images.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const OTHER = `sha256:${"b".repeat(64)}`;
const FILE = `ARG GO_IMAGE=golang:1.26.8-bookworm\nARG FINAL_IMAGE=gcr.io/distroless/cc-debian12:nonroot@${DIGEST}\nARG X=y\n`;

it("base images are found, with and without a digest", () => {
  expect(imagesIn(FILE)).toEqual([
    { name: "golang:1.26.8-bookworm" },
    { name: "gcr.io/distroless/cc-debian12:nonroot", digest: DIGEST },
  ]);
});

it("a digest is added, or replaces the old one, and touches no other line", () => {
  const once = withDigest(FILE, "golang:1.26.8-bookworm", OTHER);
  expect(once).toBe(FILE.replace("bookworm", `bookworm@${OTHER}`));
  const name = "gcr.io/distroless/cc-debian12:nonroot";
  expect(withDigest(FILE, name, OTHER)).toBe(FILE.replace(DIGEST, OTHER));
});

it.each([
  ["golang:1.26.8-bookworm", "registry-1.docker.io", "library/golang", "1.26.8-bookworm"],
  ["team/app:1", "registry-1.docker.io", "team/app", "1"],
  ["gcr.io/distroless/cc-debian12:nonroot", "gcr.io", "distroless/cc-debian12", "nonroot"],
  ["localhost:5000/app", "localhost:5000", "app", "latest"],
])("%s is in %s", (image, registry, path, tag) => {
  expect(parseImage(image)).toEqual({ registry, path, tag });
});

describe("a digest", () => {
  const found = () => new Response(null, { headers: { "docker-content-digest": DIGEST } });
  const challenge = 'Bearer realm="https://auth.example/token",service="hub",scope="repository:library/golang:pull"';

  it("is fetched with an anonymous token where the registry demands one", async () => {
    const asked: string[] = [];
    const digest = await fetchDigest("golang:1", async (url, { headers, method = "GET" }) => {
      asked.push(`${method} ${url}`);
      if (url.startsWith("https://auth.example")) return Response.json({ token: "t" });
      const isAllowed = new Headers(headers).get("authorization") === "Bearer t";
      return isAllowed ? found() : new Response(null, { status: 401, headers: { "www-authenticate": challenge } });
    });
    expect(digest).toBe(DIGEST);
    const manifest = "HEAD https://registry-1.docker.io/v2/library/golang/manifests/1";
    const token = "GET https://auth.example/token?service=hub&scope=repository%3Alibrary%2Fgolang%3Apull";
    expect(asked).toEqual([manifest, token, manifest]);
  });

  it.each([
    ["cannot be reached", () => Promise.reject(new Error("offline")), "cannot reach gcr.io, so its digest is unknown"],
    ["does not know the image", async () => new Response(null, { status: 404 }), "status 404 and no digest"],
    ["sends nonsense", async () => new Response(null, { headers: { "docker-content-digest": "x" } }), "no digest"],
    ["demands a password", async () => new Response(null, { status: 401 }), "unknown kind of credential"],
  ])("is an error when the registry %s", async (_, send, message) => {
    await expect(fetchDigest("gcr.io/x/y:1", send)).rejects.toThrow(message);
  });
});
