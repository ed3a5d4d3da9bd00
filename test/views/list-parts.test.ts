import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { eventList, paymentList } from '../../lambdas/views/domain/lists.ts';
import type { ViewRow } from '../../lambdas/views/domain/views.ts';
import { listPage, shownPage } from '../../lambdas/views/use/list-page.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { PEAK, setPeakRates } from '../support/peak-rates.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { CountedDynamoDb } from '../world/counted-dynamodb.ts';
import { TABLES } from '../world/tables.ts';
import { MemoryViews } from './memory-views.ts';
import { RebuildWorld } from './rebuild-world.ts';
import { chainFor } from './view-histories.ts';

const HOUR_MS = 3_600_000;
const FIRST_DAY = Date.UTC(2026, 2, 1);
const RAISED = { from: '2026-03-03', ...PEAK };
const RAISED_MS = Date.parse(RAISED.from);
const OWNER = { tenantId: tenantId('ten_parts'), mode: 'test' } as const;

let database: CountedDynamoDb;
let views: MemoryViews;

beforeEach(() => {
  database = new CountedDynamoDb(new SimulatedClock());
  views = new MemoryViews(database);
});
afterEach(() => setPeakRates());

/** The dispute opens a day after the payment. */
function chainOf(key: string, hours: number) {
  return chainFor({
    key,
    tenant: OWNER.tenantId,
    mode: OWNER.mode,
    reference: `order-${key}`,
    amountMinor: 1_000,
    currency: 'EUR',
    hours: [hours, hours, hours + 24],
    steps: [{ kind: 'succeeded', chargeId: `ch_${key}`, feeMinor: 5 }, disputeOf(key, hours)],
  });
}

function disputeOf(key: string, hours: number) {
  return {
    kind: 'dispute',
    disputeId: `dp_${key}`,
    chargeId: `ch_${key}`,
    amountMinor: 100,
    status: 'open',
    createdAtMs: FIRST_DAY + (hours + 24) * HOUR_MS,
  } as const;
}

const chains = (from: string, count: number, hours: number) =>
  Array.from({ length: count }, (_, index) => chainOf(`${from}-${index}`, hours + index));

const storedPartitions = (prefix: string): readonly string[] =>
  database.items(TABLES.views, prefix).map(({ pk }) => pk as string);
const isPart = (partition: string): boolean => /\.\d+$/.test(partition);

async function project(events: ReturnType<typeof eventsOf>): Promise<void> {
  for (const event of events) await projectEvent({ views, runner: idempotentRunner }, event);
}

async function listed(list: ReturnType<typeof paymentList>): Promise<readonly ViewRow[]> {
  return (await listPage(views, list, { limit: 1_000 })).rows;
}

describe('peak rates that are raised later', () => {
  test('do not move earlier rows, but spread later rows over more partitions; lists show each row once', async () => {
    const before = chains('before', 24, 0);
    const after = chains('after', 24, 72);
    const events = [...before, ...after].map((chain) => eventsOf(systemDigest, chain));
    await project(events.slice(0, 24).flatMap(([paid]) => paid ?? []));
    expect(storedPartitions('').filter(isPart)).toEqual([]);

    setPeakRates(RAISED);
    // The disputes of earlier payments update the rows of these payments.
    await project(events.flat());

    const payments = database.items(TABLES.views, 'PAYMENT#');
    expect(payments).toHaveLength(48);
    const later = payments.filter(({ sk }) => Number((sk as string).slice(0, 15)) >= RAISED_MS);
    expect(later).toHaveLength(24);
    expect(payments.filter(({ pk }) => isPart(pk as string)).every((row) => later.includes(row))).toBe(true);
    expect(new Set(later.map(({ pk }) => pk)).size).toBeGreaterThan(8);

    const ids = [...before, ...after].map(([first]) => first?.payment.id).toReversed();
    expect((await listed(paymentList(OWNER, undefined))).map(({ chainId }) => chainId)).toEqual(ids);
    expect((await listed(paymentList(OWNER, 'succeeded'))).map(({ chainId }) => chainId)).toEqual(ids);
    const shown = await listed(eventList(OWNER, undefined));
    expect(shown).toHaveLength(96);
    expect(shown.map(({ sort }) => sort)).toEqual(
      shown
        .map(({ sort }) => sort)
        .toSorted()
        .toReversed(),
    );
    expect(await listed(eventList(OWNER, 'dispute.opened'))).toHaveLength(48);
  });

  test('cause no differences in a rebuild; after the start date of the rates is changed, a rebuild moves rows', async () => {
    const written = [...chains('before', 6, 0), ...chains('after', 6, 72)].flat();
    const world = new RebuildWorld(FIRST_DAY + 10 * 24 * HOUR_MS, written);
    const sortsOf = async () =>
      (await listPage(world.views, paymentList(OWNER, undefined), { limit: 100 })).rows.length;
    setPeakRates(RAISED);
    expect((await world.rebuild()).differences).toEqual([]);
    expect((await world.rebuild()).counts.removed).toBe(0);

    setPeakRates({ ...RAISED, from: '2026-01-01' });
    const { counts, differences } = await world.rebuild();
    expect(differences).toEqual([]);
    expect(counts.removed).toBeGreaterThan(0);
    expect(await sortsOf()).toBe(12);
  });
});

