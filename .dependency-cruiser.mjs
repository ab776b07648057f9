/**
 * Imports go one way. Folders: test → dev-env, controller → stacks → packages. Rooms inside a folder: only to rooms that
 * stand above them in these lists. Types may cross: they are gone when the program runs.
 */
const STACKS = ["units", "state", "components", "engine"];

const CONTROLLER = [
  "formats", // texts, labels, ranges and encodings
  "diagnostics", // errors, log
  "work", // loops, retries, timings
  "net",
  "hcloud",
  "kube",
  "robot",
  "render", // snapshot → specs; pure
  "guard", // specs × what exists → plan, and what may happen; pure
  "publish",
  "record",
  "observe",
  "apply",
  "turns",
  "serve",
  "config",
  "app",
  "commands",
];

const PURE = ["formats", "render", "guard"];
const EDGES = ["hcloud", "kube", "robot", "net"];

const asType = { dependencyTypesNot: ["type-only"] };
const rule = (name, comment, from, to) => ({ name, comment, severity: "error", from: { path: from }, to });

/** One rule for each room: not to those below it. */
function layers(folder, rooms) {
  return rooms.slice(0, -1).map((room, index) => {
    const others = rooms.slice(index + 1).join("|");
    const comment = `${room} is below ${rooms[index + 1]} and everything that follows it`;
    return rule(`${folder}-${room}`, comment, `^${folder}/${room}/`, { path: `^${folder}/(${others})/`, ...asType });
  });
}

/** The edges do not know each other; app/ introduces them. */
const edgesAlone = ["hcloud", "kube", "robot"].map((edge) =>
  rule(`${edge}-alone`, "edges do not know each other", `^controller/${edge}/`, {
    path: `^controller/(${["hcloud", "kube", "robot"].filter((other) => other !== edge).join("|")})/|^stacks/engine/`,
    ...asType,
  }),
);

export default {
  forbidden: [
    rule("stacks-stand-alone", "the Pulumi side knows nothing of its callers", "^stacks/", {
      path: "^(controller|dev-env|test)/",
    }),
    rule("controller-no-dev-env", "what ships must not need the development environment", "^controller/", {
      path: "^(dev-env|test)/",
    }),
    rule("dev-env-no-test", "tests use the development environment, not the other way round", "^dev-env/", {
      path: "^test/",
    }),
    ...layers("stacks", STACKS),
    ...layers("controller", CONTROLLER),
    ...edgesAlone,
    rule("pure-rooms", "decisions do no I/O", `^controller/(${PURE.join("|")})/|^stacks/units/`, {
      path: `^controller/(${EDGES.join("|")})/|^(fs|net|http|https|child_process|undici)(/|$)`,
      ...asType,
    }),
    {
      name: "pulumi-in-worker-only",
      comment: "the SDK costs memory and start-up time; only the worker process and Pulumi programs load it",
      severity: "error",
      from: { path: "^controller/", pathNot: "^controller/preview-program\\.ts$" },
      to: { path: "node_modules/@pulumi/", ...asType },
    },
    {
      name: "resources-in-components-only",
      comment: "controller and development environment create the same resources through the same components",
      severity: "error",
      from: { path: "^(controller|stacks|dev-env)/", pathNot: "^(stacks/components|dev-env/examples)/" },
      to: { path: "node_modules/@pulumi/hcloud/", pathNot: "package\\.json$", ...asType },
    },
    {
      name: "one-run-loop",
      comment: "runs of the engine, their events and their interruption exist once, in stacks/engine",
      severity: "error",
      from: { path: "^(controller|dev-env)/" },
      to: { path: "node_modules/@pulumi/pulumi/automation/", ...asType },
    },
    { name: "no-circular", severity: "error", from: {}, to: { circular: true, viaOnly: asType } },
    { name: "no-orphan-package", severity: "error", from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
};
