/** Loaded before the program (`node --import`): all of its waits are a third as long, for tests that sit them out. */
import { scaleTimings } from "../../controller/work/timings.ts";

scaleTimings(1 / 3);
