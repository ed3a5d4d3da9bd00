/** What operators decide is what the processor shows, unless its books could not be read. */

import type { TransitionType } from '../../../../lambdas/payments/domain/payment.ts';
import type { ProcessorCharge } from '../../../../lambdas/payments/domain/processor-charge.ts';
import { decisionOf, type Transition } from '../../../../lambdas/payments/domain/transition.ts';
import type { Observed, Violation } from '../contract.ts';
import { booksOf } from '../processors.ts';
import type { Written } from './seen.ts';

/** The longest time between the look at the books and the write of the decision, with calls that are repeated. Milliseconds. */
const LOOK_MS = 30_000;

/** A payment that is decided as failed says nothing of its charges: their money is returned. */
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
    // What the books showed before a change is not known any more.
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

/** What the charge shows, if it is something else. */
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
