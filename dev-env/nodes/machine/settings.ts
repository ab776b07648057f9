/** Configuration files of containerd, kubelet and kube-proxy. Pure. */
import { join } from "node:path";
import { POD_RANGE, PRIVATE_MTU } from "../network/addresses.ts";

/** What differs between machines and clusters. */
export interface MachineSettings {
  readonly name: string;
  /** Folder of its files. */
  readonly dir: string;
  /** Its group, below the root of each cgroup hierarchy. */
  readonly cgroup: string;
  /** Folder of the CNI plugins, and path of runc. */
  readonly binDir: string;
  readonly runc: string;
  /** Certificate of the cluster's authority. */
  readonly authority: string;
  readonly proxy: ProxySettings;
}

/** How kube-proxy works. */
export interface ProxySettings {
  readonly mode: "nftables" | "iptables";
  /** Addresses on which node ports answer; empty means the default of the mode. */
  readonly nodePortAddresses: readonly string[];
}

/** The image of the container that holds a pod's namespaces. */
export const PAUSE_IMAGE = "lotse.local/pause:1";
/** Where the cluster's DNS server answers. */
const DNS_ADDRESS = "10.96.0.10";

/** Paths of a machine's files. */
export const filesIn = (dir: string) => ({
  containerd: join(dir, "containerd.toml"),
  podNetwork: join(dir, "pod-network.json"),
  kubelet: join(dir, "kubelet.json"),
  kubeProxy: join(dir, "kube-proxy.json"),
  kubeletAccess: join(dir, "kubelet.kubeconfig"),
  kubeProxyAccess: join(dir, "kube-proxy.kubeconfig"),
});

/** Contents of a machine's files by path. */
export function renderFiles(settings: MachineSettings): Readonly<Record<string, string>> {
  const files = filesIn(settings.dir);
  return {
    [files.containerd]: containerd(settings, files.podNetwork),
    [files.podNetwork]: JSON.stringify(podNetwork),
    [files.kubelet]: JSON.stringify(kubelet(settings)),
    [files.kubeProxy]: JSON.stringify(kubeProxy(settings.proxy, files.kubeProxyAccess)),
  };
}

function containerd({ binDir, runc }: MachineSettings, podNetworkFile: string): string {
  const runtime = "plugins.'io.containerd.cri.v1.runtime'";
  return `version = 3
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.snapshotter.v1.native", "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs"]
[plugins.'io.containerd.internal.v1.opt']
  path = '/var/lib/containerd/opt'
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = '${PAUSE_IMAGE}'
[${runtime}]
  # Root in a container or virtual machine may lack the right to lower the score; without this, no pod would start.
  restrict_oom_score_adj = true
[${runtime}.cni]
  bin_dirs = ['${binDir}']
  conf_dir = '/run/cni'
  conf_template = '${podNetworkFile}'
  use_internal_loopback = true
[${runtime}.containerd.runtimes.runc]
  runtime_type = 'io.containerd.runc.v2'
[${runtime}.containerd.runtimes.runc.options]
  BinaryName = '${runc}'
  SystemdCgroup = false
`;
}

/** containerd fills in the pod range as soon as the kubelet knows it, so that no network agent is needed. */
const podNetwork = {
  cniVersion: "1.0.0",
  name: "pods",
  plugins: [
    {
      type: "ptp",
      mtu: PRIVATE_MTU,
      ipMasq: false,
      ipam: {
        type: "host-local",
        ranges: [[{ subnet: "{{.PodCIDR}}" }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
  ],
};

function kubelet({ cgroup, authority }: MachineSettings) {
  const never = "0%";
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: authority } },
    authorization: { mode: "Webhook" },
    containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${cgroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    clusterDNS: [DNS_ADDRESS],
    clusterDomain: "cluster.local",
    // The disk and the memory are those of the machine that everything runs on.
    localStorageCapacityIsolation: false,
    imageGCHighThresholdPercent: 100,
    evictionHard: Object.fromEntries(
      ["memory.available", "nodefs.available", "imagefs.available", "nodefs.inodesFree", "imagefs.inodesFree"].map(
        (signal) => [signal, never],
      ),
    ),
    maxPods: 50,
    nodeStatusUpdateFrequency: "2s",
  };
}

function kubeProxy({ mode, nodePortAddresses }: ProxySettings, kubeconfig: string) {
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode,
    clusterCIDR: POD_RANGE,
    clientConnection: { kubeconfig },
    nodePortAddresses,
    // These settings of the kernel belong to the whole machine.
    conntrack: { maxPerCore: 0, min: 0, tcpCloseWaitTimeout: "0s", tcpEstablishedTimeout: "0s" },
    [mode]: { minSyncPeriod: "100ms", syncPeriod: "30s" },
    healthzBindAddress: "0.0.0.0:10256",
    metricsBindAddress: "127.0.0.1:10249",
  };
}
