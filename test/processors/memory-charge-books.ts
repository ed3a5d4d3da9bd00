import { RetryableError } from '../../lambdas/kernel/faults.ts';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import type { Fact, RefundFact } from '../../lambdas/payments/domain/facts.ts';
import type { CaptureMode, Dispute, Failure, Refund } from '../../lambdas/payments/domain/payment.ts';
import type { ProcessorCharge } from '../../lambdas/payments/domain/processor-charge.ts';
import type { ChangeOrder, ChangeOutcome, ChargeOrder } from '../../lambdas/payments/use/processor.ts';

/** A charge in the processor's own books: the oracle for "charged once". */
export interface MemoryCharge extends ProcessorCharge {
  readonly operationId: string;
  readonly paymentId: PaymentId;
  readonly capture: CaptureMode;
  readonly chargedAtMs: number;
}

/** A requested capture, void or refund that took effect, with the answer to its caller. */
interface MemoryChange {
  readonly order: ChangeOrder;
  readonly outcome: ChangeOutcome;
  readonly appliedAtMs: number;
}

/** Each method is a change at the processor. Ids are sequential. */
export interface MemoryChargeBooks {
  readonly all: readonly MemoryCharge[];
  /** Oldest first. */
  readonly performed: readonly MemoryChange[];
  /** The charge of a key that has not expired. */
  ofKey(operationId: string): MemoryCharge | undefined;
  /** Charges once per key; a known key returns its charge. */
  add(order: ChargeOrder, status: ProcessorCharge['status']): MemoryCharge;
  /** The change of a key that has not expired. */
  changeOfKey(operationId: string): MemoryChange | undefined;
  /**
   * Captures, voids or refunds once per key; a known key returns its stored answer. A change that the charge does not allow is
   * refused, and leaves the key unused.
   *
   * @param refundStatus of a refund that is made @default 'succeeded'
   */
  perform(order: ChangeOrder, refundStatus?: Refund['status']): ChangeOutcome;
  /** Changes a charge: the payer approves, the bank releases the hold, a fee becomes known. */
  change(chargeId: string, changes: Partial<ProcessorCharge>): void;
  /** Captures a pending, approved or authorized charge. */
  succeed(chargeId: string, capturedMinor?: number): void;
  refund(chargeId: string, amountMinor: number, status?: Refund['status']): string;
  setRefund(refundId: string, status: Refund['status']): void;
  dispute(chargeId: string, amountMinor: number): string;
  setDispute(disputeId: string, status: Dispute['status']): void;
}

export const DECLINE = { code: 'card_declined', message: 'The card was declined.' } as const;

/** Ids of charges, refunds and disputes: the kind and a sequence number. */
export type MemoryIds = (prefix: 'ch' | 're' | 'dp', count: number) => string;

export function createMemoryChargeBooks(
  clock: Pick<Clock, 'nowMs'>,
  keyRetentionMs: number,
  ids: MemoryIds = (prefix, count) => `${prefix}_${count}`,
): MemoryChargeBooks {
  const all: MemoryCharge[] = [];
  let made = 0;
  const newId = (prefix: 'ch' | 're' | 'dp'): string => {
    made += 1;
    return ids(prefix, made);
  };
  const ofKey = (operationId: string) =>
    all.findLast((charge) => charge.operationId === operationId && charge.chargedAtMs > clock.nowMs() - keyRetentionMs);
  const change = (chargeId: string, changes: Partial<ProcessorCharge>): void => {
    const index = all.findIndex((charge) => charge.chargeId === chargeId);
    const charge = all[index];
    invariant(charge !== undefined, `there is no charge ${chargeId}`);
    all[index] = { ...charge, ...changes };
  };
  const withSub = (holds: (charge: MemoryCharge) => boolean): MemoryCharge => {
    const charge = all.find(holds);
    invariant(charge !== undefined, 'there is no such refund or dispute');
    return charge;
  };

  return {
    all,
    ...performing(all, clock, keyRetentionMs),
    ofKey,
    add: (order, status) => ofKey(order.operationId) ?? addCharge(all, order, status, newId('ch'), clock.nowMs()),
    change,
    succeed: (chargeId, capturedMinor) => {
      const charge = withSub((each) => each.chargeId === chargeId);
      const { failure: _failure, actionUrl: _actionUrl, ...rest } = charge;
      all[all.indexOf(charge)] = { ...rest, status: 'succeeded', capturedMinor: capturedMinor ?? charge.amountMinor };
    },
    refund: (chargeId, amountMinor, status = 'succeeded') => {
      const { refunds } = withSub((each) => each.chargeId === chargeId);
      const refundId = newId('re');
      change(chargeId, { refunds: [...refunds, { kind: 'refund', refundId, chargeId, amountMinor, status }] });
      return refundId;
    },
    setRefund: (refundId, status) => {
      const { chargeId, refunds } = withSub((each) => each.refunds.some((refund) => refund.refundId === refundId));
      change(chargeId, {
        refunds: refunds.map((refund) => (refund.refundId === refundId ? { ...refund, status } : refund)),
      });
    },
    dispute: (chargeId, amountMinor) => {
      const { disputes } = withSub((each) => each.chargeId === chargeId);
      const disputeId = newId('dp');
      change(chargeId, {
        disputes: [...disputes, { kind: 'dispute', disputeId, chargeId, amountMinor, status: 'open' }],
      });
      return disputeId;
    },
    setDispute: (disputeId, status) => {
      const { chargeId, disputes } = withSub((each) => each.disputes.some((each_) => each_.disputeId === disputeId));
      change(chargeId, {
        disputes: disputes.map((dispute) => (dispute.disputeId === disputeId ? { ...dispute, status } : dispute)),
      });
    },
  };
}

