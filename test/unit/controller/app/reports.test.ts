import { expect, it, vi } from "vitest";
import { openReports } from "../../../../controller/app/assemble.ts";
import { loadConfig } from "../../../../controller/config/config.ts";
import { KubeError } from "../../../../controller/diagnostics/errors.ts";
import { type PendingStep, withApprovals } from "../../../../controller/guard/approval.ts";
import type { KubeClient } from "../../../../controller/kube/client.ts";
import { aborted } from "../../../../controller/work/clock.ts";
import { aLog } from "../../../support/log.ts";

const STEP: PendingStep = { id: "1", unit: "u", object: "", at: "", summary: "", text: [] };
const PUBLISHED = { "step.1": JSON.stringify(STEP) };

it.each<[string, Readonly<Record<string, string>> | undefined, readonly object[]]>([
  ["a plan with changes that waited, and with approvals", withApprovals(PUBLISHED, ["1"], "ann"), [{}]],
  ["an empty plan", {}, []],
  ["no plan", undefined, []],
])("a controller that needs no approval leaves nothing of %s", async (_, data, written) => {
  await using ends = new AsyncDisposableStack();
  const writes: unknown[] = [];
  const write = async <T>(_path: string, body: unknown) => {
    writes.push((body as { data: unknown }).data);
    return {} as T;
  };
  const client: Pick<KubeClient, "get" | "create" | "replace"> = {
    get: async <T>(path: string) => {
      if (!data) throw new KubeError(`GET ${path}`, 404, "not found");
      return { metadata: { resourceVersion: "1" }, data } as T;
    },
    create: write,
    replace: write,
  };
  const config = loadConfig({}, { HCLOUD_TOKEN: "t".repeat(64) });
  const { approvals } = openReports(config, client as KubeClient, aLog().log, ends);
  await approvals?.pass({ plan: [] }, async () => []);
  expect(writes).toEqual(written);
});

it("an approval wakes the loop, and the controller's own changes of the plan do not", async () => {
  await using ends = new AsyncDisposableStack();
  let show = (_: Readonly<Record<string, string>>) => {};
  const client: Pick<KubeClient, "get" | "watch"> = {
    get: async <T>() => ({ metadata: { resourceVersion: "1" }, items: [] }) as T,
    watch: async <T>(_: string, __: unknown, { signal, onEvent }: Parameters<KubeClient["watch"]>[2]) => {
      let version = 1;
      show = (data) => {
        version += 1;
        onEvent({ type: "MODIFIED", object: { metadata: { name: "plan", resourceVersion: `${version}` }, data } as T });
      };
      await aborted(signal);
    },
  };
  const config = loadConfig({ approval: "manual" }, { HCLOUD_TOKEN: "t".repeat(64) });
  const reports = openReports(config, client as KubeClient, aLog().log, ends);
  const wake = vi.fn();
  reports.watchPlan?.(wake);
  await vi.waitFor(() => expect(show.length).toBe(1));
  await new Promise(setImmediate);
  show(PUBLISHED);
  expect(wake).toHaveBeenCalledTimes(0);
  show(withApprovals(PUBLISHED, ["1"], "ann"));
  expect(wake).toHaveBeenCalledTimes(1);
  show({}); // the approval is used up
  expect(wake).toHaveBeenCalledTimes(1);
});
