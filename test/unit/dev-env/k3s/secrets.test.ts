import ssh2 from "ssh2";
import { describe, expect, it, vi } from "vitest";
import { makeSecrets } from "../../../../dev-env/k3s/secrets.ts";

describe("an environment's secrets", () => {
  const secrets = makeSecrets("dev");

  it.each(["sshKey", "hostKey"] as const)("has an ed25519 key pair in OpenSSH's formats as %s", (name) => {
    const { publicKey, privateKey } = secrets[name];
    expect(publicKey).toMatch(/^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5[\w+/=]+ dev/);
    expect(privateKey).toMatch(/^-----BEGIN OPENSSH PRIVATE KEY-----\n/);
    const parsed = ssh2.utils.parseKey(privateKey);
    if (parsed instanceof Error) throw parsed;
    expect(parsed.getPublicSSH().toString("base64")).toBe(publicKey.split(" ")[1]);
  });

  it("does not use a key that the library made one byte too short", () => {
    const short = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAH7rtGA1ip4UCLHxM95XkBskrdhJpvK6J1goJwKKzltM= dev";
    using generate = vi.spyOn(ssh2.utils, "generateKeyPairSync");
    generate.mockReturnValueOnce({ public: short, private: "" });
    expect(makeSecrets("dev").sshKey.publicKey).not.toBe(short);
  });

  it("is never the same twice, and nothing in it is used for two purposes", () => {
    const all = [secrets, makeSecrets("dev")].flatMap(({ sshKey, hostKey, k3sToken, passphrase }) => [
      sshKey.privateKey,
      hostKey.privateKey,
      k3sToken,
      passphrase,
    ]);
    expect(new Set(all).size).toBe(8);
  });

  it("has a token that needs no quoting in YAML or a shell, and is long enough", () => {
    expect(secrets.k3sToken).toMatch(/^[0-9a-f]{64}$/);
    expect(secrets.passphrase).toMatch(/^[\w-]{43}$/);
  });
});
