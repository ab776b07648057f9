import { defineConfig } from "vitest/config";

const integration = ["test/integration/**/*.test.ts", "test/e2e/**/*.test.ts", "test/conformance/**/*.test.ts"];

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          // Test files share processes: loading everything anew for each costs more than all tests together.
          isolate: false,
          include: ["test/**/*.test.ts"],
          exclude: [...integration, "test/chaos/**", "test/bench/**"],
        },
      },
      {
        test: {
          name: "integration",
          include: [...integration, "test/chaos/**/*.test.ts"],
          // These start etcd, API servers and engines: two at a time is what two cores carry.
          maxWorkers: 2,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
