import { defined } from '../../kernel/defined.ts';
import { invariant } from '../../kernel/invariant.ts';
import { book } from './bookings.ts';
import { moneyOf } from './charge-money.ts';
import type { ChargeFact, DisputeFact, Fact, FeeFact, ForeignChargeFact, RefundFact } from './facts.ts';
import { type Fees, feeList, increaseOfFees, sumFees } from './fees.ts';
import type { Dispute, Failure, Payment, StrayCharge, TransitionDraft } from './payment.ts';
import { asProcessorFailure, CHARGE_VANISHED, isOwnFailure, NOT_ATTEMPTED, WRONG_AMOUNT } from './payment.ts';
import type { PaymentState } from './payment-state.ts';
import type { Posting } from './posting.ts';
import { netDebitMinor } from './posting.ts';
import type { Cell, ChargeRow, RefundStatus } from './state-tables.ts';
import { CHARGE_TABLE, DISPUTE_TABLE, REFUND_TABLE } from './state-tables.ts';

export type Decision =
  | {
      readonly kind: 'append';
      readonly draft: TransitionDraft;
      /**
       * Set when the fact contradicts an earlier response to the merchant. The fact is posted nevertheless, and an
       * alarm reports the contradiction.
       */
      readonly contradicts?: string;
    }
  | { readonly kind: 'nothing'; readonly because: string }
  /** The fact is impossible. Nothing is posted, and an alarm reports the fact. */
  | { readonly kind: 'review'; readonly because: string };

type Append = Extract<Cell, { does: 'append' }>;

/**
 * A fact that is already known changes nothing, no matter who reports it. A contradiction never returns a payment to an
 * earlier status.
 */
export function decide(fact: Fact, state: PaymentState): Decision {
  switch (fact.kind) {
    case 'refund':
      return decideRefund(fact, state);
    case 'dispute':
      return decideDispute(fact, state);
    case 'fee':
      return decideFee(fact, state);
    case 'foreign_charge':
      return decideForeign(fact, state);
    case 'pending':
    case 'action_required':
    case 'authorized':
    case 'succeeded':
    case 'declined':
    case 'rejected':
    case 'voided':
    case 'unknown':
    case 'not_attempted':
    case 'undecidable':
      return decideCharge(fact, state);
  }
}

const KNOWN: Decision = { kind: 'nothing', because: 'already known' };
const review = (because: string): Decision => ({ kind: 'review', because });

// ---------------------------------------------------------------------------------------------------------------- charges

function decideCharge(fact: ChargeFact, state: PaymentState): Decision {
  const { payment } = state;
  if (isOfAnotherCharge(fact, payment)) return decideForeign(toForeignFact(fact, payment), state);
  // Someone has changed the metadata of a stray charge at the processor, so that the charge looks like the payment's
  // own charge. The money of the stray charge may already be on its way back to the payer.
  if (isStrayOf(fact, state) && payment.status === 'processing')
    return review('the metadata of a stray charge names the operation of the payment');
  const cell = CHARGE_TABLE[rowOf(fact, payment)][payment.status];
  if (cell.does !== 'append') return passOn(cell);
  if (isInReview(fact, payment)) return { kind: 'nothing', because: 'an operator is reviewing this charge' };
  if (cell.posts === 'late_receipt') return strayFound(cell, toForeignFact(fact, payment), state);
  if (cell.type === 'payment.processing' && !addsInformation(fact, state)) return KNOWN;
  const after = settled(payment, cell, interpreted(fact, state));
  const { amountCapturedMinor: amountMinor, currency } = after;
  return appended(cell, after, book(cell.posts, { amountMinor, currency, fees: feeList(after, currency) }));
}

function rowOf(fact: ChargeFact, payment: Payment): ChargeRow {
  if (fact.kind === 'rejected') return 'declined';
  if (fact.kind === 'not_attempted' && payment.chargeId !== undefined) return 'vanished';
  // The processor has the charge and will report its result. Until then, an operator could not find out more than
  // Payonce can.
  if (fact.kind === 'undecidable' && payment.chargeId !== undefined) return 'unknown';
  if (fact.kind === 'declined' && fact.chargeId !== undefined && fact.chargeId === payment.chargeId) return 'revoked';
  return fact.kind === 'succeeded' && !isAsOrdered(fact, payment) ? 'wrong_amount' : fact.kind;
}

