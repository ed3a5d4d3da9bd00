import { expect, test } from '@jest/globals';
import { PaymentsDesk } from '../support/payments-desk.ts';

test('a change that is under way elsewhere is waited for with Prefer: wait, and its answer replayed', async () => {
  const desk = new PaymentsDesk();
  const id = String((await desk.pay('pay')).body['id']);
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const slow = new PaymentsDesk({
    store: desk.store,
    clock: desk.clock,
    processor: {
      ...desk.processor,
      change: async (...call: Parameters<typeof desk.processor.change>) => {
        asked.resolve();
        await answered.promise;
        return desk.processor.change(...call);
      },
    },
  });
  const first = slow.change(`${id}/refunds`, 'r', { amount: 300 });
  await asked.promise;
  expect(await desk.change(`${id}/refunds`, 'r', { amount: 300 })).toMatchObject({ status: 409 });
  const sleepy = new PaymentsDesk({
    store: desk.store,
    processor: desk.processor,
    clock: {
      nowMs: () => desk.clock.nowMs(),
      sleep: async (ms: number) => {
        desk.clock.advance(ms);
        answered.resolve();
        await first;
      },
    },
  });
  const waited = await sleepy.change(`${id}/refunds`, 'r', { amount: 300 }, { headers: { prefer: 'wait=8' } });
  expect(waited.headers).toMatchObject({ 'Preference-Applied': 'wait=8', 'Idempotency-Replayed': 'true' });
  expect(waited.text).toBe((await first).text);
  expect(desk.processor.charges(id)[0]?.refunds).toHaveLength(1);
});
