import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseStatus, StatusBoard } from "../../../../controller/record/status-board.ts";
import { aLog } from "../../../support/log.ts";

function aBoard() {
  const written: string[] = [];
  const state = { isAway: false };
  const { log, lines } = aLog();
  const update = async (change: (data: Readonly<Record<string, string>>) => Readonly<Record<string, string>>) => {
    if (state.isAway) throw new Error("away");
    written.push(change({}).status ?? "");
  };
  return { board: new StatusBoard({ map: { update }, log }), written, lines, state };
}

describe("the status board", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is written once per change", async () => {
    const { board, written } = aBoard();
    board.report({ refused: [] });
    board.report({ refused: [], waiting: 1 });
    await vi.advanceTimersByTimeAsync(1_000);
    board.report({ refused: [], waiting: 1 });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(written.map(parseStatus)).toEqual([{ refused: [], waiting: 1 }]);
  });

  it("fits into a ConfigMap, and one object with too much to say hides no other", async () => {
    const { board, written } = aBoard();
    const refused = [
      { object: "Service a/huge", mistakes: ["x".repeat(600_000)] },
      { object: "Service b/small", mistakes: ["wrong"] },
    ];
    board.report({ refused });
    await board.stop();
    expect(written.map(parseStatus)).toEqual([{ refused: refused.slice(1) }]);
  });

  it("is written later after a failure, which is logged", async () => {
    const { board, written, lines, state } = aBoard();
    state.isAway = true;
    board.report({ refused: [] });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(lines).toMatchObject([{ level: "warn", msg: "status not written" }]);
    state.isAway = false;
    board.report({ refused: [] });
    await board.stop();
    expect(written).toHaveLength(1);
  });

  it.each([undefined, "", "null", "{}", "[1", '{"refused":1}'])("is undefined for %j", (text) => {
    expect(parseStatus(text)).toBeUndefined();
  });
});
