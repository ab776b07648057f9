/** The list that the suite works through, in order. docs/reference/account-test.md is generated from it. */
import { CERTIFICATE_STEPS } from "./certificates.ts";
import { MACHINE_STEPS, NODE_STEPS } from "./nodes.ts";
import {
  ADOPTION_STEPS,
  KEPT_STEP,
  NAMED_DELETION,
  OTHERS_CREATED,
  OTHERS_UNTOUCHED,
  PLACED_DELETION,
  TCP_STEPS,
  WEB_DELETION,
} from "./ownership.ts";
import { NAMED_ROWS, PLACED_ROWS, TCP_ROWS, WEB_ROWS } from "./services.ts";
import { type Step, serviceStep } from "./step.ts";
import { TRAFFIC_STEP } from "./traffic.ts";

/** All steps. At most two load balancers exist at a time, because new accounts have low limits. */
export const STEPS: readonly Step[] = [
  ...NODE_STEPS,
  OTHERS_CREATED,
  ...TCP_ROWS.map(serviceStep),
  ...TCP_STEPS,
  ...PLACED_ROWS.map(serviceStep),
  PLACED_DELETION,
  ...WEB_ROWS.map(serviceStep),
  WEB_DELETION,
  TRAFFIC_STEP,
  ...NAMED_ROWS.map(serviceStep),
  KEPT_STEP,
  NAMED_DELETION,
  ...CERTIFICATE_STEPS,
  ...ADOPTION_STEPS,
  ...MACHINE_STEPS,
  OTHERS_UNTOUCHED,
];
