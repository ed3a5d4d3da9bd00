/** Tests the guarantee "constant calls". */
import { AsyncLocalStorage } from 'node:async_hooks';
import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { SQSEvent } from 'aws-lambda';
import { JOBS, type JobId } from '../../../lambdas/jobs/contract/jobs.ts';
import { MetadataName } from '../../../lambdas/kernel/contract/metadata.ts';
import { RegistryRow } from '../../../lambdas/kernel/contract/rows.ts';
import { storedOperationId } from '../../../lambdas/kernel/ids.ts';
import { inTurn, whole } from '../../support/slice.ts';
import { itemsRead } from '../counted-dynamodb.ts';
import { eventIdOf } from './acts/objects.ts';
import type { FunctionName } from './functions.ts';
import { rebuildAllQueues, verifyAll } from './operator.ts';
import { SimulatedSystem } from './system.ts';

/** Three sizes of the same workload, so that subtraction cancels out the calls that do not depend on the size. */
const SIZES = whole([100, 550, 1_000] as const, { slice: [10, 55, 100] as const });
/**
 * Maximum factor by which the calls per additional item may grow from the first half of the range of sizes to the
 * second half.
 */
const MAX_GROWTH = 1.2;
/** Tolerance in calls per item, and in items read per item, because the borders of pages and batches vary. */
const TOLERANCE = 1;

/** Each with the reason or with the test that counts its calls. */
const NOT_COUNTED = {
  'api-documents': 'It reads no table.',
  archiver: 'It reads no table.',
  'archive-auditor': 'test/archive/auditor-continues.test.ts',
  audit: 'It reads no table.',
  'cron-executor': 'It calls only the API.',
  'dead-letters': 'An operator redrives at most a hundred messages at once.',
  exports: 'test/http/list-calls.test.ts',
  'job-targets': 'It writes one row for each message.',
  jobs: 'test/http/list-calls.test.ts',
  ledger: 'test/http/list-calls.test.ts',
  reads: 'test/http/list-calls.test.ts',
  webhooks: 'test/http/list-calls.test.ts',
  'payment-jobs': 'Each job is counted by itself.',
  'upkeep-jobs': 'Each job is counted by itself.',
} as const;

/** Commands that read every row. */
const COMMANDS = ['rebuild', 'rebuild-queues', 'verify'] as const;
type Counted = Exclude<FunctionName, keyof typeof NOT_COUNTED> | JobId | (typeof COMMANDS)[number];

/** The minimum number of calls per item ensures that each of them has work. */
const COUNTED: Readonly<Record<Counted, number>> = {
  callbacks: 1,
  'commission-consumer': 0.1,
  'export-writer': 1,
  orders: 1,
  'outbox-relay': 1,
  'payment-requests': 0.1,
  payments: 1,
  'receipt-consumer': 0.1,
  'republish-range': 1,
  'views-projector': 1,
  'webhook-fan-out': 1,
  'webhook-sender': 1,
  // A call reads hundreds of rows, so an additional item needs hardly any calls.
  'close-days': 0,
  'expire-authorizations': 0.1,
  'purge-expired': 0.1,
  'reconcile-days': 1,
  'reconcile-recent': 0.1,
  'release-commissions': 0.1,
  'republish-events': 0.1,
  resolve: 0.1,
  'retry-orphans': 0.1,
  'sweep-webhooks': 0.1,
  rebuild: 1,
  'rebuild-queues': 1,
  // A call reads a thousand rows.
  verify: 0,
};

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/**
 * All jobs run on these days, counted from the start: the next day, after holds expire, and after commissions unlock.
 */
const JOB_DAYS = [1, 8, 31];
const ENDPOINT = 'https://shop.example.com/in';
const ORDER = {
  amount: 2_000,
  currency: 'EUR',
  source: 'tok_ok',
  items: [{ sku: 'sku_tea', quantity: 1 }],
  email: 'ada@example.com',
};

/**
 * The calls of the watch for overdue jobs depend on the clock and on the number of jobs, but not on the number of
 * items.
 */
function readsRunsOfJobs(command: string, sent: object): boolean {
  const text = JSON.stringify(sent);
  return (
    text.includes(`"${RegistryRow.jobMark}watched:`) ||
    (command === 'QueryCommand' && text.includes(`"${RegistryRow.jobRuns}`))
  );
}

interface Counts {
  readonly calls: Map<string, number>;
  /** By function, job or command. */
  readonly read: Map<string, number>;
}

async function countsOf(items: number): Promise<Counts> {
  const system = await SimulatedSystem.begin(1);
  const { account } = system;
  const { database } = account;
  const counts: Counts = { calls: new Map(), read: new Map() };
  const add = (to: Map<string, number>, name: string, more: number) => to.set(name, (to.get(name) ?? 0) + more);
  const running = new AsyncLocalStorage<string>();
  const clientWith = database.clientWith.bind(database);
  database.clientWith = (around) =>
    clientWith((command, apply, sent) => {
      const name = readsRunsOfJobs(command, sent) ? 'the watch for overdue jobs' : (running.getStore() ?? 'others');
      add(counts.calls, name, 1);
      const counted: typeof apply = async () => {
        const answer = await apply();
        add(counts.read, name, itemsRead(answer));
        return answer;
      };
      return around(command, counted, sent);
    });
  // Disables time to live, so that the nightly purge deletes the rows.
  database.deleteExpired = () => 0;
  const invoke = account.invoke.bind(account);
  account.invoke = (name, about, event) => running.run(nameOf(name, event), () => invoke(name, about, event));

  const startMs = system.nowMs;
  await requestAll(system, items);
  for (const day of JOB_DAYS) {
    for (const [at, { id }] of JOBS.entries())
      system.at(startMs + day * DAY_MS + at * MINUTE_MS, id, () => system.runJob(id));
  }
  const days = { from: '2026-03-02', to: '2026-03-02' };
  for (const [at, kind] of ['entries', 'payments', 'refunds', 'disputes', 'events'].entries()) {
    const asked = () => post(system, '/v1/exports', kind, { kind, ...days });
    system.at(startMs + 2 * DAY_MS + at * 10 * MINUTE_MS, kind, asked);
  }
  system.at(startMs + 3 * DAY_MS, 'rebuild', () => running.run('rebuild', () => system.rebuildViews()));
  system.at(startMs + 5 * DAY_MS, 'rebuild-queues', async () => {
    await running.run('rebuild-queues', () => system.asOperator(rebuildAllQueues));
  });
  system.at(startMs + 6 * DAY_MS, 'verify', async () => {
    expect(await running.run('verify', () => system.asOperator(verifyAll))).toBe(0);
  });
  system.at(startMs + 4 * DAY_MS, 'republish', () => system.republish(startMs, startMs + DAY_MS));
  await system.run(startMs + 32 * DAY_MS);
  return counts;
}

