/** Imports go one way: test → dev-env, controller → stacks → packages. */
const forbid = (name, from, to, comment) => ({
  name,
  comment,
  severity: "error",
  from: { path: from },
  to: { path: to },
});

export default {
  forbidden: [
    forbid(
      "stacks-stand-alone",
      "^stacks/",
      "^(controller|dev-env|test)/",
      "the Pulumi side knows nothing of its callers",
    ),
    forbid(
      "controller-no-dev-env",
      "^controller/",
      "^(dev-env|test)/",
      "what ships must not need the development environment",
    ),
    forbid("dev-env-no-test", "^dev-env/", "^test/", "tests use the development environment, not the other way round"),
    forbid(
      "kube-alone",
      "^controller/kube/",
      "^controller/hcloud/|^stacks/engine",
      "run.ts wires kube, hcloud and engine",
    ),
    forbid(
      "hcloud-alone",
      "^controller/hcloud/",
      "^controller/kube/|^stacks/engine",
      "run.ts wires kube, hcloud and engine",
    ),
    {
      name: "pulumi-in-worker-only",
      comment: "the SDK costs memory and start-up time; only the worker process and Pulumi programs load it",
      severity: "error",
      from: { path: "^controller/", pathNot: "^controller/preview-program\\.ts$" },
      to: { path: "node_modules/@pulumi/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "pure-files",
      comment: "decisions are pure: no I/O in node/, service/, certificate/, route/ and spec",
      severity: "error",
      from: { path: "^controller/render/(node|service|route|certificate)/|^stacks/units/(spec|names)\\.ts$" },
      to: {
        path: "^controller/(kube|hcloud|robot)/|^(fs|net|http|https|child_process|undici)(/|$)",
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "no-circular",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    { name: "no-orphan-package", severity: "error", from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
};
