/**
 * Derives amounts from a payment's chain without production code: captured, refunded, reserved and disputed amounts per
 * charge, and posted amounts per account.
 */
import type { Transition } from '../../../../lambdas/payments/domain/transition.ts';
import type { Written } from './seen.ts';

interface RefundSeen {
  readonly amountMinor: number;
  readonly status: 'pending' | 'succeeded' | 'failed';
  readonly failureCode?: string;
  /** In Unix milliseconds of simulated time. */
  readonly begunAtMs: number;
}

export interface ChargeSeen {
  readonly isOwn: boolean;
  readonly status: 'authorized' | 'captured';
  readonly capturedMinor: number;
  readonly currency: string;
  readonly refunds: Map<string, RefundSeen>;
  readonly disputes: Map<string, { readonly amountMinor: number; readonly status: 'open' | 'won' | 'lost' }>;
}

/** In minor units. */
export interface Left {
  readonly refundedMinor: number;
  readonly pendingMinor: number;
  readonly disputedMinor: number;
  readonly leftMinor: number;
}

export type Accounts = Readonly<Record<string, number>>;

/** Returns the charges that captured money or are holds according to a payment's chain, by id. */
export function chargesOf(chain: readonly Written<Transition>[]): ReadonlyMap<string, ChargeSeen> {
  const charges = new Map<string, ChargeSeen>();
  const newest = chain.at(-1)?.row.payment;
  const refunds = new Map<string, Map<string, RefundSeen>>();
  const disputes = new Map<string, ChargeSeen['disputes']>();
  const partsOf = <Part>(parts: Map<string, Map<string, Part>>, chargeId: string): Map<string, Part> => {
    const found = parts.get(chargeId) ?? new Map<string, Part>();
    parts.set(chargeId, found);
    return found;
  };
  if (newest?.chargeId !== undefined && newest.amountCapturedMinor > 0) {
    charges.set(newest.chargeId, {
      isOwn: true,
      status: 'captured',
      capturedMinor: newest.amountCapturedMinor,
      currency: newest.currency,
      refunds: partsOf(refunds, newest.chargeId),
      disputes: partsOf(disputes, newest.chargeId),
    });
  }
  for (const { row, atMs } of chain) {
    const { subject } = row;
    if (subject?.kind === 'stray_charge') {
      const { chargeId, amountMinor, currency, status } = subject;
      charges.set(chargeId, {
        isOwn: false,
        status,
        capturedMinor: status === 'captured' ? amountMinor : 0,
        currency,
        refunds: partsOf(refunds, chargeId),
        disputes: partsOf(disputes, chargeId),
      });
    } else if (subject?.kind === 'refund') {
      const parts = partsOf(refunds, subject.chargeId);
      const { amountMinor, status, failure } = subject;
      const begunAtMs = parts.get(subject.refundId)?.begunAtMs ?? atMs;
      const failureCode = failure === undefined ? {} : { failureCode: failure.code };
      parts.set(subject.refundId, { amountMinor, status, begunAtMs, ...failureCode });
    } else if (subject?.kind === 'dispute') {
      const { amountMinor, status } = subject;
      partsOf(disputes, subject.chargeId).set(subject.disputeId, { amountMinor, status });
    }
  }
  return charges;
}

export function leftOf({ capturedMinor, refunds, disputes }: ChargeSeen): Left {
  const all = [...refunds.values()];
  const refundedMinor = sum(all.filter(({ status }) => status === 'succeeded'));
  const pendingMinor = sum(all.filter(({ status }) => status === 'pending'));
  const disputedMinor = sum([...disputes.values()].filter(({ status }) => status !== 'won'));
  return {
    refundedMinor,
    pendingMinor,
    disputedMinor,
    leftMinor: capturedMinor - refundedMinor - pendingMinor - disputedMinor,
  };
}

/** Debits less credits, in minor units, by `account currency`, without operators' corrections. */
export function postedOn(chain: readonly Written<Transition>[]): Accounts {
  const sums: Record<string, number> = {};
  for (const { row } of chain) {
    if (row.type === 'ledger.corrected') continue;
    for (const { account, currency, direction, amountMinor } of row.postings) {
      const name = `${account} ${currency}`;
      sums[name] = (sums[name] ?? 0) + (direction === 'debit' ? amountMinor : -amountMinor);
    }
  }
  return sums;
}

/** Debits less credits, in minor units, by `account currency`. */
export function dueOn(chain: readonly Written<Transition>[]): Accounts {
  const sums: Record<string, number> = {};
  const add = (account: string, currency: string, amountMinor: number): void => {
    const name = `${account} ${currency}`;
    sums[name] = (sums[name] ?? 0) + amountMinor;
  };
  const newest = chain.at(-1)?.row.payment;
  for (const charge of chargesOf(chain).values()) {
    const { isOwn, capturedMinor, currency } = charge;
    const { refundedMinor, disputedMinor } = leftOf(charge);
    add('processor_clearing', currency, capturedMinor - refundedMinor - disputedMinor);
    add('disputes', currency, disputedMinor);
    add(isOwn ? 'merchant_payable' : 'late_receipts', currency, -capturedMinor);
    add(isOwn ? 'refunds' : 'late_receipts', currency, refundedMinor);
  }
  const { feeMinor = 0, otherFees = [], currency = '' } = newest ?? {};
  for (const fee of [{ amountMinor: feeMinor, currency }, ...otherFees]) {
    add('fees', fee.currency, fee.amountMinor);
    add('processor_clearing', fee.currency, -fee.amountMinor);
  }
  return sums;
}

export function sum(parts: readonly { readonly amountMinor: number }[]): number {
  return parts.reduce((total, { amountMinor }) => total + amountMinor, 0);
}
