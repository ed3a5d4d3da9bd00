import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LedgerRow } from '../../../lambdas/kernel/contract/rows.ts';
import { sliceOf } from '../../support/slice.ts';
import { TABLES } from '../tables.ts';
import { partitionOf } from './authority-items.ts';
import { play } from './play.ts';
import { SimulatedPostgres } from './postgres.ts';

let postgres: SimulatedPostgres;
beforeAll(async () => {
  postgres = await SimulatedPostgres.create();
});
afterAll(() => postgres.close());

const PAYMENT = { actor: 'client', act: 'pay', tenant: 'shop', amount: 1000, source: 'tok_ok', copies: 1 };
const SHAPE = { currency: 'EUR', capture: 'automatic', lateMs: 0 };

/** The first write of transitions is the claim of the payment, and the second one is its commit. */
test.each(sliceOf([1, 2], 2))(
  'a payment is completed after PostgreSQL has lost its write %i, which was already copied to DynamoDB',
  async (nth) => {
    const { system, violations } = await play(
      {
        // With this seed, the transitions of the lost write are copied before the loss, for either value of `nth`.
        seed: 1,
        profile: 'mishaps',
        steps: [
          { ...SHAPE, atMs: 0, id: 1, actor: 'world', act: 'lost_tables', nth },
          { ...SHAPE, atMs: 1_000, id: 2, ...PAYMENT },
        ],
        muted: [],
      },
      postgres,
    );
    expect(violations).toEqual([]);
    expect(system.restores).toHaveLength(1);
    const ledger = system.database
      .items(TABLES.ledger)
      .filter((item) => partitionOf(item).startsWith(LedgerRow.payment));
    expect(ledger.map(({ type }) => type)).toEqual(['payment.created', 'payment.completed']);
  },
);

test('personal data is copied to DynamoDB, and an erasure also erases the copy', async () => {
  const steps = [
    { ...SHAPE, atMs: 0, id: 1, ...PAYMENT, receipt: true },
    { ...SHAPE, atMs: 1_000, id: 2, ...PAYMENT, receipt: true },
    { ...SHAPE, atMs: 86_400_000, id: 3, actor: 'operator', act: 'erase', of: 1 },
  ];
  const { system, ends, violations } = await play({ seed: 1, profile: 'clients', steps, muted: [] }, postgres);
  expect(violations).toEqual([]);
  expect(ends.map(({ end }) => end)).toEqual(['201', '201', 'done']);
  const copies = system.account.database
    .items(TABLES.registry)
    .filter((item) => partitionOf(item).startsWith('DETAILS#'));
  expect(copies).toHaveLength(1);
});
