import { nameOfEvent } from '../../lambdas/events/domain/event.ts';
import { type PaymentEventOf, readEvent } from '../../lambdas/events/http/event-schemas.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { decide } from '../../lambdas/payments/domain/decide.ts';
import type { Fact } from '../../lambdas/payments/domain/facts.ts';
import { stateAfter } from '../../lambdas/payments/domain/payment-state.ts';
import { detailsOf, nextTransition, type Transition } from '../../lambdas/payments/domain/transition.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { requestedAt } from '../support/causes.ts';
import { paymentIdFor, pendingTransition } from './payment-fixtures.ts';

const RECORDED_AT_MS = 1_772_366_400_000;
const PAID: Fact = { kind: 'succeeded', chargeId: 'ch_1' };

export function refunded(refundId: string, amountMinor: number, failed = false): Fact {
  const refund = { kind: 'refund', refundId, chargeId: 'ch_1', amountMinor, createdAtMs: RECORDED_AT_MS } as const;
  return failed
    ? { ...refund, status: 'failed', failure: { code: 'expired_card', message: 'no' } }
    : { ...refund, status: 'succeeded' };
}

export function disputed(status: 'open' | 'won' | 'lost', amountMinor = 1000): Fact {
  return {
    kind: 'dispute',
    disputeId: 'dp_1',
    chargeId: 'ch_1',
    amountMinor,
    status,
    createdAtMs: RECORDED_AT_MS,
  };
}

/** Returns the transitions of a paid payment of 10.00 EUR, followed by the transitions that `facts` cause. */
export function chainOfPaid(
  key: string,
  metadata: Readonly<Record<string, string>>,
  facts: readonly Fact[] = [],
  reference?: string,
): readonly Transition[] {
  const chain: Transition[] = [withMetadata(pendingTransition(paymentIdFor(key), reference), metadata)];
  for (const fact of [PAID, ...facts]) {
    const newest = chain.at(-1);
    const state = stateAfter(chain);
    const decision = decide(fact, state);
    invariant(newest !== undefined && decision.kind === 'append', 'the fact causes no transition');
    chain.push(nextTransition(systemDigest, { newest, state }, decision.draft, requestedAt(newest.occurredAtMs + 900)));
  }
  return chain;
}

export function ledgerOf(chain: readonly Transition[]): Pick<PaymentStore, 'listTransitions'> {
  return {
    listTransitions: async (id, { afterSequence }) =>
      chain.filter(({ payment, sequence }) => payment.id === id && sequence > afterSequence),
  };
}

/** Returns the events as a consumer reads them. */
export function eventsOfPaid(...paid: Parameters<typeof chainOfPaid>): readonly PaymentEventOf[] {
  return eventsOf(systemDigest, chainOfPaid(...paid)).map((detail) => {
    const read = readEvent(nameOfEvent(detail.event), detail);
    invariant(read.kind === 'event', 'the event is unreadable');
    return read.event;
  });
}

/** The hash is not updated, because these tests do not check it. */
function withMetadata(first: Transition, metadata: Readonly<Record<string, string>>): Transition {
  return { ...first, first: { ...detailsOf(first), metadata } };
}
