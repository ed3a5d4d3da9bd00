import { beforeEach, describe, expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { Owners } from '../../lambdas/tenants/owners.ts';
import { totalsPartition, type ViewOwner } from '../../lambdas/views/domain/lists.ts';
import { closeAllDaysJob } from '../../lambdas/views/use/close-all-days.ts';
import { closedSums } from '../../lambdas/views/use/close-days.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { finishJob } from '../jobs/finish-job.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { takenAt } from './ledger-reader-suite.ts';
import { MemoryViews } from './memory-views.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const TONIGHT = Date.UTC(2026, 2, 10, 1, 20);
const ALL = (['ten_a', 'ten_b', 'ten_c'] as const).flatMap((tenant) =>
  (['live', 'test'] as const).map((mode) => ({ tenantId: tenantId(tenant), mode })),
);

let views: MemoryViews;
let clock: SimulatedClock;

beforeEach(() => {
  views = new MemoryViews();
  clock = new SimulatedClock(TONIGHT);
});

const owners: Owners = {
  list: async (after = '', limit) =>
    ALL.map((owner) => ({ name: `${owner.tenantId}#${owner.mode}`, owner }))
      .filter(({ name }) => name > after)
      .slice(0, limit),
};
const job = (store = views) => closeAllDaysJob({ owners, views: store, clock, entropy: countingEntropy() });
const paid = async (owner: ViewOwner, daysAgo: number) => {
  for (const event of eventsOf(systemDigest, takenAt(owner, `k-${daysAgo}`, TONIGHT - daysAgo * DAY_MS))) {
    await projectEvent({ runner: idempotentRunner, views }, event);
  }
};
const closedDays = (owner: ViewOwner) =>
  views.all().filter((row) => row.partition === totalsPartition(owner) && closedSums(row) !== undefined).length;

describe('the days of all tenants', () => {
  test('are closed exactly once in every mode of every tenant, including days without entries', async () => {
    for (const [index, owner] of ALL.entries()) if (index !== 3) await paid(owner, index + 1);

    expect(await finishJob(job(), TONIGHT)).toMatchObject({ done: 1 + 2 + 3 + 5 + 6, left: 0, failed: 0, pages: 4 });
    expect(ALL.map(closedDays)).toEqual([1, 2, 3, 0, 5, 6]);
    expect(await finishJob(job(), TONIGHT, { limit: 50 })).toMatchObject({ done: 0, left: 0, pages: 1 });
  });

  test('are closed by the next run if a run reaches its deadline before it has closed them', async () => {
    const [owner = ALL[0]] = ALL;
    if (owner === undefined) throw new Error('there is no owner');
    await paid(owner, 12);
    /** Views that need half a second for each of the two writes of a total. */
    class Slow extends MemoryViews {
      override async exchange(changes: Parameters<MemoryViews['exchange']>[0]): Promise<boolean> {
        clock.advance(500);
        return views.exchange(changes);
      }
      override range: MemoryViews['range'] = (range) => views.range(range);
      override read: MemoryViews['read'] = (key) => views.read(key);
    }

    const first = await finishJob(job(new Slow()), TONIGHT, { deadlineMs: TONIGHT + 4_000, limit: 1 });
    // The run reaches its deadline before it has closed the days of the other owners.
    expect(first).toMatchObject({ done: 5, left: 6 });
    expect(await finishJob(job(), TONIGHT)).toMatchObject({ done: 7, left: 0 });
  });

  test('stay open after one attempt if every write fails because other writers change the rows', async () => {
    const [owner = ALL[0]] = ALL;
    if (owner === undefined) throw new Error('there is no owner');
    await paid(owner, 2);
    class Contended extends MemoryViews {
      override exchange = async (): Promise<boolean> => false;
      override range: MemoryViews['range'] = (range) => views.range(range);
    }
    expect(await finishJob(job(new Contended()), TONIGHT)).toMatchObject({ done: 0, left: 1 });
  });
});
