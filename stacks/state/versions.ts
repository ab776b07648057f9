/** The versions of engine and plugin, taken from their npm packages. */
import pluginPackage from "@pulumi/hcloud/package.json" with { type: "json" };
import sdkPackage from "@pulumi/pulumi/package.json" with { type: "json" };

/** Required versions: the command line must match the SDK, and the plugin its npm package. */
export const VERSIONS = { pulumi: sdkPackage.version, hcloud: pluginPackage.version } as const;