type Succeeded = Extract<ChargeFact, { kind: 'succeeded' }>;

function isAsOrdered({ capturedMinor, currency }: Succeeded, payment: Payment): boolean {
  if (currency !== undefined && currency !== payment.currency) return false;
  const captured = capturedMinor ?? payment.amountMinor;
  if (payment.status === 'succeeded') return captured === payment.amountCapturedMinor;
  return payment.capture === 'manual'
    ? captured > 0 && captured <= payment.amountMinor
    : captured === payment.amountMinor;
}

/** A processor can create a second charge if it does not recognize a reused idempotency key. */
function isOfAnotherCharge(fact: ChargeFact, { chargeId }: Payment): boolean {
  return 'chargeId' in fact && fact.chargeId !== undefined && chargeId !== undefined && fact.chargeId !== chargeId;
}

function isStrayOf(fact: ChargeFact, { strayCharges }: PaymentState): boolean {
  return 'chargeId' in fact && fact.chargeId !== undefined && strayCharges.has(fact.chargeId);
}

/**
 * Returns whether the fact reports a capture that an operator is reviewing because of its amount. Only the operator may
 * decide about this money.
 */
function isInReview(fact: ChargeFact, { status, failure, chargeId }: Payment): boolean {
  const same = fact.kind === 'succeeded' && fact.chargeId === chargeId;
  return same && status === 'needs_review' && failure?.code === WRONG_AMOUNT;
}

function toForeignFact(fact: ChargeFact, payment: Payment): ForeignChargeFact {
  const status = fact.kind === 'succeeded' ? 'captured' : fact.kind === 'authorized' ? 'authorized' : 'none';
  const { capturedMinor, currency } = fact.kind === 'succeeded' ? fact : {};
  return {
    kind: 'foreign_charge',
    chargeId: ('chargeId' in fact ? fact.chargeId : undefined) ?? '',
    status,
    amountMinor: capturedMinor ?? payment.amountMinor,
    currency: currency ?? payment.currency,
  };
}

/** `payment.processing` is recorded once, and a second time when the charge id becomes known. */
function addsInformation(fact: ChargeFact, { payment, isProcessingRecorded }: PaymentState): boolean {
  return !isProcessingRecorded || (fact.kind === 'pending' && payment.chargeId === undefined);
}

/** Only the pending transition of Payonce's own void contains the reason `expired`. */
function interpreted(fact: ChargeFact, { holdChanges }: PaymentState): ChargeFact {
  if (fact.kind !== 'voided' || fact.reason !== 'requested') return fact;
  const isOurs = [...holdChanges.values()].some(({ status, reason }) => status === 'pending' && reason === 'expired');
  return isOurs ? { ...fact, reason: 'expired' } : fact;
}

/** Applies the fact to the payment, and drops the fields that apply only to the previous status. */
function settled(payment: Payment, { status = payment.status }: Append, fact: ChargeFact): Payment {
  const { actionUrl: _actionUrl, cancelReason: _cancelReason, failure: _failure, ...lasting } = payment;
  const chargeId = 'chargeId' in fact && fact.chargeId !== undefined ? { chargeId: fact.chargeId } : {};
  const after: Payment = { ...lasting, ...chargeId, status };
  switch (fact.kind) {
    case 'succeeded':
      if (status === 'needs_review') return { ...after, failure: CAPTURED_WRONG_AMOUNT };
      return {
        ...after,
        amountCapturedMinor: fact.capturedMinor ?? payment.amountMinor,
        ...chargedFees(fact, payment),
      };
    case 'action_required':
      return { ...after, actionUrl: fact.actionUrl };
    case 'declined':
    case 'rejected':
      return { ...after, failure: asProcessorFailure(fact.failure) };
    case 'voided':
      return { ...after, cancelReason: fact.reason };
    case 'not_attempted':
      return { ...after, failure: status === 'failed' ? ABSENT : VANISHED };
    case 'undecidable':
      return { ...after, failure: UNDECIDABLE };
    case 'pending':
    case 'authorized':
    case 'unknown':
      return after;
  }
}

