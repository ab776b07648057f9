/** Loaded before the program (`node --import`): shortens all waits to a third, for tests that wait for timeouts. */
import { scaleTimings } from "../../controller/work/timings.ts";

scaleTimings(1 / 3);
