import { defined } from '../../kernel/defined.ts';
import type { PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { moneyOf } from '../../payments/domain/charge-money.ts';
import { type Fee, feeList, isFeeReported } from '../../payments/domain/fees.ts';
import type { PaymentStatus } from '../../payments/domain/payment.ts';
import type { PaymentState } from '../../payments/domain/payment-state.ts';
import { netDebitMinor, type Posting } from '../../payments/domain/posting.ts';
import { isOfAnotherPayment, type ProcessorCharge } from '../../payments/domain/processor-charge.ts';
import type { Transition } from '../../payments/domain/transition.ts';

export const MISMATCH_KINDS = [
  'missing_in_ledger',
  'missing_at_processor',
  'amounts_differ',
  'charges_differ',
  'fees_differ',
] as const;

/**
 * A difference between processor and Ledger in one currency: for one payment, or for one charge without a known
 * payment.
 */
export interface Mismatch {
  /** The payment that the charge names, even if that payment does not exist; undefined when the charge names none. */
  readonly paymentId?: PaymentId;
  readonly paymentStatus?: PaymentStatus;
  readonly currency: string;
  /** Captured amount minus succeeded refunds and open or lost disputes. For `fees_differ`, the fees. */
  readonly processorMinor: number;
  /** Net debit of `processor_clearing`, without fees. For `fees_differ`, the posted fees. */
  readonly ledgerMinor: number;
  readonly chargeIds: readonly string[];
  readonly kind: (typeof MISMATCH_KINDS)[number];
}

export interface InLedger {
  readonly paymentId?: PaymentId;
  /** Absent when the payment does not exist. */
  readonly paymentStatus?: PaymentStatus;
  /** Empty if the payment does not belong to these books. */
  readonly transitions: readonly Pick<Transition, 'postings' | 'type'>[];
  /** Absent if the payment does not exist or does not belong to these books. */
  readonly state?: PaymentState;
}

/**
 * Compares processor and Ledger for each currency. Each side's figure is computed from its own data only:
 *
 * - The processor's figure is the sum over the given charges. It excludes the payment's own charge if this charge's
 *   metadata now names another payment.
 * - The Ledger's figure is the net debit of `processor_clearing` over the given transitions. It excludes fees, because
 *   the processor lists gross amounts. It includes corrections, because operators use them to correct the Ledger's
 *   amounts.
 *
 * If both figures agree, the charges are compared one by one. This finds two further cases: a dispute and a stray
 * charge that are both missing in the Ledger and cancel each other out, and a charge with money whose metadata names
 * another payment. If the charges also agree, the fees are compared.
 */
export function compareBooks(charges: readonly ProcessorCharge[], inLedger: InLedger): readonly Mismatch[] {
  const legs = inLedger.transitions.flatMap(({ postings }) => clearingLegs(postings));
  const fees = ownFees(charges, inLedger);
  const currencies = [...charges, ...legs.map(({ leg }) => leg), ...(fees?.reported ?? [])].map(
    ({ currency }) => currency,
  );
  return [...new Set(currencies)].sort().flatMap((currency) => {
    const inCurrency = legs.filter(({ leg }) => leg.currency === currency);
    const gross = inCurrency.filter(({ isFee }) => !isFee).map(({ leg }) => leg);
    const found = compareMoney(currency, charges, gross, inLedger);
    if (found !== undefined) return [found];
    const deducted = inCurrency.filter(({ isFee }) => isFee).map(({ leg }) => leg);
    return fees === undefined ? [] : compareFees(currency, fees, deducted, inLedger);
  });
}

function compareMoney(
  currency: string,
  charges: readonly ProcessorCharge[],
  posted: readonly Posting[],
  inLedger: InLedger,
): Mismatch | undefined {
  const { paymentId } = inLedger;
  const inCurrency = charges.filter((charge) => charge.currency === currency);
  const counted = inCurrency.filter((charge) => charge.paymentId === undefined || charge.paymentId === paymentId);
  const processorMinor = sumOf(counted.map(keptMinor));
  const ledgerMinor = netDebitMinor('processor_clearing', currency, posted);
  const differing = processorMinor === ledgerMinor ? inCurrency.filter((charge) => isOtherwise(charge, inLedger)) : [];
  if (processorMinor === ledgerMinor && differing.length === 0) return undefined;
  return {
    ...aboutPayment(inLedger),
    currency,
    processorMinor,
    ledgerMinor,
    chargeIds: (differing.length > 0 ? differing : inCurrency).map(({ chargeId }) => chargeId),
    kind: differing.length > 0 ? 'charges_differ' : kindOf(counted, posted),
  };
}

function aboutPayment({ paymentId, paymentStatus }: InLedger): Pick<Mismatch, 'paymentId' | 'paymentStatus'> {
  return {
    ...defined({ paymentId, paymentStatus }),
  };
}

interface OwnFees {
  readonly chargeId: string;
  readonly reported: readonly Fee[];
}

/**
 * Returns the fees of the payment's own charge. Fees of stray charges are excluded: the money of a stray charge is
 * returned, so the merchant does not pay its fees.
 *
 * @returns undefined when the fees are not posted, or not reported yet, or when the charge's metadata names another
 * payment
 */
function ownFees(charges: readonly ProcessorCharge[], { paymentId, state }: InLedger): OwnFees | undefined {
  const { payment } = state ?? {};
  const own = charges.find(({ chargeId }) => chargeId === payment?.chargeId);
  if (own === undefined || payment?.status !== 'succeeded' || own.status !== 'succeeded') return undefined;
  if (!isFeeReported(own) || isOfAnotherPayment(own, paymentId)) return undefined;
  return { chargeId: own.chargeId, reported: feeList(own, own.currency) };
}

function compareFees(
  currency: string,
  { chargeId, reported }: OwnFees,
  deducted: readonly Posting[],
  inLedger: InLedger,
): readonly Mismatch[] {
  const processorMinor = sumOf(
    reported.filter((fee) => fee.currency === currency).map(({ amountMinor }) => amountMinor),
  );
  const ledgerMinor = -netDebitMinor('processor_clearing', currency, deducted);
  if (processorMinor === ledgerMinor) return [];
  return [
    {
      ...aboutPayment(inLedger),
      currency,
      processorMinor,
      ledgerMinor,
      chargeIds: [chargeId],
      kind: 'fees_differ',
    },
  ];
}

/**
 * Amounts are not compared if operators have corrected `processor_clearing`, because corrections are included only in
 * the total. Also returns true if the charge has money, but its metadata names another payment.
 */
function isOtherwise(charge: ProcessorCharge, { paymentId, transitions, state }: InLedger): boolean {
  if (state === undefined) return false;
  if (isOfAnotherPayment(charge, paymentId))
    return charge.capturedMinor > 0 || moneyOf(charge.chargeId, state) !== undefined;
  const corrections = transitions.filter(({ type }) => type === 'ledger.corrected');
  if (corrections.some(({ postings }) => clearingLegs(postings).some(({ isFee }) => !isFee))) return false;
  const posted = moneyOf(charge.chargeId, state);
  const postedMinor = posted === undefined ? 0 : posted.capturedMinor - posted.refundedMinor - posted.disputedMinor;
  return postedMinor !== keptMinor(charge);
}

function kindOf(charges: readonly ProcessorCharge[], posted: readonly Posting[]): Mismatch['kind'] {
  if (posted.length === 0) return 'missing_in_ledger';
  return charges.some(({ capturedMinor }) => capturedMinor > 0) ? 'amounts_differ' : 'missing_at_processor';
}

/** Computes the amount of a charge that is left at the processor, without deducting the processor's fee. */
function keptMinor({ capturedMinor, refunds, disputes }: ProcessorCharge): number {
  const refunded = refunds.filter(({ status }) => status === 'succeeded').map(({ amountMinor }) => amountMinor);
  const disputed = disputes.filter(({ status }) => status !== 'won').map(({ amountMinor }) => amountMinor);
  return capturedMinor - sumOf(refunded) - sumOf(disputed);
}

interface ClearingLeg {
  readonly leg: Posting;
  readonly isFee: boolean;
}

/** A posting is a fee if an equal, opposite posting on `fees` exists. */
function clearingLegs(postings: readonly Posting[]): readonly ClearingLeg[] {
  const fees = postings.filter(({ account }) => account === 'fees');
  return postings
    .filter(({ account }) => account === 'processor_clearing')
    .map((leg) => {
      const other = fees.findIndex(
        (fee) =>
          fee.amountMinor === leg.amountMinor && fee.currency === leg.currency && fee.direction !== leg.direction,
      );
      if (other >= 0) fees.splice(other, 1);
      return { leg, isFee: other >= 0 };
    });
}

function sumOf(amounts: readonly number[]): number {
  const total = amounts.reduce((left, right) => left + right, 0);
  invariant(Number.isSafeInteger(total), 'a sum of one payment is not a safe integer');
  return total;
}