const ABSENT: Failure = {
  code: NOT_ATTEMPTED,
  message: 'The processor has no such charge, and Payonce will not request it again.',
};
const VANISHED: Failure = {
  code: CHARGE_VANISHED,
  message: 'The processor confirmed the charge earlier and no longer has it.',
};
const CAPTURED_WRONG_AMOUNT: Failure = {
  code: WRONG_AMOUNT,
  message: 'The processor charged a different amount than requested.',
};
const UNDECIDABLE: Failure = {
  code: 'outcome_undecidable',
  message: 'It cannot be determined whether the processor charged the payer.',
};
const LATE_SUCCESS: Failure = {
  code: 'late_success',
  message: 'The processor charged after the payment had ended. The money is returned.',
};

function decideFee(fact: FeeFact, { payment }: PaymentState): Decision {
  if (payment.chargeId !== fact.chargeId) return KNOWN;
  const cell = CHARGE_TABLE.fee[payment.status];
  if (cell.does !== 'append') return passOn(cell);
  const increases = increaseOfFees(payment, fact, payment.currency);
  if (increases.length === 0) return KNOWN;
  const { feeMinor: _feeMinor, otherFees: _otherFees, ...lasting } = payment;
  const postings = increases.flatMap((increase) => book(cell.posts, increase));
  return appended(cell, { ...lasting, ...chargedFees(fact, payment) }, postings);
}

function chargedFees(fees: Fees, { currency }: Payment): Fees {
  return sumFees(
    feeList(fees, currency).filter(({ amountMinor }) => amountMinor !== 0),
    currency,
  );
}

// ---------------------------------------------------------------------------------------------------------- stray charges

function decideForeign(fact: ForeignChargeFact, state: PaymentState): Decision {
  const { chargeId } = state.payment;
  // The charge's metadata was changed at the processor. The charge id shows that it is still the payment's own charge.
  if (fact.chargeId === chargeId && fact.status !== 'none') return decideCharge(toOwnFact(fact), state);
  const row = fact.status === 'none' ? 'stray_nothing' : 'stray_money';
  const cell = CHARGE_TABLE[row][state.payment.status];
  return cell.does === 'append' ? strayFound(cell, fact, state) : passOn(cell);
}

function toOwnFact({ chargeId, status, amountMinor, currency }: ForeignChargeFact): ChargeFact {
  return status === 'captured'
    ? { kind: 'succeeded', chargeId, capturedMinor: amountMinor, currency }
    : { kind: 'authorized', chargeId };
}

/**
 * Records a stray charge at most once as authorized and at most once as captured. The charge's status determines
 * whether the charge is voided or refunded.
 */
function strayFound(cell: Append, fact: ForeignChargeFact, { payment, strayCharges }: PaymentState): Decision {
  const { chargeId, amountMinor, currency } = fact;
  const status = fact.status === 'captured' ? 'captured' : 'authorized';
  const known = strayCharges.get(chargeId);
  if (known?.status === 'captured' || known?.status === status) return KNOWN;
  if (amountMinor <= 0) return { kind: 'nothing', because: 'no money' };
  const subject: StrayCharge = { kind: 'stray_charge', chargeId, amountMinor, currency, status };
  // A hold is not posted: no money has moved.
  const postings = status === 'captured' ? book(cell.posts, { amountMinor, currency }) : [];
  const after: Payment =
    cell.status === undefined ? payment : { ...payment, status: cell.status, failure: LATE_SUCCESS };
  return appended(cell, after, postings, subject);
}

// -------------------------------------------------------------------------------------------------- refunds and disputes

