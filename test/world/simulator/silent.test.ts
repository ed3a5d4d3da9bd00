import { expect, test } from '@jest/globals';
import { RegistryRow } from '../../../lambdas/kernel/contract/rows.ts';
import { RegistryTable } from '../../../lambdas/kernel/contract/tables.ts';
import { TABLES } from '../tables.ts';
import { SimulatedSystem } from './system.ts';

const MINUTE_MS = 60_000;
/** If each read fails after its retries, one run has not enough time to read them all. */
const PAYERS = 80;

test('one run of the resolver postpones all entries of a processor that is down, so that no other entry waits for them', async () => {
  const system = await SimulatedSystem.begin(1);
  const startMs = system.nowMs;
  const body = { amount: 1000, currency: 'EUR', source: 'tok_action' };
  for (let each = 0; each < PAYERS; each += 1) {
    const order = { step: 1, tenant: 'studio', method: 'POST', path: '/v1/payments', key: `p-${each}` } as const;
    system.at(startMs + 500 * (each + 1), `payment ${each}`, async () => void (await system.api({ ...order, body })));
  }
  const runMs = startMs + 30 * MINUTE_MS;
  system.at(runMs - MINUTE_MS, 'down', () => system.processorUp('sandbox', false));
  system.at(runMs, 'job', () => system.runJob('resolve'));
  await system.run(runMs + 2 * MINUTE_MS);
  const entries = system.database.items(TABLES.registry, RegistryRow.inquiry);
  expect(entries).toHaveLength(PAYERS);
  const due = entries.filter((entry) => Number(entry[RegistryTable.queuesIndex.sortKey]) <= runMs);
  expect(due).toEqual([]);
});

test('one run of the resolver handles all entries of one processor, although entries of a slow processor precede them', async () => {
  const system = await SimulatedSystem.begin(1);
  system.deploy({ routes: [{ currency: 'USD', processor: 'second' }] });
  const startMs = system.nowMs;
  const ids: (string | undefined)[] = [];
  for (let each = 0; each < PAYERS; each += 1) {
    const order = { step: 1, tenant: 'studio', method: 'POST', path: '/v1/payments', key: `p-${each}` } as const;
    const isSecond = each >= PAYERS - 10;
    const body = { amount: 1000, currency: isSecond ? 'USD' : 'EUR', source: 'tok_action' };
    system.at(startMs + 500 * (each + 1), `payment ${each}`, async () => {
      const { answer } = await system.api({ ...order, body });
      if (isSecond) ids.push((JSON.parse(answer?.body ?? '{}') as { readonly id?: string }).id);
    });
  }
  const runMs = startMs + 30 * MINUTE_MS;
  system.at(runMs - MINUTE_MS, 'slow', () => system.mishap('slow calls of sandbox', false));
  system.at(runMs, 'job', () => system.runJob('resolve'));
  await system.run(runMs + MINUTE_MS);
  const entries = system.database.items(TABLES.registry, RegistryRow.inquiry);
  expect(entries).toHaveLength(PAYERS);
  const due = entries.filter((entry) => Number(entry[RegistryTable.queuesIndex.sortKey]) <= runMs);
  expect(due.length).toBeGreaterThan(0);
  expect(due.filter(({ paymentId }) => ids.includes(paymentId as string))).toEqual([]);
  expect(ids).toHaveLength(10);
});
