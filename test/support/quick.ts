/** Loaded before the program (`node --import`): shortens all waits to a third, for tests that wait for timeouts. */
import { TIMINGS } from "../../controller/work/timings.ts";

scale(TIMINGS as unknown as Record<string, unknown>, 1 / 3);

function scale(values: Record<string, unknown>, factor: number): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "number") values[name] = value * factor;
    else scale(value as Record<string, unknown>, factor);
  }
}
