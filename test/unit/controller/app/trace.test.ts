import { expect, it } from "vitest";
import { traced } from "../../../../controller/hcloud/exchange.ts";

const answer = (body: string) => ({ status: 201, headers: {}, body });

it("HCCM E3: shows the complete request and response", () => {
  const request = { method: "POST", path: "/load_balancers", body: '{"name":"a"}' };
  expect(traced(request, answer('{"load_balancer":{"id":1}}'))).toEqual({
    method: "POST",
    path: "/load_balancers",
    sent: { name: "a" },
    status: 201,
    answer: { load_balancer: { id: 1 } },
  });
});

it.each(["private_key", "root_password", "user_data"])("HCCM E3: never shows a %s, however deep", (field) => {
  const body = JSON.stringify({ certificate: [{ [field]: "s3cret" }] });
  const shown = JSON.stringify(traced({ method: "POST", path: "/certificates", body }, answer(body)));
  expect(shown).not.toContain("s3cret");
  expect(shown).toContain("[Redacted]");
});

it("leaves out a body that is not JSON", () => {
  expect(traced({ method: "GET", path: "/x" }, answer("<html>s3cret")).answer).toBe("12 characters that are not JSON");
  expect(traced({ method: "DELETE", path: "/x" }, answer("")).answer).toBe("");
});
