import { expect, test } from '@jest/globals';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { change, paymentRequest } from '../payments/payment-fixtures.ts';
import { World } from '../world/world.ts';

const MINUTE_MS = 60_000;

test('a refund raises one alarm while the processor’s look-up contradicts its request', async () => {
  const world = new World();
  const alarms: string[][] = [];
  const alarm = (...raised: string[]) => void (raised[0] === 'undecidable' && alarms.push(raised));
  const live = async (minutes: number): Promise<void> => {
    for (let minute = 0; minute < minutes; minute += 1) {
      world.clock.advance(MINUTE_MS);
      await world.resolveClaims();
      await resolveInquiries({ ...world.tools, alarm });
    }
  };
  const payment = paymentRequest('contradicted');
  await world.pay(payment);
  await world.dieBeforeChange(change(payment, 'refund', { kind: 'refund', amountMinor: 1000 }));
  await world.processor.inside.correct(world.chargeOf(payment), { currency: 'USD' });
  await live(180);
  expect(alarms).toEqual([['undecidable', payment.paymentId]]);
  await world.processor.inside.correct(world.chargeOf(payment), { currency: 'EUR' });
  await live(60);
  expect((await world.chain(payment)).transitions.at(-1)?.type).toBe('refund.failed');
  expect(await world.store.inquiries()).toEqual([]);
});
