import { expect, test } from '@jest/globals';
import { newCharge } from '../../sandbox/charge.ts';
import { chargeItem } from '../../sandbox/dynamodb-rows.ts';

test('a refund from before metadata was stored is read without metadata', () => {
  const charge = newCharge({
    id: 'ch_1',
    order: { amount: 100, currency: 'EUR', source: 'tok_ok', capture: 'automatic', metadata: {} },
    beginning: 'succeed',
    actionUrl: null,
    withFee: false,
    createdSeconds: 1_767_225_600,
  });
  const old = { id: 're_1', object: 'refund', charge: 'ch_1', amount: 40, status: 'succeeded' };
  expect(chargeItem.parse({ version: 2, charge: { ...charge, refunds: [old] } }).charge.refunds).toEqual([
    { ...old, metadata: {} },
  ]);
});
