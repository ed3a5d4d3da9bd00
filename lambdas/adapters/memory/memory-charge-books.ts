import type { ChargeOrder, Clock } from '../../app/ports.ts';
import type { PaymentId } from '../../core/ids.ts';
import { invariant } from '../../core/invariant.ts';
import type { CaptureMode, Dispute, Refund } from '../../core/payment.ts';
import type { ProcessorCharge } from '../../core/processor-charge.ts';

/** A charge in the processor's own books: the oracle for "charged once". */
export interface MemoryCharge extends ProcessorCharge {
  readonly operationId: string;
  readonly paymentId: PaymentId;
  readonly capture: CaptureMode;
  readonly chargedAtMs: number;
}

/** Each method is a change that somebody makes at the processor; ids are counted. */
export interface MemoryChargeBooks {
  readonly all: readonly MemoryCharge[];
  /** The charge that a key still stands for. */
  ofKey(operationId: string): MemoryCharge | undefined;
  /** Charges once per key; a known key answers with its charge. */
  add(order: ChargeOrder, status: ProcessorCharge['status']): MemoryCharge;
  /** Changes a charge: the payer approves, the bank lets go, a fee becomes known. */
  change(chargeId: string, changes: Partial<ProcessorCharge>): void;
  /** Takes what was accepted, approved or set aside. */
  succeed(chargeId: string, capturedMinor?: number): void;
  refund(chargeId: string, amountMinor: number, status?: Refund['status']): string;
  setRefund(refundId: string, status: Refund['status']): void;
  dispute(chargeId: string, amountMinor: number): string;
  setDispute(disputeId: string, status: Dispute['status']): void;
}

export const DECLINE = { code: 'card_declined', message: 'The card was declined.' } as const;

/** Names of charges, refunds and disputes, by what they are and how many were made before. */
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
