import { beforeEach, describe, expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { totalsPartition } from '../../lambdas/views/domain/lists.ts';
import { type ViewRow } from '../../lambdas/views/domain/views.ts';
import { Projector } from '../../lambdas/views/http/projector.ts';
import type { RowChange, ViewRange } from '../../lambdas/views/use/view-store.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { takenAt } from './ledger-reader-suite.ts';
import { MemoryViews } from './memory-views.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const owner = { tenantId: tenantId('ten_projector'), mode: 'test' as const };

/** Views whose lists cannot be read, so that no day can be closed. */
class Unlistable extends MemoryViews {
  override range(): Promise<never> {
    return Promise.reject(new Error('not now'));
  }
}

/** While `refuses` is true, every attempt to close a day loses to a rival. */
class Counted extends MemoryViews {
  ranges = 0;
  refuses = false;

  override range(range: ViewRange): Promise<readonly ViewRow[]> {
    this.ranges += 1;
    return super.range(range);
  }

  override async exchange(changes: readonly RowChange[]): Promise<boolean> {
    const ofDay = changes.some(({ key }) => key.partition === totalsPartition(owner));
    return this.refuses && ofDay ? false : super.exchange(changes);
  }
}

let clock: SimulatedClock;
let faults: unknown[];

beforeEach(() => {
  clock = new SimulatedClock();
  faults = [];
});

const projectorOn = (views: MemoryViews) =>
  new Projector({
    runner: idempotentRunner,
    views,
    clock,
    entropy: countingEntropy(),
    report: (error) => faults.push(error),
  });

async function take(projector: Projector, key: string): Promise<void> {
  for (const event of eventsOf(systemDigest, takenAt(owner, key, clock.nowMs()))) await projector.take(event);
}

const daysClosed = async (views: MemoryViews) =>
  (await views.range({ partition: totalsPartition(owner), from: '0', until: ':', limit: 99 })).length;

describe('the projector', () => {
  test('closes a few of the ended days with each arriving event', async () => {
    const views = new MemoryViews();
    const projector = projectorOn(views);
    await take(projector, 'k-1');
    expect(await daysClosed(views)).toBe(0);

    clock.advance(5 * DAY_MS);
    await take(projector, 'k-2');
    expect(await daysClosed(views)).toBe(2);
    await take(projector, 'k-3');
    await take(projector, 'k-4');
    await take(projector, 'k-5');
    expect(await daysClosed(views)).toBe(5);
    expect(faults).toEqual([]);
  });

  test('skips a day that another process is closing, and does not check that day again with every event', async () => {
    const views = new Counted();
    await take(projectorOn(views), 'k-1');
    clock.advance(2 * DAY_MS);
    views.refuses = true;
    const projector = projectorOn(views);
    await take(projector, 'k-2');
    const { ranges } = views;
    for (const key of ['k-3', 'k-4', 'k-5']) await take(projector, key);
    expect(views.ranges).toBe(ranges);

    views.refuses = false;
    clock.advance(60_000);
    await take(projector, 'k-6');
    expect(await daysClosed(views)).toBe(2);
  });

  test('projects an event even if its day cannot be closed now', async () => {
    const views = new Unlistable();
    await take(projectorOn(views), 'k-1');

    expect(views.all().some(({ partition }) => partition.startsWith('SEEN#'))).toBe(true);
    expect(faults).toEqual([new Error('not now')]);
  });
});