describe('peak rates that are lowered again', () => {
  test('no longer spread later rows over more partitions; lists show the rows of all rates, each once', async () => {
    const lowered = { from: '2026-03-05', payments: 1_000, tenantPayments: 1_000 };
    setPeakRates(RAISED);
    await project(chains('raised', 12, 72).flatMap((chain) => eventsOf(systemDigest, chain)));
    const divided = storedPartitions('').filter(isPart).length;
    expect(divided).toBeGreaterThan(0);

    setPeakRates(RAISED, lowered);
    await project(chains('lowered', 12, 144).flatMap((chain) => eventsOf(systemDigest, chain)));
    await project(chains('raised', 12, 72).flatMap((chain) => eventsOf(systemDigest, chain)));
    expect(storedPartitions('').filter(isPart)).toHaveLength(divided);
    expect(await listed(paymentList(OWNER, undefined))).toHaveLength(24);
    expect(await listed(paymentList(OWNER, 'succeeded'))).toHaveLength(24);
    expect(await listed(eventList(OWNER, undefined))).toHaveLength(48);
  });
});

describe('a list of one tenant at 5,000 payments per second', () => {
  const page = { limit: 10 };
  const show = async (row: ViewRow) => {
    await views.read(row);
    await views.read(row);
    return row;
  };
  const findSortKey = async () => '0';

  async function fill(rows: number): Promise<void> {
    const [row = {}] = database.items(TABLES.views, 'PAYMENT#');
    const { partition, ...head } = { ...row, partition: row['pk'] as string } as Record<string, unknown>;
    for (let index = 0; index < rows; index += 1) {
      const sort = `${String(FIRST_DAY + 100 * HOUR_MS + index).padStart(15, '0')}#${(row['sk'] as string).slice(16)}`;
      await views.put([
        { partition, sort, list: String(head['list']), sequence: 2, body: String(head['body']) } as unknown as ViewRow,
      ]);
    }
  }

  beforeEach(async () => {
    await project(eventsOf(systemDigest, chainOf('one', 0)).slice(0, 1));
    setPeakRates(RAISED);
    await fill(1_200);
  });

  test.each([
    ['no filter', undefined],
    ['a filter that every row matches', () => true],
    ['a filter that no row matches', () => false],
    ['a filter that depends on the objects', () => undefined],
  ])('costs at most 60 calls per page with %s', async (_name, matches) => {
    const list = paymentList(OWNER, undefined);
    const { calls, result } = await database.counted(() =>
      shownPage(views, list, page, matches === undefined ? { show, findSortKey } : { matches, show, findSortKey }),
    );
    expect(calls).toBeLessThanOrEqual(60);
    expect(result.hasMore).toBe(true);
    expect(result.next).toBeDefined();
    expect(result.rows).toHaveLength(matches?.() === false ? 0 : 10);
  });
});
