/** Opens what the controller keeps beside its work: the record of changes, its status, and the plan that waits for approval. */
import { join } from "node:path";
import { ApprovalGate } from "./cluster/approval-gate.ts";
import type { Config } from "./config.ts";
import type { KubeClient } from "./kube/client.ts";
import { OwnConfigMap } from "./kube/config-map.ts";
import { Informer } from "./kube/informer.ts";
import type { Logger } from "./log.ts";
import { AuditRecord } from "./record/record.ts";
import { StatusBoard } from "./record/status-board.ts";

export function openReports(config: Config, client: KubeClient, log: Logger, ends: AsyncDisposableStack) {
  const file = config.auditFile ?? (config.workDir && join(config.workDir, "audit.jsonl"));
  const record = new AuditRecord({ map: new OwnConfigMap(client, config, "audit"), log, ...(file && { file }) });
  ends.defer(() => record.stop());
  const board = new StatusBoard({ map: new OwnConfigMap(client, config, "status"), log });
  ends.defer(() => board.stop());
  if (config.approval === "none") return { record, board };
  const map = new OwnConfigMap(client, config, "plan");
  /** Calls back when somebody has written to the published plan: it may have been approved. */
  const watchPlan = (onChange: () => void) => {
    const watch = new Informer({ client, path: map.watchPath, log, onChange });
    ends.defer(() => watch.stop());
    void watch.start();
  };
  return { record, board, approvals: new ApprovalGate({ mode: config.approval, map, log }), watchPlan };
}
