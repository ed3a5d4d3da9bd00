import { BatchWriteCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { DynamoDbOrders } from '../../lambdas/orders/store/dynamodb-orders.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { transitionRow } from '../../lambdas/payments/store/items.ts';
import { DynamoDbLedgerScan } from '../../lambdas/views/store/dynamodb-ledger-scan.ts';
import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { initialRebuildState, type RebuildTools, rebuildViews } from '../../lambdas/views/use/rebuild-views.ts';
import { ViewLedgerReader } from '../../lambdas/views/use/view-ledger-reader.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { whole } from '../support/slice.ts';
import { takenAt } from './ledger-reader-suite.ts';
import { MemoryLedgerReader } from './memory-ledger-reader.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const TODAY_MS = Date.UTC(2026, 2, 10, 12);
const owner = { tenantId: tenantId('ten_rebuild'), mode: 'test' as const };
const client = () => documentClient(dynamoDbClient());

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('rebuild');
});

async function write(transitions: readonly Transition[]): Promise<void> {
  const requests = transitions.map((transition) => ({ PutRequest: { Item: transitionRow(transition) } }));
  await client().send(new BatchWriteCommand({ RequestItems: { [tables.ledger]: requests } }));
}

test('a rebuild restores deleted views from the Ledger and removes rows without a transition while new payments continue', async () => {
  const clock = new SimulatedClock(TODAY_MS);
  const pacing = { clock, entropy: countingEntropy() };
  const views = new DynamoDbViews(client(), tables.views, pacing);
  const old = Array.from({ length: whole(9, { slice: 4 }) }, (_, index) =>
    takenAt(owner, `old-${index}`, TODAY_MS - (index % 3) * DAY_MS),
  );
  for (const chain of old) await write(chain);
  const never = takenAt(owner, 'never-happened', TODAY_MS - DAY_MS);
  for (const event of eventsOf(systemDigest, never)) await projectEvent({ runner: idempotentRunner, views }, event);
  const store = new DynamoDbStore(client(), tables, pacing);
  const tools: RebuildTools = {
    views,
    ledger: new DynamoDbLedgerScan(client(), tables.ledger, pacing),
    store,
    orders: new DynamoDbOrders(client(), tables, pacing, store),
    digest: systemDigest,
    ...pacing,
  };
  const fresh = Array.from({ length: whole(6, { slice: 3 }) }, (_, index) =>
    takenAt(owner, `new-${index}`, TODAY_MS - 2 * DAY_MS),
  );
  const traffic = async (): Promise<void> => {
    for (const chain of fresh) {
      await write(chain);
      for (const event of eventsOf(systemDigest, chain)) await projectEvent({ runner: idempotentRunner, views }, event);
    }
  };

  const [rebuilt] = await Promise.all([rebuildViews(tools, initialRebuildState(3), async () => undefined), traffic()]);
  const compared = await rebuildViews(tools, initialRebuildState(2, 'compare_ledger'), async () => undefined);

  const oracle = new MemoryLedgerReader(() => [...old, ...fresh].flat());
  const reader = new ViewLedgerReader(views);
  expect(rebuilt.counts.removed).toBeGreaterThan(0);
  expect(rebuilt.counts.daysClosed).toBeGreaterThan(0);
  expect([rebuilt.differences, compared.differences]).toEqual([[], []]);
  expect(compared.counts.compared).toBe(old.length + fresh.length);
  expect(new Set(await reader.balances(owner))).toEqual(new Set(await oracle.balances(owner)));
  expect(await reader.entries({ ...owner, limit: 100 })).toEqual(await oracle.entries({ ...owner, limit: 100 }));
});
