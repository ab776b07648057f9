import { defineConfig } from "vitest/config";

/** Tests that start etcd, API servers and engines. */
const real = ["test/{integration,e2e,conformance,chaos}/**/*.test.ts"];
/** Those of them that wait, break things at random or take a crowd: not for every change (`npm run test:slow`). */
const slow = ["test/**/*.slow.test.ts"];
/** Two at a time is what two cores carry. */
const limits = { maxWorkers: 2, testTimeout: 120_000, hookTimeout: 120_000 };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          // Test files share processes: loading everything anew for each costs more than all tests together.
          isolate: false,
          include: ["test/{unit,support,tools}/**/*.test.ts"],
        },
      },
      { test: { name: "integration", include: real, exclude: slow, ...limits } },
      { test: { name: "slow", include: slow, ...limits } },
    ],
  },
});
