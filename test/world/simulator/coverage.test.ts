import { expect, test } from '@jest/globals';
import { moneyOf } from '../../../lambdas/payments/domain/charge-money.ts';
import { CHARGE_TABLE } from '../../../lambdas/payments/domain/state-tables.ts';
import { callback, paymentRequest } from '../../payments/payment-fixtures.ts';
import { World } from '../world.ts';
import {
  addReached,
  countCells,
  nothingReached,
  reachedBy,
  reachedUnreachableCells,
  reportReached,
} from './coverage.ts';
import { watched } from './oracles/watched.ts';

test('coverage counts the state-table cells, faults and act-fault pairs that histories reach, and lists those that no history reaches', async () => {
  const before = CHARGE_TABLE.succeeded.processing;
  const cells = countCells();
  const harness = new World();
  const { world } = watched(harness);
  const request = paymentRequest('reached', { source: 'tok_async' });
  await harness.pay(request);
  const charge = harness.chargeOf(request);
  await harness.processor.inside.decline(charge);
  await harness.deliver(callback('one', charge));
  await harness.processor.inside.approve(charge);
  await harness.deliver(callback('two', charge));
  expect(moneyOf(charge, (await harness.chain(request)).state)?.leftMinor).toBe(1000);
  const step = { id: 1, atMs: 0, actor: 'client', act: 'pay', source: 'tok_async' };
  const fault = {
    name: 'step 1/3',
    kind: 'crash_after' as const,
    label: 'dynamodb PutCommand',
    of: 'payments',
    atMs: 1,
  };
  const history = { seed: 1, profile: 'calm', steps: [step], muted: [] };
  const ends = [
    { step, end: '201' },
    { step, end: '409 change_in_progress' },
  ];
  const found = reachedBy({ ...world, faults: [fault] }, history, { cells, ends });
  const all = nothingReached();
  addReached(all, found);
  addReached(all, reachedBy({ ...world, faults: [] }, history, { cells, ends: [] }));
  expect(all.histories).toBe(2);
  expect(all.counts).toMatchObject({
    'cell charge pending × processing': 1,
    'cell charge succeeded × failed': 1,
    'fault F02': 1,
    'fault F21': 2,
    'pair pay × crash_after': 1,
  });
  const report = reportReached(all);
  expect(report).toContain('  never reached, although it can be reached: charge voided × succeeded');
  expect(report.find((line) => line.includes('dispute open × lost'))).toMatch('not reachable');
  expect(reachedUnreachableCells(all)).toEqual([]);
  addReached(all, { histories: 1, counts: { 'cell dispute open × lost': 1 } });
  expect(reachedUnreachableCells(all)).toHaveLength(1);
  expect(report).toContain('  never reached, although it can be reached: refund × crash_after');
  expect(report.find((line) => line.includes('F40'))).toMatch('not reachable');
  expect(report).toContain('act pay: 50 % of 2 steps took effect (else: 409 change_in_progress 1)');
  expect(report).toContain('act refund: never drawn');
  expect(CHARGE_TABLE.succeeded.processing).toBe(before);
});
