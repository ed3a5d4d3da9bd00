import type { PaymentId } from '../../kernel/ids.ts';
import { chargeOperation } from '../../kernel/ids.ts';
import type { DisputeFact, Fact, RefundFact } from './facts.ts';
import type { CancelReason, Failure } from './payment.ts';
import { ofProcessor } from './payment.ts';

/** A charge in the processor's books, in Payonce's terms. Amounts in minor units. */
export interface ProcessorCharge {
  readonly chargeId: string;
  /** The payment id in the charge's metadata; undefined when Payonce did not make the charge. */
  readonly paymentId?: PaymentId;
  /** The operation id in the charge's metadata. */
  readonly operationId?: string;
  readonly status: 'pending' | 'requires_action' | 'authorized' | 'succeeded' | 'declined' | 'voided';
  readonly amountMinor: number;
  readonly capturedMinor: number;
  readonly currency: string;
  readonly feeMinor?: number;
  readonly actionUrl?: string;
  readonly failure?: Failure;
  readonly cancelReason?: CancelReason;
  readonly refunds: readonly RefundFact[];
  readonly disputes: readonly DisputeFact[];
  /** Unix seconds. */
  readonly createdAtSeconds: number;
}

/**
 * All facts of a charge about its payment, in the order in which they happened. Deciding them brings the payment to the
 * processor's state, even if callbacks were lost, repeated or out of order.
 *
 * @param nowMs the time of refunds and disputes that are not known yet; Unix milliseconds
 */
export function factsOf(charge: ProcessorCharge, paymentId: PaymentId, nowMs: number): readonly Fact[] {
  const own = charge.operationId === chargeOperation(paymentId);
  return [
    ...(own ? ownFacts(charge) : [foreignFact(charge)]),
    ...charge.refunds.map((refund) => ({ ...asTold(refund), createdAtMs: nowMs })),
    ...charge.disputes.map((dispute) => ({ ...dispute, createdAtMs: nowMs })),
  ];
}

function asTold({ failure, ...refund }: RefundFact): RefundFact {
  return failure === undefined ? refund : { ...refund, failure: ofProcessor(failure) };
}

function ownFacts(charge: ProcessorCharge): readonly Fact[] {
  const { chargeId, status, capturedMinor, currency, feeMinor } = charge;
  switch (status) {
    case 'pending':
      return [{ kind: 'pending', chargeId }];
    case 'requires_action':
      // Without an address the payer cannot be redirected, so the charge counts as pending.
      return charge.actionUrl === undefined
        ? [{ kind: 'pending', chargeId }]
        : [{ kind: 'action_required', chargeId, actionUrl: charge.actionUrl }];
    case 'authorized':
      return [{ kind: 'authorized', chargeId }];
    case 'succeeded': {
      const succeeded = { kind: 'succeeded' as const, chargeId, capturedMinor, currency };
      return feeMinor === undefined
        ? [succeeded]
        : [
            { ...succeeded, feeMinor },
            { kind: 'fee', chargeId, feeMinor },
          ];
    }
    case 'declined':
      return [{ kind: 'declined', chargeId, failure: charge.failure ?? NO_REASON }];
    case 'voided':
      return [{ kind: 'voided', chargeId, reason: charge.cancelReason ?? 'requested' }];
  }
}

const NO_REASON: Failure = { code: 'declined', message: 'The processor gave no reason.' };

function foreignFact({ chargeId, status, amountMinor, capturedMinor, currency }: ProcessorCharge): Fact {
  const fact = { kind: 'foreign_charge' as const, chargeId, currency };
  if (status === 'succeeded') return { ...fact, status: 'captured', amountMinor: capturedMinor };
  return { ...fact, status: status === 'authorized' ? 'authorized' : 'none', amountMinor };
}
