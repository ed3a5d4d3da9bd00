import type { Charge, Dispute, Refund } from '../lambdas/kernel/contract/sandbox-api.ts';
import { type Change, type Decision, type Refusal, refused } from './charge.ts';

export interface RefundRequest {
  /** Minor units. @default the remaining amount */
  readonly amount?: number | undefined;
  /** @default none */
  readonly metadata?: Refund['metadata'] | undefined;
}

/** Refunds a captured charge, in full or in part. */
export function refund(
  charge: Charge,
  refundId: string,
  { amount: requested, metadata = {} }: RefundRequest,
): Change | Refusal {
  if (charge.status !== 'succeeded') {
    return refused('charge_not_refundable', `A ${charge.status} charge cannot be refunded.`);
  }
  const left = charge.amount_captured - charge.amount_refunded;
  const amount = requested ?? left;
  if (left === 0) {
    return refused('charge_already_refunded', 'Everything that was captured has been refunded.');
  }
  if (amount > left) {
    return refused('amount_too_large', `At most ${left} can be refunded.`);
  }
  const made: Refund = { id: refundId, object: 'refund', charge: charge.id, amount, status: 'succeeded', metadata };
  return {
    kind: 'changed',
    charge: { ...charge, amount_refunded: charge.amount_refunded + amount, refunds: [...charge.refunds, made] },
    events: [{ type: 'refund.created', refund: refundId }],
    answer: { status: 201, body: made },
  };
}

/** Fails a refund: its amount returns to the charge. */
export function failRefund(charge: Charge, refundId: string): Decision {
  const found = charge.refunds.find(({ id }) => id === refundId);
  if (found === undefined) {
    return refused('invalid_request', `The charge has no refund ${refundId}.`);
  }
  if (found.status === 'failed') {
    return { kind: 'unchanged', answer: { status: 200, body: found } };
  }
  const failed: Refund = { ...found, status: 'failed' };
  return {
    kind: 'changed',
    charge: {
      ...charge,
      amount_refunded: charge.amount_refunded - found.amount,
      refunds: charge.refunds.map((one) => (one.id === refundId ? failed : one)),
    },
    events: [{ type: 'refund.failed', refund: refundId }],
    answer: { status: 200, body: failed },
  };
}

/** Opens a dispute, by default of the whole captured amount. A second call with the same id changes nothing. */
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

/** The amount of open and lost disputes. The amount of a won dispute has returned. */
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
