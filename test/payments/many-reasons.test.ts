import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Api } from '../world/api.ts';
import { CountedDynamoDb } from '../world/counted-dynamodb.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';

const REASONS = Array.from({ length: 30 }, (_, number) => `Reason ${number}`);

let database: CountedDynamoDb;
let store: Stores;
let payment: PaymentId;

async function open(options: ConstructorParameters<typeof CountedDynamoDb>[1] = {}): Promise<void> {
  const clock = new SimulatedClock();
  database = new CountedDynamoDb(clock, options);
  store = new Stores(clock, database);
  const api = new Api({}, new World({ store }));
  payment = await api.paid('k');
  for (const reason of REASONS) await api.annotate(payment, reason.replace(' ', '-'), { reason });
}

function reasonsOf(transitions: readonly Transition[]): readonly (string | undefined)[] {
  return transitions.flatMap(({ subject }) => (subject?.kind === 'annotation' ? [subject.reason] : []));
}

beforeEach(() => open());

describe('a page of transitions with many reasons', () => {
  test('is read with one call for the transitions and one for all reasons', async () => {
    const { result, calls } = await database.counted(() =>
      store.listTransitions(payment, { afterSequence: 0, limit: 100 }),
    );
    expect(calls).toBe(2);
    expect(reasonsOf(result)).toEqual(REASONS);
    const single = await Promise.all(
      result.map(({ sequence }) => store.ledger.readTransition({ paymentId: payment, sequence })),
    );
    expect(single).toEqual(result);
  });

  test('is read in full by several calls if the rows exceed the page size of DynamoDB', async () => {
    await open({ pageBytes: 2_000 });
    const { result, calls } = await database.counted(() =>
      store.listTransitions(payment, { afterSequence: 0, limit: 100 }),
    );
    expect(calls).toBeGreaterThan(2);
    expect(reasonsOf(result)).toEqual(REASONS);
  });

  test('is refused if a reason was changed', async () => {
    const [row] = database
      .items(TABLES.registry, RegistryRow.details)
      .filter(({ sk }) => (sk as string).startsWith('ann_'));
    const Item = { ...row, details: { reason: 'Another reason' } };
    await database.client.send(new PutCommand({ TableName: TABLES.registry, Item }));
    await expect(store.listTransitions(payment, { afterSequence: 0, limit: 100 })).rejects.toThrow(
      'do not match the commitment',
    );
  });
});
