/** The provenance of the image: what it was built from, how and where. cosign signs it. */

/** What the provenance states. */
export interface Build {
  readonly version: string;
  readonly commit: string;
  /** The base image, with its digest, or Debian packages by name and version. */
  readonly base: readonly string[];
  /** The environment of the build, from which the runner is known. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

const PINNED = /^(.+)@sha256:([0-9a-f]{64})$/;
const LOCAL = "https://lotse.invalid";

/** Renders the predicate. https://slsa.dev/spec/v1.0/provenance describes the format. */
export function renderProvenance({ version, commit, base, env }: Build): string {
  const {
    GITHUB_SERVER_URL: server,
    GITHUB_REPOSITORY: repository,
    GITHUB_WORKFLOW_REF: workflow,
    GITHUB_RUN_ID: run,
  } = env;
  const source = server && repository ? `${server}/${repository}` : LOCAL;
  const predicate = {
    buildDefinition: {
      buildType: `${source}/npm-run-image@v1`,
      externalParameters: { version, command: "npm run image" },
      resolvedDependencies: [
        { uri: `git+${source}@refs/tags/${version}`, digest: { gitCommit: commit } },
        ...base.map(dependencyOf),
      ],
    },
    runDetails: {
      builder: { id: server && workflow ? `${server}/${workflow}` : `${LOCAL}/this-machine` },
      ...(run && { metadata: { invocationId: `${source}/actions/runs/${run}` } }),
    },
  };
  return `${JSON.stringify(predicate, undefined, 2)}\n`;
}

/** Whether everything that the image starts from is pinned by digest, as releases require. */
export function isPinned(base: readonly string[]): boolean {
  return base.length > 0 && base.every((reference) => PINNED.test(reference));
}

/** `gcr.io/x@sha256:…` has a digest; packages such as `pkg:deb/debian/libc6@2.36` are named by version. */
function dependencyOf(reference: string): object {
  const [, uri, sha256] = PINNED.exec(reference) ?? [];
  return uri === undefined ? { uri: reference } : { uri: `docker://${uri}`, digest: { sha256 } };
}
