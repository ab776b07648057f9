/** The version of this program. Everything that states a version asks here. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import packageJson from "../../package.json" with { type: "json" };

type Environment = Readonly<Record<string, string | undefined>>;

/** `npm run package` adds the commit. */
const manifest: { readonly version: string; readonly gitHead?: string } = packageJson;
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const GIT_TIMEOUT_MS = 5_000;

/**
 * The version without a leading `v`: that of the image (`LOTSE_VERSION`); in a checkout, `git describe`, as in
 * `0.2.0-5-g1a2b3c4` for the fifth commit after the tag v0.2.0; otherwise that of the package.
 */
export function programVersion(env: Environment = process.env, root = ROOT): string {
  const named = env.LOTSE_VERSION || describe(root) || manifest.version;
  return named.replace(/^v(?=\d)/, "");
}

/** Value of the User-Agent header in all requests. */
export function userAgent(): string {
  return `lotse/${programVersion()}`;
}

/** The output of git in the checkout at `root`; undefined if it is none, even if a folder above is one. */
function gitOutput(root: string, args: readonly string[]): string | undefined {
  if (!existsSync(`${root}/.git`)) return undefined;
  try {
    // Neither the token, which no child process gets, nor GIT_DIR, which selects another repository.
    const { PATH, HOME } = process.env;
    return execFileSync("git", ["-C", root, ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      env: { PATH, HOME },
      timeout: GIT_TIMEOUT_MS,
    }).trim();
  } catch {
    return undefined; // no git, no commit or no tag
  }
}

/** The commit that this program was built from: that of the image, of the package, or of the checkout. */
export function programCommit(env: Environment = process.env, root = ROOT): string {
  const built = env.LOTSE_COMMIT || manifest.gitHead;
  return built || `${gitOutput(root, ["rev-parse", "--short", "HEAD"]) ?? "unknown"} (from source)`;
}

const described = new Map<string, string | undefined>();

/** Runs git once per process and folder. */
function describe(root: string): string | undefined {
  if (!described.has(root)) described.set(root, gitOutput(root, ["describe", "--tags", "--match=v[0-9]*", "--dirty"]));
  return described.get(root);
}
