/** Starts etcd and kube-apiserver. */
import { rm, writeFile } from "node:fs/promises";
import type { Toolchain } from "../toolchain/toolchain.ts";
import { Authority, newSigningKey } from "./certificates.ts";
import type { ClusterFiles } from "./files.ts";
import { apiServerFlags, auditPolicy, type ClusterOptions, etcdFlags } from "./flags.ts";
import { administrator, groupsOf } from "./kubeconfig.ts";
import { acceptsConnections, answersOk, type ClientTls, findFreePort } from "./loopback.ts";
import { ServerProcess, ServerStartError } from "./server-process.ts";
import { Watchdog } from "./watchdog.ts";

/** Settings, files and binaries of a control plane. */
export interface ControlPlaneOptions extends ClusterOptions {
  readonly files: ClusterFiles;
  readonly paths: Pick<Toolchain["paths"], "etcd" | "kube-apiserver">;
}

/** The running control plane of one cluster. */
export interface ControlPlane {
  readonly authority: Authority;
  readonly etcd: ServerProcess;
  readonly apiServer: ServerProcess;
  readonly url: string;
  /** Stops both servers and deletes the folder. */
  stop(): Promise<void>;
}

const apiServerTimeoutMs = 60_000;
const answerTimeoutMs = 2_000;
const portAttempts = 3;
const machinePort = 6443;
/** Names and the first address of the Service range, with which pods reach the API server. */
const serviceHosts = ["10.96.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];

/** The namespaces are included because they are created after `/readyz` succeeds, and clients rely on them. */
const readyPaths = [
  "/readyz",
  ...["default", "kube-system", "kube-node-lease"].map((ns) => `/api/v1/namespaces/${ns}`),
];

/** Starts etcd and the API server. If that fails, stops both and deletes the folder. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { files } = options;
  const watchdog = new Watchdog(files.dir);
  const authority = new Authority("lotse cluster authority");
  const etcd = prepareEtcd(options, watchdog);
  const cleanUp = async () => {
    await etcd.kill();
    await rm(files.dir, { recursive: true, force: true });
    await watchdog.stop();
  };
  try {
    const { auditedUser = "" } = options;
    const policy = writeFile(files.auditPolicy, auditPolicy(auditedUser));
    const hosts = options.machineAddress ? [options.machineAddress, ...serviceHosts] : [];
    await Promise.all([writeCredentials(files, authority, hosts), policy, etcd.start()]);
    const { apiServer, url } = await startApiServer(options, authority, watchdog);
    const stop = async () => {
      await apiServer.kill();
      await cleanUp();
    };
    return { authority, etcd, apiServer, url, stop };
  } catch (error) {
    await cleanUp();
    throw error;
  }
}

function prepareEtcd({ files, paths }: ControlPlaneOptions, watchdog: Watchdog): ServerProcess {
  return new ServerProcess({
    name: "etcd",
    command: paths.etcd,
    args: etcdFlags(files),
    dir: files.dir,
    logFile: files.etcdLog,
    isReady: () => acceptsConnections(files.etcdSocket),
    watchdog,
  });
}

/** Starts the API server on a free port, and retries with another one if it was taken meanwhile. */
async function startApiServer(
  options: ControlPlaneOptions,
  authority: Authority,
  watchdog: Watchdog,
): Promise<{ readonly apiServer: ServerProcess; readonly url: string }> {
  const subject = { commonName: administrator.name, organizations: groupsOf(administrator) };
  const { certificate, key } = authority.issue(subject, { kind: "client" });
  const tls: ClientTls = { ca: authority.certificate, cert: certificate, key };
  for (let attempt = 1; ; attempt++) {
    const port = options.machineAddress ? machinePort : await findFreePort();
    const url = `https://${options.machineAddress ?? "127.0.0.1"}:${port}`;
    const apiServer = prepareApiServer(options, port, () => answersAll(url, tls), watchdog);
    try {
      await apiServer.start();
      return { apiServer, url };
    } catch (error) {
      const isPortTaken = error instanceof ServerStartError && error.logTail.includes("address already in use");
      if (!isPortTaken || attempt === portAttempts) throw error;
    }
  }
}

function prepareApiServer(
  { files, paths, ...options }: ControlPlaneOptions,
  port: number,
  isReady: () => Promise<boolean>,
  watchdog: Watchdog,
): ServerProcess {
  return new ServerProcess({
    name: "kube-apiserver",
    command: paths["kube-apiserver"],
    args: apiServerFlags(files, port, options),
    dir: files.dir,
    logFile: files.apiServerLog,
    // Less frequent garbage collection: starts a sixth faster, for 100 MB more memory.
    env: { GOGC: "400" },
    isReady,
    readyTimeoutMs: apiServerTimeoutMs,
    watchdog,
  });
}

async function answersAll(url: string, tls: ClientTls): Promise<boolean> {
  for (const path of readyPaths) {
    if (!(await answersOk(`${url}${path}`, tls, answerTimeoutMs))) return false;
  }
  return true;
}

async function writeCredentials(files: ClusterFiles, authority: Authority, more: readonly string[]): Promise<void> {
  const hosts = ["127.0.0.1", "localhost", ...more];
  const kubelets = { commonName: "kube-apiserver-kubelet-client", organizations: ["system:masters"] };
  const kubeletClient = authority.issue(kubelets, { kind: "client" });
  const server = authority.issue({ commonName: "kube-apiserver" }, { kind: "server", hosts });
  const contents = [
    [files.authority, authority.certificate],
    [files.serverCertificate, server.certificate],
    [files.serverKey, server.key],
    [files.kubeletClientCertificate, kubeletClient.certificate],
    [files.kubeletClientKey, kubeletClient.key],
    [files.serviceAccountKey, newSigningKey()],
  ] as const;
  await Promise.all(contents.map(([file, text]) => writeFile(file, text, { mode: 0o600 })));
}
