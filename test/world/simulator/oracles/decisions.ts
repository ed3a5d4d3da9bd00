/**
 * Oracle: an operator's decision agrees with the processor's books, unless the books could not be read at that time.
 */

import type { TransitionType } from '../../../../lambdas/payments/domain/payment.ts';
import type { ProcessorCharge } from '../../../../lambdas/payments/domain/processor-charge.ts';
import { decisionOf, type Transition } from '../../../../lambdas/payments/domain/transition.ts';
import type { Observed, Violation } from '../contract.ts';
import { booksOf } from '../processors.ts';
import type { Written } from './seen.ts';

/** Maximum time between reading the books and writing the decision, including retries, in milliseconds. */
const LOOK_MS = 30_000;

/**
 * Checks an operator's decisions about a payment. Two kinds of decisions are not checked: those that override the check
 * of the books, and those that the payment failed, because the charges of a failed payment are refunded.
 */
export function checkDecisions(
  { processors }: Pick<Observed, 'processors'>,
  id: string,
  chain: readonly Written<Transition>[],
): readonly Violation[] {
  return chain.flatMap(({ row, atMs }) => {
    const decision = row.cause.by === 'operator' ? decisionOf(row) : undefined;
    if (decision === undefined || decision.override === true || row.type === 'payment.failed') return [];
    const chargeId = row.subject?.kind === 'refund' ? row.subject.chargeId : row.payment.chargeId;
    const inside = processors[booksOf(row.payment)]?.inside;
    const charge = inside?.all.find((each) => each.chargeId === chargeId);
    const changedAtMs = inside?.changedAtMs(chargeId ?? '') ?? 0;
    // Do not check a charge that changed later: the books as the operator saw them are no longer available.
    if (charge !== undefined && changedAtMs >= atMs - LOOK_MS) return [];
    const what = charge === undefined ? missing(row, chargeId) : otherwise(row, charge);
    return what === undefined
      ? []
      : [{ oracle: 'a decision says what the processor shows', what: `${row.type}: ${what}`, about: id }];
  });
}

function missing({ type }: Transition, chargeId: string | undefined): string | undefined {
  return type.endsWith('.failed') ? undefined : `the processor has no charge ${chargeId}`;
}

/** Returns undefined if the charge does not differ from the decision. */
function otherwise({ type, payment, subject }: Transition, charge: ProcessorCharge): string | undefined {
  const { status, capturedMinor, currency, paymentId, refunds } = charge;
  const refund = subject?.kind === 'refund' ? subject : undefined;
  const own = refunds.find(({ refundId }) => refundId === refund?.refundId);
  const isShown: Partial<Record<TransitionType, boolean>> = {
    'payment.completed':
      capturedMinor === payment.amountCapturedMinor && currency === payment.currency && paymentId === payment.id,
    'payment.canceled': status === 'voided' || status === 'declined',
    'capture.failed': capturedMinor === 0,
    'void.failed': status !== 'voided',
    'refund.completed': refunds.some((each) => each.amountMinor === refund?.amountMinor && each.status === 'succeeded'),
    'refund.failed': own === undefined || own.status === 'failed',
  };
  if (isShown[type] !== false) return undefined;
  return refund === undefined
    ? `${charge.chargeId} is ${status} with ${capturedMinor} ${currency}, of ${paymentId}`
    : `${charge.chargeId} has refunds of ${refunds.map((each) => `${each.amountMinor} ${each.status}`).join(', ')}`;
}
