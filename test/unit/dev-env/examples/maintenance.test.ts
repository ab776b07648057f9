/** The solution of the exercise in part 3 of the tutorial. */
import { expect, it } from "vitest";
import { decideMaintenance } from "../../../../dev-env/examples/maintenance/index.ts";
import { aNode, aServer } from "../../../support/builders.ts";

const OURS = { key: "example.com/maintenance", effect: "NoSchedule" };
const OTHER = { key: "example.com/gpu", effect: "NoSchedule" };

it.each([
  { label: "true", taints: [], wanted: [OURS] },
  { label: "true", taints: [OTHER], wanted: [OTHER, OURS] },
  { label: "true", taints: [OTHER, OURS], wanted: undefined },
  { label: "false", taints: [OURS, OTHER], wanted: [OTHER] },
  { label: undefined, taints: [OURS], wanted: [] },
  { label: undefined, taints: [OTHER], wanted: undefined },
])("maintenance=$label with taints $taints", ({ label, taints, wanted }) => {
  const server = aServer({ id: 7, labels: label === undefined ? {} : { maintenance: label } });
  expect(decideMaintenance(aNode({ id: 7, taints }), [server])).toEqual(wanted);
});

it("keeps the taints of a Node whose server is not listed", () => {
  expect(decideMaintenance(aNode({ id: 7, taints: [OURS] }), [aServer({ id: 8 })])).toBeUndefined();
});
