import type { Charge, Dispute, Refund } from '../lambdas/processors/sandbox/sandbox-api.ts';
import { type Change, type Decision, type Refusal, refused } from './charge.ts';

export interface RefundRequest {
  /** In minor units. @default the remaining amount */
  readonly amount?: number | undefined;
  /** @default no metadata */
  readonly metadata?: Refund['metadata'] | undefined;
}

/**
 * Money that an open or lost dispute has withdrawn cannot be refunded, because the payer would receive it twice
 * (Stripe, error code `charge_disputed`).
 */
export function refund(
  charge: Charge,
  refundId: string,
  { amount: requested, metadata = {} }: RefundRequest,
  status: 'pending' | 'succeeded' = 'succeeded',
): Change | Refusal {
  if (charge.status !== 'succeeded') {
    return refused('charge_not_refundable', `A ${charge.status} charge cannot be refunded.`);
  }
  const disputed = amountDisputed(charge);
  const left = Math.max(0, charge.amount_captured - charge.amount_refunded - disputed);
  const amount = requested ?? left;
  if (disputed > 0 && (left === 0 || amount > left)) {
    return refused(
      'charge_disputed',
      `${disputed} of the charge has been charged back; at most ${left} can be refunded.`,
    );
  }
  if (left === 0) {
    return refused('charge_already_refunded', 'The whole captured amount has been refunded.');
  }
  if (amount > left) {
    return refused('amount_too_large', `At most ${left} can be refunded.`);
  }
  const made: Refund = { id: refundId, object: 'refund', charge: charge.id, amount, status, metadata };
  return {
    kind: 'changed',
    charge: { ...charge, amount_refunded: charge.amount_refunded + amount, refunds: [...charge.refunds, made] },
    events: [{ type: 'refund.created', refund: refundId }],
    answer: { status: 201, body: made },
  };
}

/**
 * A refund that has succeeded can still fail; a failed refund is final. If a refund fails, its amount returns to the
 * charge.
 */
export function endRefund(charge: Charge, refundId: string, status: 'succeeded' | 'failed'): Decision {
  const found = charge.refunds.find(({ id }) => id === refundId);
  if (found === undefined) {
    return refused('invalid_request', `The charge has no refund ${refundId}.`);
  }
  if (found.status === status) {
    return { kind: 'unchanged', answer: { status: 200, body: found } };
  }
  if (found.status === 'failed') {
    return refused('invalid_request', 'The refund has failed.');
  }
  const ended: Refund = { ...found, status };
  return {
    kind: 'changed',
    charge: {
      ...charge,
      amount_refunded: charge.amount_refunded - (status === 'failed' ? found.amount : 0),
      refunds: charge.refunds.map((one) => (one.id === refundId ? ended : one)),
    },
    events: [{ type: status === 'failed' ? 'refund.failed' : 'refund.updated', refund: refundId }],
    answer: { status: 200, body: ended },
  };
}

export function openDispute(charge: Charge, disputeId: string, requested: number | undefined): Decision {
  const opened = charge.disputes.find(({ id }) => id === disputeId);
  if (opened !== undefined) {
    return { kind: 'unchanged', answer: { status: 200, body: opened } };
  }
  if (charge.status !== 'succeeded') {
    return refused('charge_not_disputable', `A ${charge.status} charge cannot be disputed.`);
  }
  const amount = requested ?? charge.amount_captured;
  const left = charge.amount_captured - amountDisputed(charge);
  if (amount > left) {
    return refused('amount_too_large', `At most ${left} can be disputed.`);
  }
  const made: Dispute = { id: disputeId, object: 'dispute', charge: charge.id, amount, status: 'open' };
  return {
    kind: 'changed',
    charge: { ...charge, disputes: [...charge.disputes, made] },
    events: [{ type: 'dispute.opened', dispute: disputeId }],
    answer: { status: 201, body: made },
  };
}

/** The merchant gets the amounts of won disputes back. */
function amountDisputed(charge: Charge): number {
  return charge.disputes.reduce((sum, { amount, status }) => sum + (status === 'won' ? 0 : amount), 0);
}

export function closeDispute(charge: Charge, disputeId: string, outcome: 'won' | 'lost'): Decision {
  const found = charge.disputes.find(({ id }) => id === disputeId);
  if (found === undefined) {
    return refused('invalid_request', `The charge has no dispute ${disputeId}.`);
  }
  if (found.status === outcome) {
    return { kind: 'unchanged', answer: { status: 200, body: found } };
  }
  if (found.status !== 'open') {
    return refused('invalid_request', `The dispute was ${found.status}.`);
  }
  const closed: Dispute = { ...found, status: outcome };
  return {
    kind: 'changed',
    charge: { ...charge, disputes: charge.disputes.map((one) => (one.id === disputeId ? closed : one)) },
    events: [{ type: 'dispute.closed', dispute: disputeId }],
    answer: { status: 200, body: closed },
  };
}
