import { describe, expect, it } from "vitest";
import { isPinned, renderProvenance } from "../../../../dev-env/image/provenance.ts";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const SHA256 = "ab".repeat(32);
const GITHUB = {
  GITHUB_SERVER_URL: "https://github.com",
  GITHUB_REPOSITORY: "example/lotse",
  GITHUB_WORKFLOW_REF: "example/lotse/.github/workflows/release.yml@refs/tags/v9.9.9",
  GITHUB_RUN_ID: "42",
};

describe("the provenance", () => {
  const render = (base: readonly string[], env: Readonly<Record<string, string>>) =>
    JSON.parse(renderProvenance({ version: "v9.9.9", commit: COMMIT, base, env }));

  it("names commit, base image, workflow and run of a build on GitHub", () => {
    const { buildDefinition, runDetails } = render([`gcr.io/distroless/cc:nonroot@sha256:${SHA256}`], GITHUB);
    expect(buildDefinition.resolvedDependencies).toEqual([
      { uri: "git+https://github.com/example/lotse@refs/tags/v9.9.9", digest: { gitCommit: COMMIT } },
      { uri: "docker://gcr.io/distroless/cc:nonroot", digest: { sha256: SHA256 } },
    ]);
    expect(runDetails).toEqual({
      builder: { id: "https://github.com/example/lotse/.github/workflows/release.yml@refs/tags/v9.9.9" },
      metadata: { invocationId: "https://github.com/example/lotse/actions/runs/42" },
    });
  });

  it("names packages by version where the base image could not be pulled, and claims no known builder", () => {
    const packages = ["pkg:deb/debian/libc6@2.36-9?distro=debian-12"];
    const { buildDefinition, runDetails } = render(packages, {});
    expect(buildDefinition.resolvedDependencies[1]).toEqual({ uri: packages[0] });
    expect(runDetails.builder.id).toMatch(/^https:\/\/[^/]*\.invalid\//);
  });
});

it.each([
  ["an image with its digest", [`gcr.io/distroless/cc:nonroot@sha256:${SHA256}`], true],
  ["an image without a digest", ["gcr.io/distroless/cc:nonroot"], false],
  ["a package beside an image", [`gcr.io/distroless/cc@sha256:${SHA256}`, "pkg:deb/debian/libc6@2.36-9"], false],
  ["nothing", [], false],
])("a base of %s: pinned or not", (_, base, expected) => expect(isPinned(base)).toBe(expected));
