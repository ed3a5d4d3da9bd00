import { expect, test } from '@jest/globals';
import { Api } from '../world/api.ts';

test('a request with Prefer: wait waits until another process has made the same change, and replays that process’s response', async () => {
  const harness = new Api();
  const id = String((await harness.pay('pay')).body['id']);
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const slow = harness.with({
    processor: {
      ...harness.processor,
      change: async (...call: Parameters<typeof harness.processor.change>) => {
        asked.resolve();
        await answered.promise;
        return harness.processor.change(...call);
      },
    },
  });
  const first = slow.change(`${id}/refunds`, 'r', { amount: 300 });
  await asked.promise;
  expect(await harness.change(`${id}/refunds`, 'r', { amount: 300 })).toMatchObject({ status: 409 });
  const sleepy = new Api({
    store: harness.store,
    processor: harness.processor,
    clock: {
      nowMs: () => harness.clock.nowMs(),
      sleep: async (ms: number) => {
        harness.clock.advance(ms);
        answered.resolve();
        await first;
      },
    },
  });
  const waited = await sleepy.change(`${id}/refunds`, 'r', { amount: 300 }, { headers: { prefer: 'wait=8' } });
  expect(waited.headers).toMatchObject({ 'Preference-Applied': 'wait=8', 'Idempotency-Replayed': 'true' });
  expect(waited.text).toBe((await first).text);
  expect(harness.processor.charges(id)[0]?.refunds).toHaveLength(1);
});
