/** Measures how fast the simulated cloud lists a large project: every page of every list, after a warm-up round. */
import assert from "node:assert/strict";
import { BALANCERS, SERVERS, send, startLargeCloud } from "../support/large-cloud.ts";

const PAGE = 50;
const LISTS: readonly (readonly [name: string, path: string, total: number])[] = [
  ["10,000 servers", "/servers?", SERVERS],
  ["servers by label, sorted by name", "/servers?label_selector=role%3Dweb,shard!%3Ds0&sort=name:desc&", SERVERS / 4],
  ["500 balancers with 24 targets each", "/load_balancers?", BALANCERS],
];

export interface PageFigures {
  readonly name: string;
  readonly p50: number;
  readonly p99: number;
}

export async function measurePages(): Promise<readonly PageFigures[]> {
  const cloud = await startLargeCloud();
  try {
    const figures: PageFigures[] = [];
    for (const [name, path, total] of LISTS) {
      const round = async () => {
        const times: number[] = [];
        for (let page = 1; page <= Math.ceil(total / PAGE); page += 1) {
          const { status, ms } = await send(cloud, "GET", `${path}page=${page}&per_page=${PAGE}`);
          assert.equal(status, 200);
          times.push(ms);
        }
        return times;
      };
      await round();
      const times = [...(await round()), ...(await round())].toSorted((a, b) => a - b);
      const at = (share: number) => times[Math.floor(times.length * share)] ?? 0;
      figures.push({ name, p50: at(0.5), p99: at(0.99) });
    }
    return figures;
  } finally {
    await cloud.stop();
  }
}
