import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { renderControlPlane, renderWorker } from "../../../../dev-env/k3s/cloud-init.ts";
import { makeSecrets } from "../../../../dev-env/k3s/secrets.ts";

const secrets = makeSecrets("dev");
const controlPlane = renderControlPlane({ k3sChannel: "stable", secrets });
const worker = renderWorker({ k3sChannel: "v1.34", secrets, index: 2, controlPlaneId: "4711" });

/** A document, with its files by path. */
function read(text: string) {
  const { write_files: list, ...rest } = parse(text);
  const files = new Map<string, { content: string; permissions: string }>();
  for (const { path, ...file } of list) files.set(path, file);
  const config = parse(files.get("/etc/rancher/k3s/config.yaml")?.content ?? "");
  return { ...rest, files, config, script: files.get("/usr/local/sbin/install-k3s")?.content ?? "" };
}

describe("the first boot of the control plane", () => {
  it("is a cloud-config document: cloud-init looks at the first line", () => {
    expect(controlPlane.split("\n", 1)).toEqual(["#cloud-config"]);
  });

  it("gives k3s the arguments that leave cloud, network, ingress and storage to others", () => {
    expect(read(controlPlane).config).toEqual({
      token: secrets.k3sToken,
      "cluster-cidr": "10.244.0.0/16",
      "disable-cloud-controller": true,
      disable: ["traefik", "servicelb", "local-storage"],
      "flannel-backend": "none",
      "disable-network-policy": true,
      "kubelet-arg": ["cloud-provider=external"],
      "node-ip": "10.0.0.2",
      "advertise-address": "10.0.0.2",
    });
  });

  it("has the host key that we pin, and no way in by password", () => {
    const { ssh_keys, ssh_deletekeys, ssh_pwauth } = read(controlPlane);
    expect(ssh_keys).toEqual({
      ed25519_private: secrets.hostKey.privateKey,
      ed25519_public: secrets.hostKey.publicKey,
    });
    expect({ ssh_deletekeys, ssh_pwauth }).toEqual({ ssh_deletekeys: true, ssh_pwauth: false });
  });

  it("keeps the token from other users of the machine, and never holds the key that opens it", () => {
    const { files } = read(controlPlane);
    expect(files.get("/etc/rancher/k3s/config.yaml")?.permissions).toBe("0600");
    expect(controlPlane).not.toContain(secrets.sshKey.privateKey.split("\n")[3]);
  });

  it("fits into what the API takes as user data", () => {
    expect(Buffer.byteLength(controlPlane)).toBeLessThan(32 * 1024);
  });
});

describe("the first boot of a worker", () => {
  it("joins over the private network", () => {
    expect(read(worker).config).toEqual({
      server: "https://10.0.0.2:6443",
      token: secrets.k3sToken,
      "kubelet-arg": ["cloud-provider=external"],
      "node-ip": "10.0.0.12",
    });
  });

  it("does not hold the control plane's host key", () => {
    expect(read(worker).ssh_keys).toBeUndefined();
  });

  it("is another one when the control plane is another", () => {
    const other = renderWorker({ k3sChannel: "v1.34", secrets, index: 2, controlPlaneId: "4712" });
    expect(other).not.toBe(worker);
  });
});

/** Runs an install script in a folder of its own, with programs in place of the machine's that note what they are told. */
function runScript(script: string, addresses: readonly string[], installerExits = 0) {
  const root = mkdtempSync(join(tmpdir(), "lotse-boot-"));
  try {
    const bin = join(root, "bin");
    mkdirSync(bin);
    const program = (name: string, body: string) =>
      writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
    // The address appears on the second look, as on a machine whose network comes up late.
    program(
      "ip",
      `echo x >> ${root}/looks; [ "$(wc -l < ${root}/looks)" -gt 1 ] && printf '%s\\n' ${addresses.map((it) => `'${it}'`).join(" ")}`,
    );
    program("sleep", "exit 0");
    program(
      "curl",
      `case "$*" in *public-ipv4*) echo 203.0.113.7 ;; *) while [ "$1" != -o ]; do shift; done; printf '%s\\n' 'echo "$INSTALL_K3S_CHANNEL $*" > ${root}/installed; exit ${installerExits}' > "$2" ;; esac`,
    );
    const text = script
      .replaceAll("/etc/rancher", `${root}/etc`)
      .replaceAll("/run/", `${root}/`)
      .replace("-gt 120", "-gt 3");
    const { status, stderr } = spawnSync("sh", ["-c", text], {
      env: { PATH: `${bin}:/usr/bin:/bin` },
      encoding: "utf8",
    });
    const file = (name: string) => {
      try {
        return readFileSync(join(root, name), "utf8").trim();
      } catch {
        return undefined;
      }
    };
    return { status, stderr, installed: file("installed"), settings: file("etc/k3s/config.yaml.d/public.yaml") };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

describe("the script that installs k3s", () => {
  const interfaces = (ip: string) => [
    "1: lo    inet 127.0.0.1/8 scope host lo",
    `3: enp7s0    inet ${ip}/32 scope global`,
  ];

  it("waits for the private network, tells k3s the public address, and installs a server", () => {
    const { status, installed, settings } = runScript(read(controlPlane).script, interfaces("10.0.0.2"));
    expect(status).toBe(0);
    expect(installed).toBe("stable server");
    expect(parse(settings ?? "")).toEqual({ "node-external-ip": "203.0.113.7", "tls-san": ["203.0.113.7"] });
  });

  it("installs an agent on workers, from the channel that was asked for", () => {
    const { status, installed, settings } = runScript(read(worker).script, interfaces("10.0.0.12"));
    expect(status).toBe(0);
    expect(installed).toBe("v1.34 agent");
    expect(parse(settings ?? "")).toEqual({ "node-external-ip": "203.0.113.7" });
  });

  it("gives up on a machine without private network, and does not take 10.0.0.20 for 10.0.0.2", () => {
    const { status, stderr, installed } = runScript(read(controlPlane).script, interfaces("10.0.0.20"));
    expect(status).toBe(1);
    expect(stderr).toContain("10.0.0.2 is on no interface");
    expect(installed).toBeUndefined();
  });

  it("fails when the installer does", () => {
    expect(runScript(read(controlPlane).script, interfaces("10.0.0.2"), 3).status).toBe(3);
  });
});
