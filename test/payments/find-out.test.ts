import { expect, test } from '@jest/globals';
import { SEND_WINDOW_MS } from '../../lambdas/payments/domain/settlement.ts';
import { findOut } from '../../lambdas/payments/use/find-out.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

/** The read of the chain before a send takes `readMs`. @returns the timeouts of the sends, in milliseconds */
async function sendsAfterSlowRead({
  claimedMsAgo,
  readMs,
  leftMs,
}: Record<string, number>): Promise<readonly number[]> {
  const clock = new SimulatedClock();
  const abilities = { lookup: { kind: 'strong' }, keyRetentionMs: 86_400_000 } as const;
  const underway = {
    claimedAtMs: clock.nowMs() - (claimedMsAgo ?? 0),
    sent: 'maybe',
    answerByMs: clock.nowMs() + (leftMs ?? 0),
  } as const;
  const timeouts: number[] = [];
  await findOut<string>({ abilities, clock, entropy: countingEntropy() }, underway, {
    mayBeSent: async () => {
      clock.advance(readMs ?? 0);
      return true;
    },
    send: async ({ timeoutMs }) => {
      timeouts.push(timeoutMs);
      return 'sent';
    },
    lookUp: async () => ({ kind: 'absent' as const }),
    isRefusal: () => false,
  });
  return timeouts;
}

test('a slow read of the chain before a send shortens the send timeout to leave time for the commit', async () => {
  expect(await sendsAfterSlowRead({ readMs: 4_000, leftMs: 10_000 })).toEqual([3_000]);
});

test('nothing is sent if a slow read of the chain leaves no time for the send', async () => {
  expect(await sendsAfterSlowRead({ readMs: 6_500, leftMs: 10_000 })).toEqual([]);
});

test('nothing is sent if the send window closes during a slow read of the chain', async () => {
  const claimedMsAgo = SEND_WINDOW_MS - 1_000;
  expect(await sendsAfterSlowRead({ claimedMsAgo, readMs: 2_000, leftMs: 20_000 })).toEqual([]);
});
