import { expect, it, vi } from "vitest";
import { openReports } from "../../../../controller/app/assemble.ts";
import { loadConfig } from "../../../../controller/config/config.ts";
import { type PendingStep, withApprovals } from "../../../../controller/guard/approval.ts";
import type { KubeClient } from "../../../../controller/kube/client.ts";
import { aborted } from "../../../../controller/work/clock.ts";
import { aLog } from "../../../support/log.ts";

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
  const step: PendingStep = { id: "1", unit: "u", object: "", at: "", summary: "", text: [] };
  const published = { "step.1": JSON.stringify(step) };
  show(published);
  expect(wake).toHaveBeenCalledTimes(0);
  show(withApprovals(published, ["1"], "ann"));
  expect(wake).toHaveBeenCalledTimes(1);
  show({}); // the approval is used up
  expect(wake).toHaveBeenCalledTimes(1);
});