function performing(
  all: MemoryCharge[],
  clock: Pick<Clock, 'nowMs'>,
  keyRetentionMs: number,
): Pick<MemoryChargeBooks, 'performed' | 'changeOfKey' | 'perform'> {
  const performed: MemoryChange[] = [];
  const changeOfKey = (operationId: string) =>
    performed.findLast(
      ({ order, appliedAtMs }) => order.operationId === operationId && appliedAtMs > clock.nowMs() - keyRetentionMs,
    );
  return {
    performed,
    changeOfKey,
    perform: (order, refundStatus = 'succeeded') => {
      const known = changeOfKey(order.operationId);
      if (known !== undefined) return known.outcome;
      const charge = all.find(({ chargeId }) => chargeId === order.chargeId);
      if (charge === undefined) {
        throw new RetryableError('processor_charge_unknown', 'The processor does not know the charge.');
      }
      const failure = refusalOf(order, charge);
      if (failure !== undefined) return { kind: 'refused', failure };
      const after = changed(order, charge, refundStatus);
      all[all.indexOf(charge)] = after;
      const outcome: ChangeOutcome = { kind: 'applied', facts: factsOfChange(order, after).slice(-1) };
      performed.push({ order, outcome, appliedAtMs: clock.nowMs() });
      return outcome;
    },
  };
}

/** With the error codes of the sandbox processor. */
function refusalOf({ change }: ChangeOrder, charge: MemoryCharge): Failure | undefined {
  const { status } = charge;
  switch (change.kind) {
    case 'capture':
      if (status !== 'authorized') {
        return { code: 'charge_not_capturable', message: `A ${status} charge cannot be captured.` };
      }
      return change.amountMinor > charge.amountMinor ? tooLarge(charge.amountMinor, 'captured') : undefined;
    case 'void':
      return status === 'authorized' || status === 'requires_action'
        ? undefined
        : { code: 'charge_not_voidable', message: `A ${status} charge cannot be voided.` };
    case 'refund': {
      if (status !== 'succeeded') {
        return { code: 'charge_not_refundable', message: `A ${status} charge cannot be refunded.` };
      }
      const leftMinor = charge.capturedMinor - refundedMinor(charge);
      if (leftMinor === 0) {
        return { code: 'charge_already_refunded', message: 'Everything that was captured has been refunded.' };
      }
      return change.amountMinor > leftMinor ? tooLarge(leftMinor, 'refunded') : undefined;
    }
  }
}

function tooLarge(leftMinor: number, done: string): Failure {
  return { code: 'amount_too_large', message: `At most ${leftMinor} can be ${done}.` };
}

function refundedMinor({ refunds }: MemoryCharge): number {
  return refunds.reduce((sum, { amountMinor, status }) => sum + (status === 'failed' ? 0 : amountMinor), 0);
}

function changed(
  { operationId, change }: ChangeOrder,
  charge: MemoryCharge,
  refundStatus: Refund['status'],
): MemoryCharge {
  switch (change.kind) {
    case 'capture':
      return { ...charge, status: 'succeeded', capturedMinor: change.amountMinor };
    case 'void': {
      const { actionUrl: _actionUrl, ...rest } = charge;
      return { ...rest, status: 'voided', cancelReason: 'requested' };
    }
    case 'refund': {
      const { chargeId } = charge;
      const { amountMinor } = change;
      const made: RefundFact = { kind: 'refund', refundId: operationId, chargeId, amountMinor, status: refundStatus };
      return { ...charge, refunds: [...charge.refunds, made] };
    }
  }
}

/** The change as the charge shows it, regardless of its requester. Several only for a refund whose key had expired. */
export function factsOfChange({ operationId, change }: ChangeOrder, charge: MemoryCharge): readonly Fact[] {
  const { chargeId, status, capturedMinor, feeMinor } = charge;
  switch (change.kind) {
    case 'capture':
      if (status !== 'succeeded') return [];
      return [{ kind: 'succeeded', chargeId, capturedMinor, ...(feeMinor === undefined ? {} : { feeMinor }) }];
    case 'void':
      return status === 'voided' ? [{ kind: 'voided', chargeId, reason: charge.cancelReason ?? 'requested' }] : [];
    case 'refund':
      return charge.refunds.filter(({ refundId }) => refundId === operationId);
  }
}

function addCharge(
  all: MemoryCharge[],
  { operationId, paymentId, amountMinor, currency, capture }: ChargeOrder,
  asked: ProcessorCharge['status'],
  chargeId: string,
  nowMs: number,
): MemoryCharge {
  const status = asked === 'succeeded' && capture === 'manual' ? 'authorized' : asked;
  const charge: MemoryCharge = {
    chargeId,
    operationId,
    paymentId,
    amountMinor,
    capturedMinor: status === 'succeeded' ? amountMinor : 0,
    currency,
    capture,
    status,
    ...(status === 'declined' ? { failure: DECLINE } : {}),
    ...(status === 'requires_action' ? { actionUrl: `https://processor.example/actions/${chargeId}` } : {}),
    refunds: [],
    disputes: [],
    createdAtSeconds: Math.floor(nowMs / 1000),
    chargedAtMs: nowMs,
  };
  all.push(charge);
  return charge;
}
