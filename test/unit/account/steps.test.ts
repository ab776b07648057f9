import { expect, it } from "vitest";
import { OPTION_ROWS } from "../../../controller/render/service/options/annotations.ts";
import { STEPS } from "../../account/steps/list.ts";

const ANNOTATIONS = OPTION_ROWS.map(([, { annotation }]) => annotation);

it.each(ANNOTATIONS)("a step of the account test proves the annotation %s", (annotation) => {
  const steps = STEPS.filter(({ annotations = [] }) => annotations.includes(annotation));
  expect(steps.length, "add a row to test/account/steps").toBeGreaterThan(0);
});

it("the steps name only annotations that exist", () => {
  const named = new Set(STEPS.flatMap(({ annotations = [] }) => annotations));
  expect([...named].filter((annotation) => !ANNOTATIONS.includes(annotation))).toEqual([]);
});

it("ids are unique, and a step depends only on earlier ones", () => {
  const ids = STEPS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const late = STEPS.filter(({ after }, index) => after !== undefined && !ids.slice(0, index).includes(after));
  expect(late.map(({ id }) => id)).toEqual([]);
});

it("a step that runs in any cluster depends only on steps that do, too", () => {
  const needs = new Map(STEPS.map((step) => [step.id, step.needs]));
  const stuck = STEPS.filter(
    ({ needs: need, after = "" }) => need === "cluster" && (needs.get(after) ?? need) !== need,
  );
  expect(stuck.map(({ id }) => id)).toEqual([]);
});
