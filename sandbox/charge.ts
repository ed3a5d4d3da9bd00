import { defined } from '../lambdas/kernel/defined.ts';
import type { Charge, CreateCharge, Dispute, Refund } from '../lambdas/processors/sandbox/sandbox-api.ts';
import { type EventDraft, statusEvent } from './events.ts';

/** The response is 400, and nothing changes. */
export interface Refusal {
  readonly kind: 'refused';
  readonly code: string;
  readonly message: string;
}

type OperationAnswer =
  | { readonly status: 200; readonly body: Charge | Refund | Dispute }
  | { readonly status: 201; readonly body: Refund | Dispute };

export interface Change {
  readonly kind: 'changed';
  readonly charge: Charge;
  readonly events: readonly EventDraft[];
  readonly answer: OperationAnswer;
}

/** The charge does not change, because it has the requested state, or can no longer be completed. */
export interface NoChange {
  readonly kind: 'unchanged';
  readonly answer: OperationAnswer;
}

export type Decision = Change | NoChange | Refusal;

/** `wait` begins as `pending`, `ask` as `requires_action`; `succeed` and `decline` complete the charge immediately. */
export type Beginning = 'succeed' | 'decline' | 'wait' | 'ask';

/** With `succeed_short`, only half of the amount is charged, as if a bank had approved only a part. */
export type Ending = 'succeed' | 'succeed_short' | 'decline' | 'refuse';

const FAILURES = {
  decline: { code: 'card_declined', message: 'The card was declined.' },
  refuse: { code: 'action_refused', message: 'The payer refused.' },
} as const;

export interface NewCharge {
  readonly id: string;
  readonly order: CreateCharge;
  readonly beginning: Beginning;
  /** On this page, the payer approves or refuses. */
  readonly actionUrl: string | null;
  readonly withFee: boolean;
  readonly livemode: boolean;
  readonly createdSeconds: number;
}

export function newCharge({ id, order, beginning, actionUrl, withFee, livemode, createdSeconds }: NewCharge): Charge {
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
    ...defined({ return_url: order.return_url }),
    livemode,
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
 * A declined charge can still succeed, because some processors report a success late. Any other charge remains
 * unchanged, so that a redelivered task has no second effect.
 */
export function end(charge: Charge, ending: Ending): Change | NoChange {
  const open = charge.status === 'pending' || charge.status === 'requires_action';
  if (!open && !(charge.status === 'declined' && ending === 'succeed')) {
    return { kind: 'unchanged', answer: { status: 200, body: charge } };
  }
  return changed(ended(charge, ending));
}

function ended(charge: Charge, ending: Ending): Charge {
  if (ending === 'decline' || ending === 'refuse') {
    return { ...charge, status: 'declined', failure: FAILURES[ending], action_url: null };
  }
  const capturing = charge.capture === 'automatic';
  const taken = ending === 'succeed_short' ? Math.ceil(charge.amount / 2) : charge.amount;
  return {
    ...charge,
    status: capturing ? 'succeeded' : 'authorized',
    amount_captured: capturing ? taken : 0,
    failure: null,
    action_url: null,
  };
}

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

export function voidCharge(charge: Charge): Change | Refusal {
  if (charge.status !== 'authorized' && charge.status !== 'requires_action') {
    return refused('charge_not_voidable', `A ${charge.status} charge cannot be voided.`);
  }
  return changed(voided(charge, 'requested'));
}

/** The bank releases the hold, or the payer does not respond. */
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

/** Computed with integers, because floats would round some halves down. */
function feeOf(amount: number): number {
  const share = (BigInt(amount) * 29n + 500n) / 1_000n;
  return Math.min(Number(share) + 30, amount);
}

function changed(charge: Charge): Change {
  return { kind: 'changed', charge, events: [statusEvent(charge.status)], answer: { status: 200, body: charge } };
}

export function refused(code: string, message: string): Refusal {
  return { kind: 'refused', code, message };
}
