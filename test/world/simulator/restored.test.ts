/** Loses the tables within each transaction of short histories, with all functions, jobs and oracles. */
import { describe, expect, test } from '@jest/globals';
import { IdempotencyRow, OperationPrefix } from '../../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute } from '../../../lambdas/kernel/contract/tables.ts';
import { sliceOf } from '../../support/slice.ts';
import type { RowChange } from '../memory-dynamodb.ts';
import { storyNamed } from '../stories/story.ts';
import { TABLES } from '../tables.ts';
import type { History, Step } from './contract.ts';
import { lengthOf, perform } from './perform.ts';
import { play } from './play.ts';
import { SimulatedSystem } from './system.ts';
import { choicesOf } from './table-restore.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const pay = (given: object = {}): object => ({
  act: 'pay',
  tenant: 'shop',
  amount: 1000,
  currency: 'EUR',
  source: 'tok_ok',
  capture: 'automatic',
  copies: 1,
  ...given,
});
const order = {
  act: 'order',
  tenant: 'shop',
  amount: 1000,
  currency: 'EUR',
  source: 'tok_ok',
  sku: 'sku_tea',
  email: 'ada@example.com',
};
const hold = pay({ capture: 'manual' });

/** By default, each step is about the first one. */
function historyOf(steps: readonly object[], everyMs = 10 * MINUTE_MS): History {
  const numbered = steps.map((step, place): Step => {
    const of = place === 0 || 'of' in step ? {} : { of: 1 };
    return { id: place + 1, atMs: MINUTE_MS + place * everyMs, actor: 'client', act: '', ...of, ...step };
  });
  return { seed: 1, profile: 'story', steps: numbered, muted: [] };
}

const OWN: Readonly<Record<string, History>> = {
  'a refund': historyOf([pay({ reference: 'invoice-1' }), { act: 'refund', amount: 300 }]),
  'a captured hold': historyOf([hold, { act: 'capture' }]),
  'a canceled hold': historyOf([hold, { act: 'cancel' }]),
  'a hold that expires': historyOf([hold, { act: 'look', what: 'payment' }], 9 * DAY_MS),
  'an order': historyOf([order]),
  'an annotation': historyOf([pay(), { act: 'annotate' }]),
  'a rejected approval': historyOf([
    pay(),
    { act: 'limits', aboveMinor: 0, hours: 72 },
    { act: 'correct', debit: 'merchant_payable', credit: 'corrections', amount: 500 },
    { act: 'verdict', verdict: 'reject', by: 'approver' },
  ]),
  'a refund by an operator': historyOf([pay(), { act: 'operator_change', change: 'refund', amount: 300, copies: 1 }]),
  'an approved refund by an operator': historyOf([
    pay(),
    { act: 'limits', aboveMinor: 0, hours: 72 },
    { act: 'operator_change', change: 'refund', amount: 300, copies: 1 },
    { act: 'verdict', verdict: 'approve', by: 'approver' },
  ]),
  'a webhook endpoint': historyOf([
    { act: 'endpoint', tenant: 'shop', event: '*' },
    { ...pay(), of: undefined },
    { act: 'test_event' },
  ]),
  'an export': historyOf([pay(), { act: 'export', tenant: 'shop', kind: 'entries' }]),
  'a commission': historyOf([pay({ reference: 'o-1', affiliate: 'aff_7' }), { act: 'refund', amount: 300 }]),
  'a redrive of dead letters': historyOf([
    pay(),
    { act: 'poison', by: 'views-projector', forMs: 8 * HOUR_MS },
    { act: 'refund', amount: 1 },
    { act: 'redrive_queue', of: undefined, atMs: 9 * HOUR_MS },
  ]),
  'a row that an operator restores from the archive': historyOf([
    pay(),
    { act: 'change_by_hand', how: 'overwritten', atMs: HOUR_MS },
  ]),
  'a run of a job': historyOf([pay(), { act: 'run_job', job: 'resolve' }]),
  'an orphaned callback, and its adoption': historyOf(
    [
      pay(),
      { act: 'storm', rates: { throttle: 0.9 }, forMs: 5 * SECOND_MS, atMs: MINUTE_MS },
      { act: 'stray', amount: 1000, named: false, source: 'tok_ok' },
      { act: 'retry', changed: false, atMs: 20 * MINUTE_MS },
    ],
    10 * SECOND_MS,
  ),
};

