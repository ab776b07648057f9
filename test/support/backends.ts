/** Servers that hold stacks of Pulumi: S3 and PostgreSQL on loopback. */
import { execFileSync } from "node:child_process";
import { globSync } from "node:fs";
import { chown, mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findFreePort } from "../../dev-env/cluster/loopback.ts";
import { type ServerOptions, ServerProcess } from "../../dev-env/cluster/server-process.ts";
import { Watchdog } from "../../dev-env/cluster/watchdog.ts";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import type { PulumiUserOptions } from "./pulumi-user.ts";

/** A running server, as `--state` and the environment name it. */
export interface Backend extends AsyncDisposable, Required<PulumiUserOptions> {}

/** Runs a server in a folder, which is deleted with it. */
async function serve(
  folder: string,
  [command = "", ...args]: readonly string[],
  options: Pick<ServerOptions, "env" | "isReady">,
): Promise<() => Promise<void>> {
  const watchdog = new Watchdog(folder);
  const common = { dir: folder, logFile: join(folder, "log"), readyTimeoutMs: 60_000, watchdog };
  const server = new ServerProcess({ name: command, command, args, ...common, ...options });
  await server.start();
  return async () => {
    await server.kill();
    await watchdog.stop();
  };
}

/** MinIO with a bucket. Its first build takes minutes. */
export async function startS3(): Promise<Backend> {
  const { paths } = await ensureToolchain(["minio"]);
  const folder = await mkdtemp(join(tmpdir(), "lotse-s3-"));
  await mkdir(join(folder, "data", "stacks"), { recursive: true });
  const address = `127.0.0.1:${await findFreePort()}`;
  const [id, key] = ["lotse-user", "lotse-password"];
  const command = [paths.minio, "server", "--quiet", "--address", address, join(folder, "data")];
  const isReady = () =>
    fetch(`http://${address}/minio/health/live`).then(
      ({ ok }) => ok,
      () => false,
    );
  const stop = await serve(folder, command, {
    env: { HOME: folder, MINIO_ROOT_USER: id, MINIO_ROOT_PASSWORD: key },
    isReady,
  });
  const backend = `s3://stacks?endpoint=${address}&disableSSL=true&s3ForcePathStyle=true&region=us-east-1`;
  const env = { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: key };
  return { backend, env, [Symbol.asyncDispose]: stop };
}

/** Where Debian puts the programs of PostgreSQL; undefined if they are not installed. */
export function postgresFolder(): string | undefined {
  const newest = globSync("/usr/lib/postgresql/*/bin/initdb").toSorted().at(-1);
  return newest && dirname(newest);
}

/** PostgreSQL with a database. It refuses to run as root, for which the user of Debian's package stands in. */
export async function startPostgres(programs: string): Promise<Backend> {
  const folder = await mkdtemp(join(tmpdir(), "lotse-postgres-"));
  const isRoot = process.getuid?.() === 0;
  const asUser = isRoot ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : [];
  const run = (command: readonly string[], env = {}) => {
    const [program = "", ...args] = [...asUser, ...command];
    return execFileSync(program, args, {
      cwd: folder,
      env: { PATH: process.env.PATH, ...env },
      encoding: "utf8",
      stdio: "pipe",
    });
  };
  if (isRoot) await chown(folder, ...ownerOf("postgres"));
  const [password, data, port] = ["lotse-password", join(folder, "data"), String(await findFreePort())];
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, password);
  run([join(programs, "initdb"), "-D", data, "-U", "lotse", "--auth=scram-sha-256", `--pwfile=${passwordFile}`]);
  const command = [...asUser, join(programs, "postgres"), "-D", data, "-p", port, "-h", "127.0.0.1", "-k", folder];
  const env = { PGPASSWORD: password };
  const client = ["psql", "-h", "127.0.0.1", "-p", port, "-U", "lotse", "-d", "postgres"];
  const isReady = async () => {
    try {
      return run([...client, "-c", "CREATE DATABASE stacks"], env) !== "";
    } catch {
      return false;
    }
  };
  const stop = await serve(folder, command, { isReady });
  const backend = `postgres://lotse@127.0.0.1:${port}/stacks?sslmode=disable`;
  return { backend, env, [Symbol.asyncDispose]: stop };
}

function ownerOf(user: string): [number, number] {
  const id = (flag: string) => Number(execFileSync("id", [flag, user], { encoding: "utf8" }));
  return [id("-u"), id("-g")];
}
