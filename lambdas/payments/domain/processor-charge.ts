import type { PaymentId } from '../../kernel/ids.ts';
import { chargeOperation } from '../../kernel/ids.ts';
import type { Fact } from './facts.ts';
import type { CancelReason, Dispute, Failure, Refund } from './payment.ts';
import { ofProcessor } from './payment.ts';

/** A charge as it stands in the processor's books, in our words. Amounts in minor units. */
export interface ProcessorCharge {
  readonly chargeId: string;
  /** What its metadata says of us; undefined when it was not made by us. */
  readonly paymentId?: PaymentId;
  /** The operation that made it, by its metadata. */
  readonly operationId?: string;
  readonly status: 'pending' | 'requires_action' | 'authorized' | 'succeeded' | 'declined' | 'voided';
  readonly amountMinor: number;
  readonly capturedMinor: number;
  readonly currency: string;
  readonly feeMinor?: number;
  readonly actionUrl?: string;
  readonly failure?: Failure;
  readonly cancelReason?: CancelReason;
  readonly refunds: readonly Refund[];
  readonly disputes: readonly Dispute[];
  /** Unix seconds. */
  readonly createdAtSeconds: number;
}

/**
 * All that a charge tells about its payment, in the order in which it came to be: whatever callbacks were lost, doubled or
 * out of order, deciding these facts brings the payment to where the processor is.
 */
export function factsOf(charge: ProcessorCharge, paymentId: PaymentId): readonly Fact[] {
  const own = charge.operationId === chargeOperation(paymentId);
  return [...(own ? ownFacts(charge) : [foreignFact(charge)]), ...charge.refunds.map(asTold), ...charge.disputes];
}

function asTold({ failure, ...refund }: Refund): Refund {
  return failure === undefined ? refund : { ...refund, failure: ofProcessor(failure) };
}

function ownFacts(charge: ProcessorCharge): readonly Fact[] {
  const { chargeId, status, capturedMinor, currency, feeMinor } = charge;
  switch (status) {
    case 'pending':
      return [{ kind: 'pending', chargeId }];
    case 'requires_action':
      // Without an address nobody can be sent anywhere: it is only not settled yet.
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
