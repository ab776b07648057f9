import { expect, it } from "vitest";
import { report } from "../../../../../controller/commands/preview/dry-run.ts";
import type { Forecast } from "../../../../../controller/commands/preview/forecast.ts";
import { aLog } from "../../../../support/log.ts";

const QUIET: Forecast = { cluster: "test", server: "", units: [], refused: [], notes: [] };

it("logs each unit that would change or fail, and each refused object", () => {
  const { log, lines } = aLog();
  const part = { part: "route", operation: "create", reason: "", fields: [] } as const;
  const unit = { unit: "route/a", object: "Node a", action: "create", parts: [part] } as const;
  report(
    {
      ...QUIET,
      units: [unit, { ...unit, failure: "no" }],
      refused: [{ object: "Service a/b", mistakes: ["bad"] }],
      heldBack: "many",
    },
    log,
  );
  expect(lines).toMatchObject([
    { level: "info", msg: "would change", object: "Node a", resources: ["create route"] },
    { level: "warn", msg: "would fail", error: "no" },
    { level: "warn", msg: "would be refused", mistakes: ["bad"] },
    { level: "warn", msg: "would be held back by the guard" },
  ]);
});

it("logs that there is nothing to change", () => {
  const { log, lines } = aLog();
  report(QUIET, log);
  expect(lines).toMatchObject([{ msg: "nothing to change" }]);
});
