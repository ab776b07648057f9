import { describe, expect, it } from "vitest";
import { insertKeys } from "../../../controller/certificate/private-keys.ts";

const insert = insertKeys(new Map([["web", "THE KEY"]]));
const upload = (fields: object) => ({ method: "POST", path: "/certificates", body: JSON.stringify(fields) });
const PLACEHOLDER = "held by the controller";

describe("private keys", () => {
  it("join the certificate that they belong to", () => {
    const { body } = insert(upload({ name: "web", certificate: "PEM", private_key: PLACEHOLDER }));
    expect(JSON.parse(body ?? "")).toEqual({ name: "web", certificate: "PEM", private_key: "THE KEY" });
  });

  it.each([
    ["another certificate", upload({ name: "other", private_key: PLACEHOLDER })],
    ["one that brings a key of its own", upload({ name: "web", private_key: "another key" })],
    ["a managed one", upload({ name: "web", type: "managed", domain_names: ["example.com"] })],
    ["another request", { method: "PUT", path: "/certificates/1", body: '{"name":"web"}' }],
    ["a request without a body", { method: "POST", path: "/certificates" }],
  ])("are in no request for %s", (_, request) => {
    expect(insert(request)).toBe(request);
  });
});
