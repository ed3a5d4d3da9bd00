import { systemDigest } from '../../../../lambdas/kernel/platform/platform.ts';
import type { Payment, Refund, TransitionDraft } from '../../../../lambdas/payments/domain/payment.ts';
import { nextTransition } from '../../../../lambdas/payments/domain/transition.ts';
import type { CreatePayment } from '../../../../lambdas/payments/use/create-payment.ts';
import { BY_REQUEST } from '../../../support/causes.ts';
import type { World } from '../../world.ts';

export type Draft = Partial<TransitionDraft> & { payment?: Payment };

/** Appends the transition even if Payonce's rules forbid it. */
export async function appendTo(
  harness: World,
  request: CreatePayment,
  draft: Draft,
  occurredAtMs = harness.clock.nowMs(),
): Promise<void> {
  const chain = await harness.chain(request);
  const whole = { type: 'payment.fee_reported' as const, payment: chain.newest.payment, postings: [], ...draft };
  const occasion = { occurredAtMs, cause: BY_REQUEST };
  await harness.store.write([nextTransition(systemDigest, chain, whole, occasion)]);
}

export function refundOf(refundId: string, charge: string, changes: Partial<Refund> = {}): Refund {
  return {
    kind: 'refund',
    refundId,
    chargeId: charge,
    amountMinor: 700,
    status: 'pending',
    createdAtMs: 0,
    ...changes,
  };
}
