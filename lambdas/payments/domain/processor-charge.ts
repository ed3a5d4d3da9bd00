import type { Mode, PaymentId } from '../../kernel/ids.ts';
import { chargeOperation, isOwnRefund, parsePaymentId, paymentOfPart } from '../ids.ts';
import type { DisputeFact, Fact, RefundFact } from './facts.ts';
import { type Fees, feesOf, isFeeReported } from './fees.ts';
import type { CancelReason, Failure, Payment } from './payment.ts';
import { asProcessorFailure } from './payment.ts';

export interface BooksIdentity {
  readonly name: string;
  readonly mode: Mode;
  readonly account: string;
}

/**
 * A refund in the processor's books. `refundId` is the operation id in the refund's metadata, if this id has the form
 * of a refund operation; otherwise, the processor's id of the refund.
 */
export interface ProcessorRefund extends RefundFact {
  /** The processor's id of the refund. Present when `refundId` is an operation id. */
  readonly processorId?: string;
}

export function refundName(
  processorId: string,
  operation: string | undefined,
): Pick<ProcessorRefund, 'refundId' | 'processorId'> {
  return isOwnRefund(operation) ? { refundId: operation, processorId } : { refundId: processorId };
}

/** A charge in the processor's books, converted to Payonce's terms. */
export interface ProcessorCharge extends Fees {
  readonly chargeId: string;
  /** The payment that the charge's metadata names. Absent when the metadata names no payment. */
  readonly paymentId?: PaymentId;
  readonly operationId?: string;
  readonly status: 'pending' | 'requires_action' | 'authorized' | 'succeeded' | 'declined' | 'voided';
  readonly amountMinor: number;
  readonly capturedMinor: number;
  readonly currency: string;
  readonly actionUrl?: string;
  readonly failure?: Failure;
  readonly cancelReason?: CancelReason;
  readonly refunds: readonly ProcessorRefund[];
  readonly disputes: readonly DisputeFact[];
  readonly createdAtSeconds: number;
}

/**
 * The operation id of a charge is the payment's id. Another user of the processor's account may have removed one of the
 * two fields. A charge that names no payment is treated as another program's charge, unless a callback names its
 * payment.
 */
export function namedPayment(metadata: Readonly<Record<string, string>>): PaymentId | undefined {
  return parsePaymentId(metadata['payment'] ?? '') ?? parsePaymentId(metadata['operation'] ?? '');
}

/**
 * Every user of the processor's account can write metadata. A charge that names another payment is a contradiction for
 * this payment: none of its facts is posted, and no request is sent for it.
 */
export function isOfAnotherPayment(
  { paymentId, operationId = '' }: Pick<ProcessorCharge, 'paymentId' | 'operationId'>,
  id: PaymentId | undefined,
): boolean {
  return [paymentId, parsePaymentId(operationId)].some((payment) => payment !== undefined && payment !== id);
}

export function isOwnCharge(
  { chargeId, operationId }: Pick<ProcessorCharge, 'chargeId' | 'operationId'>,
  payment: Pick<Payment, 'id' | 'chargeId'>,
): boolean {
  return chargeId === payment.chargeId || operationId === chargeOperation(payment.id);
}

/**
 * Lists all facts that a charge contains about its payment, in the order in which they happened. After all facts are
 * decided, the payment has the processor's state, even if callbacks were lost, redelivered or out of order.
 *
 * @param nowMs the creation time to set on refunds and disputes that are not recorded yet, in Unix milliseconds
 */
export function factsOf(
  charge: ProcessorCharge,
  payment: Pick<Payment, 'id' | 'chargeId'>,
  nowMs: number,
): readonly Fact[] {
  const { id: paymentId } = payment;
  return [
    ...(isOwnCharge(charge, payment) ? ownFacts(charge) : [foreignFact(charge)]),
    ...named(charge.refunds, paymentId).map((refund) => ({ ...asReported(refund), createdAtMs: nowMs })),
    ...charge.disputes.map((dispute) => ({ ...dispute, createdAtMs: nowMs })),
  ];
}

/**
 * A refund by Payonce gets the id of its operation, so that its response and its callbacks refer to the same refund.
 * Every user of the processor's account can write metadata. Therefore, a refund that names another payment's operation,
 * or an operation that an earlier refund already named, gets the processor's id.
 */
function named(refunds: readonly ProcessorRefund[], paymentId: PaymentId): readonly RefundFact[] {
  const taken = new Set<string>();
  return refunds.map(({ processorId, ...refund }) => {
    const isOwn = paymentOfPart(refund.refundId) === paymentId && !taken.has(refund.refundId);
    taken.add(refund.refundId);
    return isOwn || processorId === undefined ? refund : { ...refund, refundId: processorId };
  });
}

function asReported({ failure, ...refund }: RefundFact): RefundFact {
  return failure === undefined ? refund : { ...refund, failure: asProcessorFailure(failure) };
}

function ownFacts(charge: ProcessorCharge): readonly Fact[] {
  const { chargeId, status, capturedMinor, currency } = charge;
  switch (status) {
    case 'pending':
      return [{ kind: 'pending', chargeId }];
    case 'requires_action':
      // Treat the charge as pending: without a URL, the payer cannot be redirected.
      return charge.actionUrl === undefined
        ? [{ kind: 'pending', chargeId }]
        : [{ kind: 'action_required', chargeId, actionUrl: charge.actionUrl }];
    case 'authorized':
      return [{ kind: 'authorized', chargeId }];
    case 'succeeded': {
      const fees = feesOf(charge);
      const succeeded = { kind: 'succeeded' as const, chargeId, capturedMinor, currency, ...fees };
      return isFeeReported(fees) ? [succeeded, { kind: 'fee', chargeId, ...fees }] : [succeeded];
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
