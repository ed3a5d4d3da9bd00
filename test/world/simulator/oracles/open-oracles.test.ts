import { beforeEach, describe, expect, test } from '@jest/globals';
import { callback, paymentRequest } from '../../../payments/payment-fixtures.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

let harness: World;
let world: ReturnType<typeof watched>;

beforeEach(() => {
  harness = new World();
  world = watched(harness);
});

describe('an object that the processor has shown as open', () => {
  const ORACLE = 'what the processor has shown as open is in a queue';

  test('must be in a queue until it has an outcome', async () => {
    const request = paymentRequest('open');
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    await harness.processor.inside.refund(charge, 100, 'pending');
    await harness.processor.inside.dispute(charge, 100);
    const { chargeId } = await harness.processor.inside.charge({
      paymentId: request.paymentId,
      amountMinor: 1000,
      source: 'tok_async',
    });
    for (const each of [charge, chargeId]) await harness.deliver(callback(`open_${each}`, each));
    expect(world.atTheEnd()).not.toContain(ORACLE);
    for (const entry of await harness.store.inquiries()) await harness.store.closeInquiry(entry);
    const found = world.all().filter(({ oracle }) => oracle === ORACLE);
    expect(found.map(({ what }) => what.replace(/ \w+ of .*| of .*/, ''))).toEqual([
      'the pending refund',
      'the open dispute',
      'the charge, pending,',
    ]);
  });
});
