// Runs Pulumi's own installer for the command line into the folder given as argument, in the version of the SDK.
// A program of its own, because the installer knows no time limit and the SDK takes a second to load.
import { PulumiCommand } from "@pulumi/pulumi/automation/index.js";

const [root] = process.argv.slice(2);
if (root === undefined) throw new Error("usage: node install-pulumi.ts DIRECTORY");
await PulumiCommand.install({ root });
