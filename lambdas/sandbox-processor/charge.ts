import type { Charge, CreateCharge, Refund } from '../contract/sandbox-api.ts';

/** A request that the charge's state does not allow. Answered with 400, changes nothing. */
export interface Refusal {
  readonly kind: 'refused';
  readonly code: string;
  readonly message: string;
}

/** What the charge becomes, and the answer to the caller. */
export interface Change {
  readonly kind: 'changed';
  readonly charge: Charge;
  readonly answer: { readonly status: 200; readonly body: Charge } | { readonly status: 201; readonly body: Refund };
}

/** A capture, void or refund as the caller asked for it. Amounts in minor units; without one, all that is left. */
export type Operation =
  | { readonly kind: 'capture'; readonly amount?: number | undefined }
  | { readonly kind: 'void' }
  | { readonly kind: 'refund'; readonly amount?: number | undefined; readonly refundId: string };

const DECLINE = { code: 'card_declined', message: 'The card was declined.' } as const;

/** A charge as it enters the books. `createdSeconds` is Unix time. */
export function newCharge(order: CreateCharge, accepted: boolean, id: string, createdSeconds: number): Charge {
  const succeeded = accepted && order.capture === 'automatic';
  return {
    id,
    object: 'charge',
    amount: order.amount,
    amount_captured: succeeded ? order.amount : 0,
    amount_refunded: 0,
    currency: order.currency,
    capture: order.capture,
    status: !accepted ? 'declined' : succeeded ? 'succeeded' : 'authorized',
    failure: accepted ? null : DECLINE,
    metadata: order.metadata,
    created: createdSeconds,
  };
}

/** Decides an operation on a charge; pure. */
export function decide(operation: Operation, charge: Charge): Change | Refusal {
  switch (operation.kind) {
    case 'capture':
      return capture(charge, operation.amount);
    case 'void':
      return voidCharge(charge);
    case 'refund':
      return refund(charge, operation.refundId, operation.amount);
  }
}

function capture(charge: Charge, requested: number | undefined): Change | Refusal {
  if (charge.status !== 'authorized') {
    return refused('charge_not_capturable', `A ${charge.status} charge cannot be captured.`);
  }
  const amount = requested ?? charge.amount;
  if (amount > charge.amount) {
    return refused('amount_too_large', `At most ${charge.amount} can be captured.`);
  }
  return changed({ ...charge, status: 'succeeded', amount_captured: amount });
}

function voidCharge(charge: Charge): Change | Refusal {
  if (charge.status !== 'authorized') {
    return refused('charge_not_voidable', `A ${charge.status} charge cannot be voided.`);
  }
  return changed({ ...charge, status: 'voided' });
}

function refund(charge: Charge, refundId: string, requested: number | undefined): Change | Refusal {
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
  const body: Refund = { id: refundId, object: 'refund', charge: charge.id, amount, status: 'succeeded' };
  return {
    kind: 'changed',
    charge: { ...charge, amount_refunded: charge.amount_refunded + amount },
    answer: { status: 201, body },
  };
}

function changed(charge: Charge): Change {
  return { kind: 'changed', charge, answer: { status: 200, body: charge } };
}

function refused(code: string, message: string): Refusal {
  return { kind: 'refused', code, message };
}
