/** The Pulumi program of what runs in an environment's cluster (Pulumi.yaml names it). */
import { readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { declareCluster } from "./declare.ts";

const config = new pulumi.Config();
const { HCLOUD_TOKEN: token = "" } = process.env;
if (token === "") throw new pulumi.RunError("HCLOUD_TOKEN is not set: the controller in the cluster needs it");
const image = config.get("image") ?? "";
const colon = image.lastIndexOf(":");

declareCluster({
  kubeconfig: config.require("kubeconfig"),
  token,
  networkId: config.require("networkId"),
  pods: config.require("pods"),
  location: config.require("location"),
  chart: config.require("chart"),
  demo: readFileSync(config.require("demo"), "utf8"),
  ...(colon > 0 && { image: { repository: image.slice(0, colon), tag: image.slice(colon + 1) } }),
});

/** The cluster that the state describes. */
export const clusterUid = config.get("clusterUid");
