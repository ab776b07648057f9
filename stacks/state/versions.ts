import pluginPackage from "@pulumi/hcloud/package.json" with { type: "json" };
import sdkPackage from "@pulumi/pulumi/package.json" with { type: "json" };

/** What the engine is made for: the command line must be of the SDK's version, the plugin of its package's. */
export const VERSIONS = { pulumi: sdkPackage.version, hcloud: pluginPackage.version } as const;