const STORIES = [
  'approved-decision-about-a-late-refund',
  'decided-refund-that-fails',
  'wrong-amount-decided-as-failed',
  'dispute-before-the-return',
  'return-fails-days-later',
  'hold-with-another-operation-is-voided',
  'contradiction-recurs',
  'dead-letter-is-redriven',
  'correction-with-differences',
  'stray-charge-is-voided',
  'late-hold-is-captured-before-its-void',
  'late-hold-is-authorized-again',
];
const HISTORIES: Readonly<Record<string, History>> = {
  ...OWN,
  ...Object.fromEntries(STORIES.map((name) => [name, storyNamed(name).history])),
};

interface Transaction {
  readonly rows: number;
  readonly kinds: readonly string[];
  readonly what: string;
}

async function transactionsOf(history: History): Promise<readonly Transaction[]> {
  const system = await SimulatedSystem.begin(history.seed, history.muted);
  const found: Transaction[] = [];
  system.account.database.cutTransaction((rows) => {
    const isView = rows.some(({ table }) => table === TABLES.views);
    if (rows.length > 1 && !isView)
      found.push({ rows: rows.length, kinds: rows.flatMap(kindOf), what: rows.map(nameOf).join() });
    return undefined;
  });
  const startMs = system.nowMs;
  perform(system, history);
  await system.run(startMs + lengthOf(history) + HOUR_MS);
  return found;
}

function kindOf({ table, before, after }: RowChange): readonly string[] {
  const partition = (after ?? before)?.[KeyAttribute.partition];
  if (table !== TABLES.idempotency || typeof partition !== 'string') return [];
  return [/^[a-z]+_/.exec(partition.slice(IdempotencyRow.record.length))?.[0] ?? partition];
}

function nameOf({ before, after }: RowChange): string {
  const row = after ?? before ?? {};
  return [row[KeyAttribute.partition], row['type'], row['status']]
    .map((part) => (typeof part === 'string' ? part.slice(0, 7) : ''))
    .join(' ');
}

const played = new Map<string, Promise<readonly Transaction[]>>();
const transactionsNamed = (name: string): Promise<readonly Transaction[]> => {
  const found = played.get(name) ?? transactionsOf(HISTORIES[name] as History);
  played.set(name, found);
  return found;
};

function withLoss(history: History, nth: number, choice: number): History {
  const loss: Step = { id: 1_000, atMs: 0, actor: 'world', act: 'lost_tables', nth, choice };
  return { ...history, steps: [loss, ...history.steps] };
}

/** Maximum number of transactions with the same kinds of rows that are played with a loss, for each history. */
const MAX_ALIKE = 2;

/** Kinds of operations that write no transaction of several rows in any history, each with the reason. */
const NOT_PLAYED: Readonly<Record<string, string>> = {
  askedRun: 'Its transaction has one row.',
  keyRequest: 'No act creates an API key.',
  limitRequest: 'No act changes the limits of a tenant.',
  return: 'A return has no record. Look-ups and callbacks record its transitions.',
};

test('every kind of operation writes a transaction of several rows in some history, or is listed with the reason why not', async () => {
  const kinds = new Set<string>();
  for (const name of Object.keys(HISTORIES))
    for (const { kinds: found } of await transactionsNamed(name)) found.forEach((each) => kinds.add(each));
  const missing = Object.entries(OperationPrefix)
    .filter(([, prefix]) => !kinds.has(prefix))
    .map(([name]) => name);
  expect(missing.toSorted()).toEqual(Object.keys(NOT_PLAYED).toSorted());
});

describe('tables restored to a point in time within a transaction', () => {
  test.each(sliceOf(Object.keys(HISTORIES), 5))('violate no oracle in the history of %s', async (name) => {
    const transactions = await transactionsNamed(name);
    const cases = transactions.flatMap(({ rows, what }, place) => {
      // Job runs, for example, repeat transactions with the same kinds of rows.
      const isRepeated = transactions.slice(0, place).filter((each) => each.what === what).length >= MAX_ALIKE;
      return isRepeated ? [] : Array.from({ length: choicesOf(rows) }, (_, choice) => ({ nth: place + 1, choice }));
    });
    const found: string[] = [];
    for (const { nth, choice } of sliceOf(cases, 19)) {
      const { violations } = await play(withLoss(HISTORIES[name] as History, nth, choice));
      for (const { oracle, what } of violations) found.push(`transaction ${nth}, choice ${choice}: ${oracle}: ${what}`);
    }
    expect(found).toEqual([]);
  });
});
