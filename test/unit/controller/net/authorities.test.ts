import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ConfigError } from "../../../../controller/diagnostics/errors.ts";
import { trustAuthorities } from "../../../../controller/net/authorities.ts";
import { Authority } from "../../../../dev-env/cluster/certificates.ts";

let dir: string;
let usual: readonly string[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "lotse-authorities-"));
  usual = getCACertificates("default");
});
afterEach(() => {
  setDefaultCACertificates([...usual]);
  rmSync(dir, { recursive: true });
});

const [ONE, TWO] = [new Authority("one").certificate, new Authority("two").certificate];
const write = (name: string, text: string) => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};
const body = (pem: string) => pem.replaceAll(/\s/g, "");
const added = () => {
  const before = new Set(usual.map(body));
  return getCACertificates("default")
    .map(body)
    .filter((pem) => !before.has(pem));
};

it("trusts every certificate of a file in addition to the default ones, even when called repeatedly", () => {
  const file = write("bundle.pem", `# ours\n${ONE}\n# theirs\n${TWO}`);
  trustAuthorities({ SSL_CERT_FILE: file });
  trustAuthorities({ SSL_CERT_FILE: file });
  expect(added().toSorted()).toEqual([ONE, TWO].map(body).toSorted());
});

it("trusts those in directories, whatever else they contain", () => {
  for (const folder of ["a", "b"]) mkdirSync(join(dir, folder));
  write("a/one.pem", ONE);
  write("a/README", "nothing");
  write("a/broken.pem", ONE.replace(/\n.{20}/, "\nAAAAAAAAAAAAAAAAAAAA"));
  write("b/two.crt", TWO);
  mkdirSync(join(dir, "b", "more"));
  trustAuthorities({ SSL_CERT_DIR: `${join(dir, "a")}:${join(dir, "b")}` });
  expect(added().toSorted()).toEqual([ONE, TWO].map(body).toSorted());
});

it("changes nothing when no variable is set", () => {
  trustAuthorities({ SSL_CERT_FILE: "", SSL_CERT_DIR: "" });
  expect(added()).toEqual([]);
});

it.each([
  ["SSL_CERT_FILE", "missing.pem", /^SSL_CERT_FILE: ENOENT/],
  ["SSL_CERT_FILE", "empty.pem", /^SSL_CERT_FILE: .*empty\.pem contains no certificate$/],
  ["SSL_CERT_FILE", "broken.pem", /^SSL_CERT_FILE: .*broken\.pem contains an unreadable certificate: /],
  ["SSL_CERT_DIR", "missing", /^SSL_CERT_DIR: ENOENT/],
])("%s that names %s is a mistake", (variable, name, message) => {
  write("empty.pem", "");
  write("broken.pem", ONE.replace(/\n.{20}/, "\nAAAAAAAAAAAAAAAAAAAA"));
  const attempt = () => trustAuthorities({ [variable]: join(dir, name) });
  expect(attempt).toThrow(ConfigError);
  expect(attempt).toThrow(message);
});
