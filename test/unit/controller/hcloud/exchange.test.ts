import { describe, expect, it } from "vitest";
import { apiErrorOf, endpointOf, errorResponse, isRead, resourceOf } from "../../../../controller/hcloud/exchange.ts";

describe("a path", () => {
  it.each([
    ["/load_balancers", undefined, "/load_balancers"],
    ["/load_balancers?page=1", undefined, "/load_balancers"],
    ["/load_balancers/42", "load_balancers/42", "/load_balancers/-"],
    ["/load_balancers/42?x=1", "load_balancers/42", "/load_balancers/-"],
    ["/load_balancers/42/actions/add_target", "load_balancers/42", "/load_balancers/-/actions/add_target"],
    ["/networks/7/actions/add_route", "networks/7", "/networks/-/actions/add_route"],
    ["/actions/5", undefined, "/actions/-"],
    ["/actions?id=5&id=6", undefined, "/actions"],
    ["/load_balancers/42x", undefined, "/load_balancers/42x"],
    ["/", undefined, "/"],
  ])("%s concerns %s and counts as %s", (path, resource, endpoint) => {
    expect(resourceOf(path)).toBe(resource);
    expect(endpointOf(path)).toBe(endpoint);
  });
});

it.each([
  ["GET", true],
  ["HEAD", true],
  ["POST", false],
  ["PUT", false],
  ["DELETE", false],
  ["PATCH", false],
])("%s changes nothing: %s", (method, expected) => {
  expect(isRead({ method, path: "/" })).toBe(expected);
});

it("uses the API's error format, with the details that the plugin needs", () => {
  expect(JSON.parse(errorResponse(403, "forbidden", "no").body)).toEqual({
    error: { code: "forbidden", message: "no", details: null },
  });
  expect(JSON.parse(errorResponse(422, "invalid_input", "no").body).error.details).toEqual({ fields: [] });
});

describe("the error in a response", () => {
  const of = (error: object) => apiErrorOf({ status: 422, headers: {}, body: JSON.stringify({ error }) });

  it.each([
    ["fields with reasons", { fields: [{ name: "type", messages: ["unknown", "old"] }] }, "bad: type: unknown, old"],
    ["fields without reasons, as for names in use", { fields: [{ name: "name" }] }, "bad"],
    ["no fields", {}, "bad"],
    ["nothing", null, "bad"],
  ])("has the message, and details: %s", (_, details, message) => {
    expect(of({ code: "c", message: "bad", details })).toEqual({ code: "c", message });
  });

  it("of a proxy has only the status", () => {
    expect(apiErrorOf({ status: 502, headers: {}, body: "<html>" })).toEqual({
      code: "unexpected",
      message: "the API responded with status 502",
    });
  });
});
