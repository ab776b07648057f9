import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Tests that start etcd, API servers and engines. */
const real = ["test/{integration,e2e,conformance,chaos}/**/*.test.ts"];
/** Those of them that wait, break things at random or take a crowd: not for every change (`npm run test:slow`). */
const slow = ["test/**/*.slow.test.ts"];
/** Those that hold seconds, requests or memory to a bound: one at a time, because nothing else may use the machine. */
const quiet = ["test/**/*.quiet.test.ts"];
/** Three at a time use two cores fully, because they also wait. Their hundreds of processes share what Node compiled before. */
const limits = {
  maxWorkers: 3,
  testTimeout: 120_000,
  hookTimeout: 120_000,
  env: { NODE_COMPILE_CACHE: fileURLToPath(new URL(".lotse/compile-cache", import.meta.url)) },
};
/** Tests of the compiled program, which is compiled once: several use `dist/` at the same time. */
const built = { globalSetup: "test/support/build.ts" };

export default defineConfig({
  test: {
    // Whole values in failure messages: a rare failure may leave nothing else.
    chaiConfig: { truncateThreshold: 0 },
    projects: [
      {
        test: {
          name: "unit",
          // Test files share processes: loading everything anew for each costs more than all tests together.
          isolate: false,
          maxWorkers: 2,
          include: ["test/{unit,support,tools}/**/*.test.ts"],
        },
      },
      { test: { name: "integration", include: real, exclude: [...slow, ...quiet], ...limits } },
      // `npm run test:nodes` starts each file in namespaces of its own.
      { test: { name: "nodes", include: ["test/nodes/**/*.test.ts"], ...limits } },
      { test: { name: "slow", include: slow, ...built, ...limits } },
      { test: { name: "quiet", include: quiet, ...built, ...limits, maxWorkers: 1 } },
      // Needs programs that take long to build.
      { test: { name: "release", include: ["test/release/**/*.test.ts"], ...limits } },
    ],
  },
});
