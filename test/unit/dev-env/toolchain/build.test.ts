import { expect, it } from "vitest";
import { explainBuildFailure } from "../../../../dev-env/toolchain/build.ts";
import { thisHost } from "../../../../dev-env/toolchain/host.ts";
import { toolNamed } from "./fake-machine.ts";

const etcd = toolNamed("etcd");

it.each([
  {
    code: "go-too-old",
    output: "go: go.mod requires go >= 1.26.6 (running go 1.24.1; GOTOOLCHAIN=local)",
    says: "requires Go 1.26.6, but this is Go 1.24.1",
  },
  {
    code: "modules-unreachable",
    output: 'go: example.com/a@v1.0.0: Get "https://proxy.invalid/a": dial tcp: lookup proxy.invalid: no such host',
    says: "Check the network and GOPROXY",
  },
  {
    code: "modules-unreachable",
    output: "go: example.com/a@v1.0.0: reading https://proxy.invalid/a.zip: 403 Forbidden",
    says: "403 Forbidden",
  },
  {
    code: "disk-full",
    output: "go: downloading example.com/a v1.0.0\nwrite /x: no space left on device",
    says: "the disk is full",
  },
  { code: "compile-failed", output: "# pkg\nmain.go:3:1: undefined: x\n", says: "main.go:3:1: undefined: x" },
])("explains $code from the output of go", ({ code, output, says }) => {
  const error = explainBuildFailure(etcd, output);
  expect(error.code).toBe(code);
  expect(error.message).toContain(`could not build etcd ${etcd.version}: `);
  expect(error.message).toContain(says);
  expect(error.message).not.toContain("go: downloading");
});

it("quotes only the end of a long compiler output", () => {
  const output = Array.from({ length: 500 }, (_, line) => `main.go:${line}: wrong`).join("\n");
  const { message } = explainBuildFailure(etcd, output);
  expect(message.split("\n")).toHaveLength(16);
  expect(message).toContain("main.go:499");
});

it("collects both streams of a program that fails", async () => {
  const script = "process.stdout.write('out'); process.stderr.write('err'); process.exitCode = 3";
  expect(await thisHost.run(process.execPath, ["-e", script])).toEqual({ kind: "failed", output: "outerr" });
});

it("returns the reason if a program does not start", async () => {
  const output = "spawn /does/not/exist ENOENT";
  expect(await thisHost.run("/does/not/exist", [])).toEqual({ kind: "not-started", output });
});
