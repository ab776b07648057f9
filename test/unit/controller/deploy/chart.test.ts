import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { stateLocation } from "../../../../controller/config/flag-values.ts";

const { properties } = JSON.parse(readFileSync("controller/deploy/chart/values.schema.json", "utf8"));
const backend = new RegExp(properties.state.properties.backend.pattern);

it.each([
  ["cluster", true],
  ["none", true],
  ["file:///state", true],
  ["s3://bucket", true],
  ["gs://bucket", true],
  ["azblob://container", true],
  ["postgres://host/db", true],
  ["https://api.pulumi.com", true],
  ["http://api.pulumi.com", false],
  ["secrets", false],
])("the chart accepts the state location %s if the controller does", (location, isAccepted) => {
  expect([backend.test(location), "value" in stateLocation(location)]).toEqual([isAccepted, isAccepted]);
});
