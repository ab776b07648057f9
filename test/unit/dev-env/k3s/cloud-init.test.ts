import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type MachineOptions, renderCloudInit } from "../../../../dev-env/k3s/cloud-init.ts";
import { makeSecrets } from "../../../../dev-env/k3s/secrets.ts";
import { type Choices, parseSettings } from "../../../../dev-env/k3s/settings.ts";

const secrets = makeSecrets("dev");
const { k3sToken, hostKey } = secrets;

function boot(machine: Partial<MachineOptions>, choices: Choices = {}): string {
  const settings = parseSettings(choices);
  const first = { role: "control-plane", pool: "control-plane", index: 1, ip: "10.0.0.2", apiIp: "10.0.0.2" } as const;
  return renderCloudInit({ ...first, settings, k3sToken, hostKey: hostKey.privateKey, ...machine });
}

const WORKER = { role: "worker", pool: "worker", index: 2, ip: "10.0.0.12", controlPlaneId: 4711 } as const;
const BALANCED = { apiIp: "10.0.0.9", apiPublicIp: "192.0.2.9" };
const THREE = { controlPlanes: "3" };
const controlPlane = boot({});
const worker = boot(WORKER, { k3sChannel: "v1.34" });

/** A document, with its files by path. */
function read(text: string) {
  const { write_files: list, ...rest } = parse(text);
  const files = new Map<string, { content: string; permissions: string }>();
  for (const { path, ...file } of list) files.set(path, file);
  const config = parse(files.get("/etc/rancher/k3s/config.yaml")?.content ?? "");
  return { ...rest, files, config, script: files.get("/usr/local/sbin/install-k3s")?.content ?? "" };
}

describe("the first boot of the control plane", () => {
  it("is a cloud-config document: cloud-init reads the first line", () => {
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
      ed25519_private: hostKey.privateKey,
      ed25519_public: hostKey.publicKey.split(" ").slice(0, 2).join(" "),
    });
    expect({ ssh_deletekeys, ssh_pwauth }).toEqual({ ssh_deletekeys: true, ssh_pwauth: false });
  });

  it("keeps the token from other users of the machine, and never holds the key that opens it", () => {
    const { files } = read(controlPlane);
    expect(files.get("/etc/rancher/k3s/config.yaml")?.permissions).toBe("0600");
    expect(controlPlane).not.toContain(secrets.sshKey.privateKey.split("\n")[3]);
  });

  it("fits into the API's limit of user data", () => {
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

  it("differs for another control plane", () => {
    expect(boot({ ...WORKER, controlPlaneId: 4712 }, { k3sChannel: "v1.34" })).not.toBe(worker);
  });

  it("has the labels and taints of its pool", () => {
    const pools = "[{name: gpu, count: 1, labels: {gpu: yes, tier: a}, taints: [gpu=yes:NoSchedule]}]";
    expect(read(boot({ ...WORKER, pool: "gpu" }, { pools })).config).toMatchObject({
      "node-label": ["gpu=yes", "tier=a"],
      "node-taint": ["gpu=yes:NoSchedule"],
    });
  });
});

describe("the first boot with three control planes", () => {
  it.each(["control-plane", "worker"] as const)("joins through the load balancer: %s", (role) => {
    const { config } = read(boot({ ...WORKER, role, ...BALANCED }, THREE));
    expect(config.server).toBe("https://10.0.0.9:6443");
  });

  it("leaves it to the first control plane when it boots whether to start a cluster", () => {
    expect(read(boot(BALANCED, THREE)).config).not.toHaveProperty("server");
  });

  it("generates host keys if it is given none", () => {
    expect(read(boot({ hostKey: undefined })).ssh_keys).toBeUndefined();
  });
});

/** Runs an install script in a folder of its own, with programs in place of the machine's that record their arguments. */
function runScript(
  script: string,
  addresses: readonly string[],
  { installerExits = 0, failures = 0, isServed = false } = {},
) {
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
      `case "$*" in *public-ipv4*) echo 203.0.113.7 ;; */ping*) exit ${isServed ? 0 : 7} ;; *) while [ "$1" != -o ]; do shift; done; printf '%s\\n' 'echo x >> ${root}/runs; [ "$(wc -l < ${root}/runs)" -gt ${failures} ] || exit 1; echo "$INSTALL_K3S_CHANNEL $*" > ${root}/installed; exit ${installerExits}' > "$2" ;; esac`,
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
    return { status, stderr, installed: file("installed"), settings: file("etc/k3s/config.yaml.d/boot.yaml") };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

describe("the script that installs k3s", () => {
  const interfaces = (ip: string) => [
    "1: lo    inet 127.0.0.1/8 scope host lo",
    `3: enp7s0    inet ${ip}/32 scope global`,
  ];

  it("waits for the private network, passes the public address to k3s, and installs a server", () => {
    // A single control plane starts its cluster whatever answers at its address.
    const { script } = read(controlPlane);
    const { status, installed, settings } = runScript(script, interfaces("10.0.0.2"), { isServed: true });
    expect(status).toBe(0);
    expect(installed).toBe("stable server");
    expect(parse(settings ?? "")).toEqual({ "node-external-ip": "203.0.113.7", "tls-san": ["203.0.113.7"] });
  });

  it.each([
    ["starts a cluster if no API answers", false, { "cluster-init": true }],
    [
      "joins the cluster whose API answers, as a replaced first control plane must",
      true,
      { server: "https://10.0.0.9:6443" },
    ],
  ])("%s", (_, isServed, expected) => {
    const { status, settings } = runScript(read(boot(BALANCED, THREE)).script, interfaces("10.0.0.2"), { isServed });
    expect(status).toBe(0);
    const names = ["203.0.113.7", "10.0.0.9", "192.0.2.9"];
    expect(parse(settings ?? "")).toEqual({ "node-external-ip": "203.0.113.7", "tls-san": names, ...expected });
  });

  it.each([
    ["joins once the first control plane answers", true, { status: 0, installed: "stable server" }],
    ["gives up on a first control plane that never answers", false, { status: 7, installed: undefined }],
  ])("%s, as a further one", (_, isServed, expected) => {
    const { script } = read(boot({ ...BALANCED, index: 2, ip: "10.0.0.3" }, THREE));
    expect(runScript(script, interfaces("10.0.0.3"), { isServed })).toMatchObject(expected);
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

  it("runs the installer again if its own downloads failed", () => {
    const { status, installed } = runScript(read(worker).script, interfaces("10.0.0.12"), { failures: 2 });
    expect({ status, installed }).toEqual({ status: 0, installed: "v1.34 agent" });
  });

  it("fails when the installer does", () => {
    expect(runScript(read(controlPlane).script, interfaces("10.0.0.2"), { installerExits: 3 }).status).toBe(3);
  });
});
