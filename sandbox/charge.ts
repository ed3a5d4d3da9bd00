import type { Charge, CreateCharge, Dispute, Refund } from '../lambdas/kernel/contract/sandbox-api.ts';
import { becoming, type EventDraft } from './events.ts';

/** A request that the charge's state does not allow. Answered with 400, changes nothing. */
export interface Refusal {
  readonly kind: 'refused';
  readonly code: string;
  readonly message: string;
}

/** What the caller is told. */
type OperationAnswer =
  | { readonly status: 200; readonly body: Charge | Refund | Dispute }
  | { readonly status: 201; readonly body: Refund | Dispute };

/** What the charge becomes, what the world is told of it, and the answer to the caller. */
export interface Change {
  readonly kind: 'changed';
  readonly charge: Charge;
  readonly events: readonly EventDraft[];
  readonly answer: OperationAnswer;
}

/** What was asked for is so already. */
export interface NoChange {
  readonly kind: 'unchanged';
  readonly answer: OperationAnswer;
}

export type Decision = Change | NoChange | Refusal;

/** How a charge starts. */
export type Beginning = 'succeed' | 'decline' | 'wait' | 'ask';

/** How a charge that was under way ends. */
export type Ending = 'succeed' | 'decline' | 'refuse';

const FAILURES = {
  decline: { code: 'card_declined', message: 'The card was declined.' },
  refuse: { code: 'action_refused', message: 'The payer refused.' },
} as const;

export interface NewCharge {
  readonly id: string;
  readonly order: CreateCharge;
  readonly beginning: Beginning;
  /** Where the payer approves or refuses, when asked. */
  readonly actionUrl: string | null;
  readonly withFee: boolean;
  /** Unix time. */
  readonly createdSeconds: number;
}

/** A charge as it enters the books. */
export function newCharge({ id, order, beginning, actionUrl, withFee, createdSeconds }: NewCharge): Charge {
  const waiting: Charge = {
    id,
    object: 'charge',
    amount: order.amount,
    amount_captured: 0,
    amount_refunded: 0,
    currency: order.currency,
    capture: order.capture,
    status: 'pending',
    failure: null,
    fee: withFee ? feeOf(order.amount) : null,
    action_url: null,
    void_reason: null,
    refunds: [],
    disputes: [],
    metadata: order.metadata,
    created: createdSeconds,
  };
  switch (beginning) {
    case 'wait':
      return waiting;
    case 'ask':
      return { ...waiting, status: 'requires_action', action_url: actionUrl };
    case 'succeed':
    case 'decline':
      return ended(waiting, beginning);
  }
}

/**
 * Ends a charge that is under way. A declined one may still succeed: some processors find out late. Whatever else has
 * happened stays, so that a redelivered task has no second effect.
 */
export function end(charge: Charge, ending: Ending): Change | NoChange {
  const open = charge.status === 'pending' || charge.status === 'requires_action';
  if (!open && !(charge.status === 'declined' && ending === 'succeed')) {
    return { kind: 'unchanged', answer: { status: 200, body: charge } };
  }
  return changed(ended(charge, ending));
}

function ended(charge: Charge, ending: Ending): Charge {
  if (ending !== 'succeed') {
    return { ...charge, status: 'declined', failure: FAILURES[ending], action_url: null };
  }
  const capturing = charge.capture === 'automatic';
  return {
    ...charge,
    status: capturing ? 'succeeded' : 'authorized',
    amount_captured: capturing ? charge.amount : 0,
    failure: null,
    action_url: null,
  };
}

/** Whether the payer refused a charge that asked. */
export function wasRefused(charge: Charge): boolean {
  return charge.failure?.code === FAILURES.refuse.code;
}

export function capture(charge: Charge, requested: number | undefined): Change | Refusal {
  if (charge.status !== 'authorized') {
    return refused('charge_not_capturable', `A ${charge.status} charge cannot be captured.`);
  }
  const amount = requested ?? charge.amount;
  if (amount > charge.amount) {
    return refused('amount_too_large', `At most ${charge.amount} can be captured.`);
  }
  return changed({
    ...charge,
    status: 'succeeded',
    amount_captured: amount,
    fee: charge.fee === null ? null : feeOf(amount),
  });
}

/** Lets money go that is set aside, or a question to the payer that is open. */
export function voidCharge(charge: Charge): Change | Refusal {
  if (charge.status !== 'authorized' && charge.status !== 'requires_action') {
    return refused('charge_not_voidable', `A ${charge.status} charge cannot be voided.`);
  }
  return changed(voided(charge, 'requested'));
}

/** What time does: the bank lets the money go, or the payer never answers. */
export function expireCharge(charge: Charge): Change | Refusal {
  switch (charge.status) {
    case 'authorized':
      return changed(voided(charge, 'expired'));
    case 'requires_action':
      return changed(voided(charge, 'abandoned'));
    case 'pending':
    case 'succeeded':
    case 'declined':
    case 'voided':
      return refused('charge_not_expirable', `A ${charge.status} charge cannot expire.`);
  }
}

function voided(charge: Charge, reason: NonNullable<Charge['void_reason']>): Charge {
  return { ...charge, status: 'voided', void_reason: reason, action_url: null };
}

/** 2.9 % rounded half up, and 30; never more than there is. In whole numbers, because floats would round some halves down. */
function feeOf(amount: number): number {
  const share = (BigInt(amount) * 29n + 500n) / 1_000n;
  return Math.min(Number(share) + 30, amount);
}

function changed(charge: Charge): Change {
  return { kind: 'changed', charge, events: [becoming(charge.status)], answer: { status: 200, body: charge } };
}

export function refused(code: string, message: string): Refusal {
  return { kind: 'refused', code, message };
}
