import { defined } from '../../kernel/defined.ts';
import type { OperationId } from '../../kernel/ids.ts';
import { moneyOf } from './charge-money.ts';
import type { Decision } from './decide.ts';
import { decide } from './decide.ts';
import type { Failure, HoldChange, Payment, Refund, TransitionDraft } from './payment.ts';
import type { PaymentState } from './payment-state.ts';
import type { Transition } from './transition.ts';

export type ChangeCommand =
  /** `amountMinor` defaults to the authorized amount. */
  | { readonly kind: 'capture'; readonly amountMinor?: number }
  /** `reason` is set only by Payonce, when it voids a hold that was not captured in time. */
  | { readonly kind: 'cancel'; readonly reason?: 'expired' }
  /** `amountMinor` defaults to the remaining amount. */
  | { readonly kind: 'refund'; readonly amountMinor?: number; readonly reason?: string };

/** Payonce sends a processor no other changes. */
export interface ChangeAbilities {
  readonly partialCapture: boolean;
  readonly refund: boolean;
  readonly partialRefund: boolean;
}

/** The refusals, in order of precedence. A refusal is not stored: the same idempotency key may succeed later. */
export type ChangeRefusal =
  | { readonly kind: 'wrong_status'; readonly status: Payment['status'] }
  /** A capture or cancellation of the payment is in progress. */
  | { readonly kind: 'change_in_progress' }
  | { readonly kind: 'too_many_refunds' }
  | { readonly kind: 'exceeds'; readonly leftMinor: number }
  | UnsupportedChange;

export interface UnsupportedChange {
  readonly kind: 'unsupported';
  readonly ability: 'partial captures' | 'refunds' | 'partial refunds';
  /** The only possible amount, in minor units. Undefined if no amount is possible. */
  readonly onlyMinor: number | undefined;
}

/**
 * Maximum number of refunds of one payment, including failed refunds. It is lower than the number that processors'
 * look-ups can return (1,000 at Stripe) and than the maximum length of a chain, so that a look-up always finds a refund
 * whose response was lost.
 */
export const MAX_REFUNDS = 500;

export type ChangeDecision = { readonly kind: 'begin'; readonly draft: TransitionDraft } | ChangeRefusal;

export type PendingChange = (HoldChange | Refund) & { readonly status: 'pending' };

/**
 * The pending transition of the change reserves its amount: two refunds of 70 out of 100 cannot both begin, and a
 * capture and a cancellation exclude each other.
 */
export function decideChange(
  command: ChangeCommand,
  operationId: OperationId,
  state: PaymentState,
  nowMs: number,
): ChangeDecision {
  switch (command.kind) {
    case 'capture':
      return decideCapture(command.amountMinor, operationId, state);
    case 'cancel':
      return decideCancel(command, operationId, state);
    case 'refund':
      return decideRefund(command, operationId, state, nowMs);
  }
}

function decideCapture(requested: number | undefined, operationId: OperationId, state: PaymentState): ChangeDecision {
  const { payment } = state;
  if (payment.status !== 'requires_capture') return { kind: 'wrong_status', status: payment.status };
  if (isHoldChanging(state)) return { kind: 'change_in_progress' };
  const amountMinor = requested ?? payment.amountMinor;
  if (amountMinor > payment.amountMinor) return { kind: 'exceeds', leftMinor: payment.amountMinor };
  const capture: PendingChange = { kind: 'capture', operationId, amountMinor, status: 'pending' };
  return begin('capture.pending', payment, requested === undefined ? { ...capture, wholeAmount: true } : capture);
}

function decideCancel(
  { reason }: Extract<ChangeCommand, { kind: 'cancel' }>,
  operationId: OperationId,
  state: PaymentState,
): ChangeDecision {
  const { payment } = state;
  const isWithPayer = payment.status === 'requires_action' && reason !== 'expired';
  const held = payment.status === 'requires_capture' || isWithPayer;
  if (!held || payment.chargeId === undefined) return { kind: 'wrong_status', status: payment.status };
  if (isHoldChanging(state)) return { kind: 'change_in_progress' };
  const amountMinor = payment.amountMinor;
  const subject = { kind: 'void', operationId, amountMinor, status: 'pending' } as const;
  return begin('void.pending', payment, reason === undefined ? subject : { ...subject, reason });
}

/** While true, no other capture or cancellation may begin. */
export function isHoldChanging({ sums }: PaymentState): boolean {
  return sums.holdChanges > 0;
}

function decideRefund(
  { amountMinor: requested, reason }: Extract<ChangeCommand, { kind: 'refund' }>,
  operationId: OperationId,
  state: PaymentState,
  createdAtMs: number,
): ChangeDecision {
  const { payment } = state;
  const { chargeId } = payment;
  if (payment.status !== 'succeeded' || chargeId === undefined) return { kind: 'wrong_status', status: payment.status };
  if (state.sums.refunds >= MAX_REFUNDS) return { kind: 'too_many_refunds' };
  const leftMinor = moneyOf(chargeId, state)?.leftMinor ?? 0;
  const amountMinor = requested ?? leftMinor;
  if (leftMinor <= 0 || amountMinor > leftMinor) return { kind: 'exceeds', leftMinor: Math.max(0, leftMinor) };
  const refund: PendingChange = {
    kind: 'refund',
    refundId: operationId,
    chargeId,
    amountMinor,
    status: 'pending',
    createdAtMs,
    ...(requested === undefined ? { wholeAmount: true } : {}),
  };
  return begin('refund.pending', payment, reason === undefined ? refund : { ...refund, reason });
}

