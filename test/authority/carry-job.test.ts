/** Tests the guarantee "carried rows". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { carryJob } from '../../lambdas/authority/carry-job.ts';
import { readCarriedUntil } from '../../lambdas/jobs/use/carried-until.ts';
import { CLOCK_DIFFERENCE_MS, LONGEST_TRANSACTION_MS } from '../../lambdas/postgres/carried-until.ts';
import { OUTBOX_SHARDS, type Outbox, type OutboxState, type WaitingChain } from '../../lambdas/postgres/outbox.ts';
import { finishJob } from '../jobs/finish-job.ts';
import { RUN } from '../support/causes.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';

const MARGIN_MS = LONGEST_TRANSACTION_MS + CLOCK_DIFFERENCE_MS;

let clock: SimulatedClock;
let waiting: Map<number, string[]>;
let observed: (OutboxState & { readonly carried: number })[];
let failures: string[];
let carried: string[];
beforeEach(() => {
  clock = new SimulatedClock();
  waiting = new Map();
  [observed, failures, carried] = [[], [], []];
});

/** The prefix of a chain's id decides the result of its copy. */
function tools(oldestMs?: number) {
  const { jobMarks: marks } = new Stores(clock);
  return {
    marks,
    clock,
    record: async () => undefined,
    outbox: {
      waitingChains: async (shard: number): Promise<readonly WaitingChain[]> =>
        (waiting.get(shard) ?? []).map((chainId) => ({ chainId, sinceMs: 0 })),
      state: async () => ({ oldestMs, stopped: 0 }),
    },
    carrier: {
      carry: async (chainId: string) => {
        if (chainId.startsWith('slow')) clock.advance(61_000);
        if (chainId.startsWith('failing')) throw new Error('away');
        carried.push(chainId);
        return chainId.startsWith('stopped') ? ('stopped' as const) : ('carried' as const);
      },
    },
    observer: {
      stopped: () => undefined,
      failed: (chainId: string) => void failures.push(chainId),
      observed: (state: OutboxState) => void observed.push({ ...state, carried: carried.length }),
    },
  };
}

describe('the copy job', () => {
  test('reads every shard, counts chains by result, and then reports the state of the outbox', async () => {
    for (let shard = 0; shard < OUTBOX_SHARDS; shard += 1) waiting.set(shard, [`chain-${shard}`]);
    waiting.set(7, ['failing', 'stopped', 'chain-7']);
    const result = await finishJob(carryJob(tools()), clock.nowMs());
    expect(result).toMatchObject({ done: OUTBOX_SHARDS + 2, left: 1, failed: 1 });
    expect(failures).toEqual(['failing']);
    expect(carried).toHaveLength(OUTBOX_SHARDS + 1);
    expect(observed).toMatchObject([{ carried: OUTBOX_SHARDS + 1 }]);
  });

  test('stops at its deadline and leaves the remaining chains to the next run', async () => {
    waiting.set(0, ['slow', 'chain-a', 'chain-b']);
    const deadlineMs = clock.nowMs() + 60_000;
    expect(await finishJob(carryJob(tools()), clock.nowMs(), { deadlineMs })).toMatchObject({ left: 2, failed: 0 });
  });

  test('stores the time until which the copies are complete', async () => {
    const complete = tools();
    await finishJob(carryJob(complete), clock.nowMs());
    expect(await readCarriedUntil(complete.marks)).toMatchObject({ untilMs: clock.nowMs() - MARGIN_MS });
    const late = tools(clock.nowMs() - 3_600_000);
    await finishJob(carryJob(late), clock.nowMs());
    expect(await readCarriedUntil(late.marks)).toMatchObject({ untilMs: clock.nowMs() - 3_600_000 - MARGIN_MS });
  });

  test('copies the waiting rows of every database, even if one database is unavailable', async () => {
    waiting.set(3, ['chain-a']);
    const [first, other] = [tools(), tools(clock.nowMs() - 3_600_000)];
    const result = await finishJob(carryJob({ ...first, others: [other] }), clock.nowMs());
    expect(result).toMatchObject({ done: 4, failed: 0 });
    expect(carried).toEqual(['chain-a', 'chain-a']);
    const { untilMs } = (await readCarriedUntil(first.marks)) ?? {};
    expect(untilMs).toBe(clock.nowMs() - 3_600_000 - MARGIN_MS);

    const away = {
      waitingChains: () => Promise.reject(new Error('away')),
      state: () => Promise.reject(new Error('away')),
    };
    const record = () => Promise.reject(new Error('away'));
    const job = carryJob({ ...first, others: [{ ...tools(), outbox: away, record }] });
    const run = { ...RUN, scheduledForMs: clock.nowMs(), deadlineMs: Number.POSITIVE_INFINITY };
    const { items } = await job.page(undefined, OUTBOX_SHARDS + 2, run);
    const results = await Promise.allSettled(items.map(({ thing }) => job.handle(thing, run)));
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    expect(carried).toEqual(['chain-a', 'chain-a', 'chain-a']);
    expect(await readCarriedUntil(first.marks)).toMatchObject({ untilMs });

    clock.advance(60_000);
    await Promise.allSettled(items.map(({ thing }) => job.handle(thing, run)));
    expect(await readCarriedUntil(first.marks)).toMatchObject({ untilMs, latestMs: clock.nowMs() - MARGIN_MS });
  });

  test.each([10, 100, 1_000])('reads %i chains in pages, and copies each once', async (chains) => {
    waiting.set(
      3,
      Array.from({ length: chains }, (_, each) => `chain-${String(each).padStart(4, '0')}`),
    );
    const limits: number[] = [];
    const { outbox, ...others } = tools();
    const waitingChains: Outbox['waitingChains'] = async (shard, { after, limit }) => {
      const all = await outbox.waitingChains(shard);
      const left = all.filter(({ chainId }) => after === undefined || chainId > after.chainId);
      if (shard === 3) limits.push(limit);
      return left.slice(0, limit);
    };
    await finishJob(carryJob({ ...others, outbox: { ...outbox, waitingChains } }), clock.nowMs());
    expect(carried).toHaveLength(chains);
    expect(new Set(carried).size).toBe(chains);
    expect(limits).toHaveLength(1 + Math.floor(chains / (limits[0] ?? 0)));
  });
});