function nameOf(name: FunctionName, event: unknown): string {
  if (name !== 'payment-jobs' && name !== 'upkeep-jobs') return name;
  const [record] = (event as SQSEvent).Records;
  return (JSON.parse(record?.body ?? '{}') as { readonly jobId: JobId }).jobId;
}

async function post(system: SimulatedSystem, path: string, key: string, body: object): Promise<void> {
  await system.api({ step: 1, tenant: 'shop', method: 'POST', path, key, body });
}

async function requestAll(system: SimulatedSystem, items: number): Promise<void> {
  const startMs = system.nowMs;
  const pay = (key: string, changes: object) =>
    post(system, '/v1/payments', key, { amount: 1_000, currency: 'EUR', source: 'tok_ok', ...changes });
  const metadata = { [MetadataName.affiliate]: 'aff_7', [MetadataName.receiptEmail]: 'ada@example.com' };
  const kinds: readonly ((key: string, number: number) => Promise<unknown>)[] = [
    (key) => pay(key, { metadata }),
    (key) => pay(key, { capture: 'manual' }),
    (key) => pay(key, { source: 'tok_async' }),
    (key) => post(system, '/v1/orders', key, ORDER),
    (key) => system.inside('sandbox', (inside) => inside.charge(foreign(key))),
    async (key, number) => system.requests.take('queue', JSON.stringify(requested(number, system.nowMs)), key),
  ];
  // The endpoint fails for a while, so that deliveries wait for the sweep.
  system.endpointAnswers(ENDPOINT, 500);
  system.at(startMs + 20 * MINUTE_MS, 'the endpoint recovers', () => system.endpointAnswers(ENDPOINT, 200));
  const endpoint = { url: ENDPOINT, events: ['payment.completed'] };
  system.at(startMs + 1, 'endpoint', () => post(system, '/v1/webhook_endpoints', 'endpoint', endpoint));
  for (let number = 0; number < items; number += 1) {
    const request = kinds[number % kinds.length];
    const atMs = startMs + 1_000 + Math.floor((number * 5 * MINUTE_MS) / items);
    system.at(atMs, `item ${number}`, async () => void (await request?.(`item-${number}`, number)));
  }
}

function foreign(key: string) {
  return { operationId: storedOperationId(key), amountMinor: 1_000, currency: 'EUR' };
}

function requested(id: number, atMs: number) {
  const timestamp = new Date(atMs).toISOString();
  return {
    event_id: eventIdOf({ id }),
    account_from: 'tok_ok',
    account_to: 'ten_shop',
    amount: 1_000,
    currency: 'EUR',
    timestamp,
  };
}

function marginal(name: string, counts: readonly Counts[], what: keyof Counts, at: 0 | 1): number {
  const [before = 0, after = 0] = [counts[at]?.[what].get(name), counts[at + 1]?.[what].get(name)];
  return (after - before) / ((SIZES[at + 1] ?? Number.NaN) - (SIZES[at] ?? Number.NaN));
}

/** Each slice runs exactly one of three tests: this one, flood.test.ts or outage.test.ts. */
const sometimes = inTurn(describe, { place: 0, of: 3, otherwise: describe.skip });

sometimes('the DynamoDB calls per additional item', () => {
  const counts: Counts[] = [];
  beforeAll(async () => {
    for (const size of SIZES) counts.push(await countsOf(size));
  });

  test.each(Object.entries(COUNTED))(
    'stay the same for %s, and so do the items that they read, regardless of the number of items',
    (name, least) => {
      expect(marginal(name, counts, 'calls', 1)).toBeGreaterThanOrEqual(least);
      for (const what of ['calls', 'read'] as const) {
        const [first, second] = [marginal(name, counts, what, 0), marginal(name, counts, what, 1)];
        expect([what, second, second <= MAX_GROWTH * first + TOLERANCE]).toEqual([what, second, true]);
      }
    },
  );

  test.each(COMMANDS)('read at least one row for %s', (name) => {
    expect(marginal(name, counts, 'read', 1)).toBeGreaterThanOrEqual(1);
  });
});

test('the DynamoDB calls per additional item are counted or excluded for every function and every job', () => {
  const folder = new URL('../../../lambdas/functions/', import.meta.url);
  const functions = readdirSync(folder)
    .filter((file) => file.endsWith('.ts') && readFileSync(new URL(file, folder), 'utf8').includes('const handler'))
    .map((file) => file.replace('.ts', ''));
  const names = [...functions, ...JOBS.map(({ id }) => id), ...COMMANDS];
  expect([...Object.keys(COUNTED), ...Object.keys(NOT_COUNTED)].sort()).toEqual(names.sort());
});