export function unsupportedChange(
  { payment: { amountMinor }, subject }: TransitionDraft,
  state: PaymentState,
  abilities: ChangeAbilities,
): UnsupportedChange | undefined {
  const kind = 'unsupported';
  if (subject?.kind === 'capture' && !abilities.partialCapture && subject.amountMinor < amountMinor)
    return { kind, ability: 'partial captures', onlyMinor: amountMinor };
  if (subject?.kind !== 'refund') return undefined;
  const money = moneyOf(subject.chargeId, state);
  if (money === undefined || canRefund(abilities, subject.amountMinor, money.capturedMinor)) return undefined;
  if (!abilities.refund) return { kind, ability: 'refunds', onlyMinor: undefined };
  const onlyMinor = money.leftMinor === money.capturedMinor ? money.leftMinor : undefined;
  return { kind, ability: 'partial refunds', onlyMinor };
}

export function canRefund(abilities: ChangeAbilities, amountMinor: number, capturedMinor: number): boolean {
  return abilities.refund && (abilities.partialRefund || amountMinor === capturedMinor);
}

export function changeOf(state: PaymentState, operationId: OperationId): HoldChange | Refund | undefined {
  return state.refunds.get(operationId) ?? state.holdChanges.get(operationId);
}

/** A capture or cancellation has an outcome as soon as any actor has captured or voided the hold. */
export function isUnderWay(change: HoldChange | Refund, { payment }: PaymentState): change is PendingChange {
  if (change.status !== 'pending') return false;
  if (change.kind === 'refund') return true;
  return payment.status === 'requires_capture' || payment.status === 'requires_action';
}

/** Decides on a change that the processor refused, or provably never received. */
export function decideChangeFailed(change: PendingChange, failure: Failure, state: PaymentState): Decision {
  const now = changeOf(state, operationIdOf(change));
  if (now === undefined || !isUnderWay(now, state)) return { kind: 'nothing', because: 'the change has already ended' };
  if (now.kind === 'refund') return decide({ ...now, status: 'failed', failure }, state);
  const subject: HoldChange = { ...now, status: 'failed', failure };
  const type = now.kind === 'capture' ? 'capture.failed' : 'void.failed';
  return { kind: 'append', draft: { type, payment: state.payment, postings: [], subject } };
}

/** If the reason was erased, the command has none. */
export function commandOf(change: HoldChange | Refund): ChangeCommand {
  const amount = change.wholeAmount ? {} : { amountMinor: change.amountMinor };
  switch (change.kind) {
    case 'capture':
      return { kind: 'capture', ...amount };
    case 'void':
      return { kind: 'cancel' };
    case 'refund':
      return { kind: 'refund', ...amount, ...defined({ reason: change.reason }) };
  }
}

/**
 * Used when the request's record no longer exists. The chain stores no fingerprint of the request, so the fields are
 * compared; an erased reason is ignored.
 */
export function isRequestedBy(change: HoldChange | Refund, command: ChangeCommand): boolean {
  const begun = commandOf(change);
  if (begun.kind === 'cancel' || command.kind === 'cancel') return begun.kind === command.kind;
  if (begun.kind !== command.kind || begun.amountMinor !== command.amountMinor) return false;
  if (change.kind !== 'refund' || command.kind !== 'refund') return true;
  const isErased = change.commitment !== undefined && change.reason === undefined;
  return isErased || change.reason === command.reason;
}

/**
 * Creates the transition that marks a change as answered with 202. It is written in one transaction with the stored
 * response, so that no later response can differ, even if the record is lost.
 */
export function answeredAsPending(change: PendingChange, { payment }: PaymentState): TransitionDraft {
  const type = `${change.kind}.pending` as const;
  return { type, payment, postings: [], subject: { ...change, answered: true } };
}

export function acceptedAsPending(refund: Refund, { payment }: PaymentState): TransitionDraft {
  return { type: 'refund.pending', payment, postings: [], subject: { ...refund, accepted: true } };
}

export function begunAtMs(transitions: readonly Transition[], operationId: OperationId): number | undefined {
  return transitions.find(({ subject }) => {
    if (subject?.kind !== 'refund' && subject?.kind !== 'capture' && subject?.kind !== 'void') return false;
    return operationIdOf(subject) === operationId;
  })?.occurredAtMs;
}

export function operationIdOf(change: HoldChange | Refund): OperationId {
  return (change.kind === 'refund' ? change.refundId : change.operationId) as OperationId;
}

function begin(type: TransitionDraft['type'], payment: Payment, subject: PendingChange): ChangeDecision {
  return { kind: 'begin', draft: { type, payment, postings: [], subject } };
}
