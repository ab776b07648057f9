import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:tls";
import { expect, it } from "vitest";
import { Authority } from "../../../../dev-env/cluster/certificates.ts";

const authority = new Authority("test authority");
const ca = new X509Certificate(authority.certificate);

it("creates a self-signed authority", () => {
  expect(ca.ca).toBe(true);
  expect(ca.verify(ca.publicKey)).toBe(true);
  expect(ca.subject).toBe("CN=test authority");
});

it("encodes user and groups as the API server expects", () => {
  const { certificate, key } = authority.issue(
    { commonName: "system:node:n1", organizations: ["system:nodes", "überall"] },
    { kind: "client" },
  );
  const parsed = new X509Certificate(certificate);
  expect(parsed.subject).toBe("O=system:nodes\nO=überall\nCN=system:node:n1");
  expect(parsed.checkIssued(ca)).toBe(true);
  expect(parsed.verify(ca.publicKey)).toBe(true);
  expect(parsed.checkPrivateKey(createPrivateKey(key))).toBe(true);
  expect(parsed.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
});

it("includes the hosts of a server certificate", () => {
  const hosts = ["127.0.0.1", "localhost"];
  const { certificate } = authority.issue({ commonName: "server" }, { kind: "server", hosts });
  const parsed = new X509Certificate(certificate);
  expect(parsed.checkIP("127.0.0.1")).toBe("127.0.0.1");
  expect(parsed.checkHost("localhost")).toBe("localhost");
  expect(parsed.checkIP("10.0.0.1")).toBeUndefined();
});

it("gives every certificate a unique serial number and a current validity", () => {
  const certificates = Array.from({ length: 50 }, () => authority.issue({ commonName: "x" }, { kind: "client" }));
  const parsed = certificates.map(({ certificate }) => new X509Certificate(certificate));
  expect(new Set(parsed.map(({ serialNumber }) => serialNumber)).size).toBe(50);
  expect(Date.parse(parsed[0]?.validFrom ?? "")).toBeLessThan(Date.now());
  expect(Date.parse(parsed[0]?.validTo ?? "")).toBeGreaterThan(Date.now());
});

it("is accepted by both sides of a TLS connection", async () => {
  const serverSide = authority.issue({ commonName: "server" }, { kind: "server", hosts: ["127.0.0.1"] });
  const clientSide = authority.issue({ commonName: "someone" }, { kind: "client" });
  const server = createServer({
    ca: authority.certificate,
    cert: serverSide.certificate,
    key: serverSide.key,
    requestCert: true,
  });
  server.on("secureConnection", (socket) => socket.end(String(socket.getPeerCertificate().subject.CN)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const socket = connect({
    host: "127.0.0.1",
    port,
    ca: authority.certificate,
    cert: clientSide.certificate,
    key: clientSide.key,
  });
  const [greeting] = await once(socket, "data");
  expect(String(greeting)).toBe("someone");
  server.close();
});
