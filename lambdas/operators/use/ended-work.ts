import { type OperationId, storedOperationId } from '../../kernel/ids.ts';
import { changeOf, isUnderWay, operationIdOf } from '../../payments/domain/change.ts';
import type { HoldChange, Payment, Refund } from '../../payments/domain/payment.ts';
import { parsePaymentId } from '../../payments/ids.ts';
import { chainOf } from '../../payments/use/payment-chain.ts';
import type { PaymentEnds, PaymentStore } from '../../payments/use/payment-store.ts';
import type { QueueEntry } from './queue-lists.ts';

type Change = HoldChange | Refund;

/**
 * Default page size of lists that call {@link readWork} for each entry. With these calls, a page makes at most 45 reads.
 * The list of work that needs a person also makes twelve reads for its counts, and one request to Amazon SQS for each
 * message queue that no function reads.
 */
export const WORK_PAGE = 15;

export type WorkReader = Pick<PaymentStore, 'readEnds'>;

interface WorkOfPayment {
  readonly payment: Payment;
  /** Undefined if the transition that began the change was not read. */
  readonly change?: Change | undefined;
  /** A job removes an ended entry at its next look-up. */
  readonly isEnded: boolean;
}

/**
 * Makes at most three calls.
 *
 * @returns undefined when the entry contains no payment id, or when there is no such payment
 */
export async function readWork(
  store: WorkReader,
  { about, part }: Pick<QueueEntry, 'about' | 'part'>,
  isHold: boolean,
): Promise<WorkOfPayment | undefined> {
  const paymentId = parsePaymentId(about ?? '');
  if (paymentId === undefined) return undefined;
  const operationId = storedOperationId(part ?? paymentId);
  const ends = await store.readEnds(paymentId, operationId);
  if (ends === undefined) return undefined;
  const { payment } = ends.newest;
  const change = changeAmong(ends, operationId);
  const isEnded = isHold ? payment.status !== 'requires_capture' : change !== undefined && hasEnded(change, ends);
  return { payment, change, isEnded };
}

/**
 * Undefined if the transition that began the change was not read. For a long chain, returns the change in its first
 * state.
 */
function changeAmong({ transitions, ofBucket }: PaymentEnds, operationId: OperationId): Change | undefined {
  if (transitions !== undefined) return changeOf(chainOf(transitions).state, operationId);
  const subject = ofBucket?.subject;
  if (subject?.kind !== 'refund' && subject?.kind !== 'capture' && subject?.kind !== 'void') return undefined;
  return operationIdOf(subject) === operationId ? subject : undefined;
}

/** True only if this is certain: in a long chain, only the newest transition shows it. */
function hasEnded(change: Change, { newest: { payment, sums }, transitions }: PaymentEnds): boolean {
  if (transitions !== undefined) return !isUnderWay(change, chainOf(transitions).state);
  // `reservedMinor` contains only the pending refunds of the payment's own charge.
  if (change.kind === 'refund') return change.chargeId === payment.chargeId && sums?.reservedMinor === 0;
  return payment.status !== 'requires_capture' && payment.status !== 'requires_action';
}
