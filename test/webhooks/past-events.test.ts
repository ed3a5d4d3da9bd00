import { expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import type { OutcomePlace } from '../../lambdas/payments/use/transition-reader.ts';
import { ledgerPastEvents } from '../../lambdas/webhooks/use/past-events.ts';
import { MemoryTransitions } from '../payments/memory-transitions.ts';
import { chains } from '../support/relay-desk.ts';

const CHAINS = chains(4);
const [FIRST] = CHAINS as [Transition];
const OF_ALL = { fromMs: 0, untilMs: FIRST.occurredAtMs + 120_000, limit: 10 };
const MINUTE_MS = 60_000;

/** A Ledger in which reading the payment that comes second goes wrong. */
function struck(error: Error) {
  const stored = new MemoryTransitions(() => CHAINS);
  const [, second] = [...new Set(CHAINS.map(({ payment }) => payment.id))].sort();
  return {
    second,
    transitions: {
      outcomesOfMinute: (minuteMs: number) => stored.outcomesOfMinute(minuteMs),
      readTransition: async (place: OutcomePlace) => {
        if (place.paymentId === second) throw error;
        return stored.readTransition(place);
      },
    },
  };
}

const { tenantId, mode } = FIRST.payment;
const query = { ...OF_ALL, fromMs: FIRST.occurredAtMs - MINUTE_MS, tenantId, mode };

test('past events are all there but the one that nobody can read, which is told of', async () => {
  const { transitions, second } = struck(new TypeError('not of a form that this code knows'));
  const reported: unknown[] = [];
  const past = ledgerPastEvents(transitions, systemDigest, (error) => void reported.push(error));
  const { events } = await past.page(query);
  const payments = [...new Set(CHAINS.map(({ payment }) => payment.id))].sort();
  expect(events.map(({ payment }) => payment.id)).toEqual(payments.filter((id) => id !== second));
  expect(reported).toEqual([expect.any(TypeError)]);
});

test('past events are asked for again while they cannot be read', async () => {
  const { transitions } = struck(new RetryableError('store_unavailable', 'not now'));
  const past = ledgerPastEvents(transitions, systemDigest, () => undefined);
  await expect(past.page(query)).rejects.toMatchObject({ code: 'store_unavailable' });
});
