import { describe, expect, it } from "vitest";
import { failureOf, parseFailure, stripMarkup } from "../../../../stacks/engine/errors.ts";

/** Diagnostics of the real engine and plugin (Pulumi 3.259, hcloud 1.41) from the event stream. */
const REAL = [
  {
    what: "the plugin's own log of an error",
    text: "  sdk-v2/provider2.go:571: sdk.helper_schema: name is already used (uniqueness_error, 0000000000000006): provider=hcloud@1.41.0\n",
    failure: { code: "uniqueness_error", message: "name is already used", retry: "backoff" },
  },
  {
    what: "the engine's report of it",
    text: "1 error occurred:\n\t* name is already used (uniqueness_error, 0000000000000006)\n\n\n",
    failure: { code: "uniqueness_error", message: "name is already used", retry: "backoff" },
  },
  {
    what: "invalid input with its fields, in the log",
    text: "  sdk-v2/provider2.go:571: sdk.helper_schema: invalid input in field 'health_check' (invalid_input, 0000000000000004): [health_check.interval => [Must be between 3 and 60.]]: provider=hcloud@1.41.0\n",
    failure: {
      code: "invalid_input",
      message: "invalid input in field 'health_check': health_check.interval: Must be between 3 and 60.",
      retry: "never",
    },
  },
  {
    what: "invalid input with its fields, in the report",
    text: "1 error occurred:\n\t* invalid gateway (invalid_input, 000000000000000e): [gateway => [invalid gateway]]\n\n\n",
    failure: { code: "invalid_input", message: "invalid gateway: gateway: invalid gateway", retry: "never" },
  },
  {
    what: "an error on deletion",
    text: "deleting urn:pulumi:t::lotse::lotse:index:LoadBalancer$hcloud:index/loadBalancer:LoadBalancer::load-balancer/default/web@0c7e1a529d3b#balancer: 1 error occurred:\n\t* load balancer deletion is protected (protected, 0000000000000015)\n\n\n",
    failure: { code: "protected", message: "load balancer deletion is protected", retry: "never" },
  },
  {
    what: "an error of the plugin's newer half, in the log",
    text: "[ERROR] An unexpected error was encountered during an API request.\n\nnetwork with ID '99' not found (not_found, 0000000000000009)\n\nError code: not_found\nStatus code: 404\n: API request failed\n",
    failure: { code: "not_found", message: "network with ID '99' not found", retry: "backoff" },
  },
  {
    what: "an error of the plugin's newer half, in the report",
    text: "API request failed: An unexpected error was encountered during an API request.\n\nIP not available (ip_not_available, 000000000000000c)\n\nError code: ip_not_available\nStatus code: 422\n\n",
    failure: { code: "ip_not_available", message: "IP not available", retry: "backoff" },
  },
  {
    what: "a stack that another command works on",
    text: "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock file with `pulumi cancel`.\n  file:///dev/backend/.pulumi/locks/organization/lotse-dev-env/dev/b1.json?no_tmp_dir=true: created by me@here (pid 10617) at 2026-11-19T23:10:01Z",
    failure: { code: "engine", message: expect.stringMatching(/^the stack is currently locked by /), retry: "backoff" },
  },
  {
    what: "an error that the plugin finds itself",
    text: "  sdk-v2/provider2.go:571: sdk.helper_schema: server 999: not found: provider=hcloud@1.41.0\n",
    failure: { code: "engine", message: "server 999: not found", retry: "backoff" },
  },
];

describe("parseFailure", () => {
  it.each(REAL)("parses $what", ({ text, failure }) => {
    expect(parseFailure(text)).toEqual(failure);
  });

  it.each([
    [
      "the command line's own words around it",
      "error: 1 error occurred:\n\t* invalid input in field 'x' (invalid_input, 9f2c4d)",
      "invalid_input",
      "invalid input in field 'x'",
    ],
    ["no correlation", "error: cannot do it (conflict)", "conflict", "cannot do it"],
    ["colours", "<{%fg 1%}>error: <{%reset%}>busy (locked, 1)", "locked", "busy"],
    [
      "parentheses in the message",
      "type (lb11) is full (resource_limit_exceeded, 1)",
      "resource_limit_exceeded",
      "type (lb11) is full",
    ],
    ["the URN in front", "creating urn:pulumi:a::b::c::d: it is busy (conflict)", "conflict", "it is busy"],
    ["the last of several", "2 errors occurred:\n\t* first (conflict, 1)\n\t* second (locked, 2)", "locked", "second"],
  ])("finds code and message through %s", (_, text, code, message) => {
    expect(parseFailure(text)).toMatchObject({ code, message });
  });

  it.each([
    ["", "the engine failed without an error message"],
    ["\n \n", "the engine failed without an error message"],
    ["1 error occurred:\n\n", "the engine failed without an error message"],
    ["error: could not load plugin (see the log)", "could not load plugin (see the log)"],
    ["the end (of it) came", "the end (of it) came"],
  ])("attributes %j to the engine itself", (text, message) => {
    expect(parseFailure(text)).toEqual({ code: "engine", message, retry: "backoff" });
  });
});

describe("failureOf", () => {
  it.each([
    ["invalid_input", "never"],
    ["protected", "never"],
    ["unauthorized", "never"],
    ["conflict", "soon"],
    ["locked", "soon"],
    ["rate_limit_exceeded", "soon"],
    ["unavailable", "soon"],
    ["uniqueness_error", "backoff"],
    ["something_new", "backoff"],
  ])("retries %s: %s", (code, retry) => {
    expect(failureOf(code, "m")).toEqual({ code, message: "m", retry });
  });
});

it("removes colour directives and nothing else", () => {
  expect(stripMarkup("<{%fg 1%}>a<{%reset%}> 100% <b>")).toBe("a 100% <b>");
});
