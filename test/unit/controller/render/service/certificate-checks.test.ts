import { describe, expect, it } from "vitest";
import { certificateProblems } from "../../../../../controller/render/service/checks.ts";
import { parseSettings } from "../../../../../controller/render/service/options/settings.ts";
import { aService } from "../../../../support/builders.ts";

type Annotations = Readonly<Record<string, string>>;
const PREFIX = "load-balancer.hetzner.cloud/";
const MANAGED = { "certificate-type": "managed", "http-managed-certificate-domains": "example.com" };

/** What is found wrong with a Service on these ports: the port, the option, and the words. */
function problems(annotations: Annotations, ports: readonly number[] = [443], readsSecrets = true) {
  const { metadata, spec } = aService({ annotations, ports });
  const settings = parseSettings(metadata?.annotations ?? {}, spec?.ports ?? [], {});
  return certificateProblems(settings, readsSecrets).map(({ port, options, message }) => [port, options, message]);
}

describe("what an https port presents", () => {
  it.each<[string, Annotations]>([
    ["no https at all", {}],
    ["http, which presents nothing", { protocol: "http" }],
    ["certificates by name", { protocol: "https", "http-certificates": "web" }],
    ["a managed one", { protocol: "https", ...MANAGED }],
    ["a managed one for later, with another protocol", { protocol: "tcp", ...MANAGED }],
    ["a Secret", { protocol: "https", "tls-secret": "tls" }],
    ["a Secret beside a managed one", { protocol: "https", "tls-secret": "tls", ...MANAGED }],
    ["an invalid value, which is reported elsewhere", { protocol: "https", "http-certificates": "a\u0000b" }],
    ["a type that cannot be read", { protocol: "https", "certificate-type": "manged" }],
  ])("is enough: %s", (_, annotations) => expect(problems(annotations)).toEqual([]));

  const needs = `https requires a certificate: set ${PREFIX}http-certificates, ${PREFIX}certificate-type to managed, or ${PREFIX}tls-secret`;
  it.each<[string, Annotations, string, string]>([
    ["nothing", { protocol: "https" }, "protocol", `annotation ${PREFIX}protocol: ${needs}`],
    [
      "an empty list",
      { protocol: "https", "http-certificates": " , " },
      "protocol",
      `annotation ${PREFIX}protocol: ${needs}`,
    ],
    [
      "a managed one for no domains, also when names are given that do not count then",
      { protocol: "https", "certificate-type": "managed", "http-certificates": "web" },
      "certificateType",
      `annotation ${PREFIX}certificate-type: managed requires ${PREFIX}http-managed-certificate-domains`,
    ],
  ])("is not enough: %s", (_, annotations, option, message) => {
    expect(problems(annotations)).toEqual([[443, [option], message]]);
  });

  it("can be a Secret only where Secrets are read, and that is the only mistake reported", () => {
    const message = `annotation ${PREFIX}tls-secret: Secrets in this namespace are not read: set LOTSE_TLS_SECRETS to true or add the namespace to it, and allow the controller to list and watch Secrets`;
    expect(problems({ protocol: "https", "tls-secret": "tls" }, [443], false)).toEqual([
      [443, ["tlsSecrets"], message],
    ]);
  });

  it("is checked for each port separately", () => {
    const annotations = { protocol: "https", "443.http-certificates": "web" };
    expect(problems(annotations, [443, 8443]).map(([port]) => port)).toEqual([8443]);
  });
});