function decideRefund(fact: RefundFact, state: PaymentState): Decision {
  const known = state.refunds.get(fact.refundId);
  if (known !== undefined && (known.amountMinor !== fact.amountMinor || known.chargeId !== fact.chargeId)) {
    return review('the amount or charge of a recorded refund changed');
  }
  const cell = REFUND_TABLE[refundRowOf(fact)][known === undefined ? 'none' : refundRowOf(known)];
  if (cell.does !== 'append') return passOn(cell);
  const money = moneyOf(fact.chargeId, state);
  if (money === undefined) return review('the refunded charge has no captured money');
  const { account, capturedMinor, refundedMinor, currency } = money;
  const { amountMinor } = fact;
  // A reported refund is limited only by the captured amount. Pending refunds and disputes limit the refunds that
  // Payonce begins.
  if (cell.posts === 'give_back' && amountMinor > capturedMinor - refundedMinor) {
    return review('the refund exceeds the captured amount');
  }
  const { payment } = state;
  const postings = book(cell.posts, { amountMinor, currency, account });
  const givenMinor = netDebitMinor('refunds', payment.currency, postings);
  const after: Payment = { ...payment, amountRefundedMinor: payment.amountRefundedMinor + givenMinor };
  // `failure` belongs to the earlier outcome. Only a pending refund has the other fields, because a refund with an
  // outcome is never resumed.
  const {
    failure: _failure,
    wholeAmount: _wholeAmount,
    answered: _answered,
    accepted: _accepted,
    ...lasting
  } = known ?? fact;
  return appended(cell, after, postings, {
    ...lasting,
    ...fact,
    ...otherCurrency(currency, payment),
    createdAtMs: timeOf(known ?? fact),
  });
}

/** Returns the time at which a refund or dispute was first recorded. Later transitions contain the same time. */
function timeOf({ createdAtMs }: RefundFact | DisputeFact): number {
  invariant(createdAtMs !== undefined, 'a fact about a new refund or dispute has no time');
  return createdAtMs;
}

function otherCurrency(currency: string, payment: Payment): { readonly currency?: string } {
  return currency === payment.currency ? {} : { currency };
}

function refundRowOf({ status, failure }: RefundFact): Exclude<RefundStatus, 'none'> {
  return status === 'failed' && failure !== undefined && isOwnFailure(failure) ? 'given_up' : status;
}

/**
 * Each transition contains all disputes of its payment, so this limit bounds the sizes of rows, transactions, events
 * and list pages. A payment rarely has more than one dispute.
 */
const MAX_DISPUTES = 50;

function decideDispute(fact: DisputeFact, state: PaymentState): Decision {
  const known = state.disputes.get(fact.disputeId);
  if (known === undefined && state.disputes.size >= MAX_DISPUTES) {
    return review('the payment already has the maximum number of disputes');
  }
  if (known !== undefined && (known.amountMinor !== fact.amountMinor || known.chargeId !== fact.chargeId)) {
    return review('the amount or charge of a recorded dispute changed');
  }
  const cell = DISPUTE_TABLE[fact.status][known?.status ?? 'none'];
  if (cell.does !== 'append') return passOn(cell);
  const disputed = moneyOf(fact.chargeId, state);
  if (disputed === undefined) return review('the disputed charge has no captured money');
  const postings = book(cell.posts, { amountMinor: fact.amountMinor, currency: disputed.currency });
  const { payment, disputes } = state;
  const subject: Dispute = {
    ...fact,
    ...otherCurrency(disputed.currency, payment),
    createdAtMs: timeOf(known ?? fact),
  };
  const all = new Map(disputes).set(subject.disputeId, subject);
  return appended(cell, { ...payment, disputes: [...all.values()] }, postings, subject);
}

function appended(
  { type, contradicts }: Append,
  payment: Payment,
  postings: readonly Posting[],
  subject?: TransitionDraft['subject'],
): Decision {
  return {
    kind: 'append',
    draft: { type, payment, postings, ...defined({ subject }) },
    ...defined({ contradicts }),
  };
}

function passOn(cell: Exclude<Cell, Append>): Decision {
  return { kind: cell.does, because: cell.because };
}
