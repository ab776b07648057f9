/** Fixed addresses of a world. Worlds live in separate namespaces, so that all of them use the same ones. */

/** The API server (6443), and Hetzner's API (8080). Outside of the pools of servers and load balancers. */
export const CONTROL_PLANE = "198.19.255.1";
/** Port of Hetzner's API. */
export const CLOUD_PORT = 8080;
/** Load balancers get their public addresses from this range. */
export const BALANCERS = "198.19.0.0/16";
/** A client on the internet, who is neither a server nor a load balancer. */
export const CLIENT = "203.0.113.10";
/** The metadata service of every server. */
export const METADATA = "169.254.169.254";
/** The gateway of public interfaces, as at Hetzner. */
export const PUBLIC_GATEWAY = "172.31.1.1";

/** The range of pods, which the private network's range must contain. */
export const POD_RANGE = "10.244.0.0/16";
/** The private network, with pods and machines in it. */
export const NETWORK_RANGE = "10.0.0.0/8";
export const SUBNET = "10.0.1.0/24";
/** The control plane in the private network, from where it reaches kubelets. */
export const CONTROL_PLANE_PRIVATE = "10.255.255.254";
/** MTU of private networks, as at Hetzner. */
export const PRIVATE_MTU = 1450;
