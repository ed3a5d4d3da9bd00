import type { PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { PaymentStatus } from '../../payments/domain/payment.ts';
import type { Posting } from '../../payments/domain/posting.ts';
import type { ProcessorCharge } from '../../payments/domain/processor-charge.ts';
import type { Transition } from '../../payments/domain/transition.ts';

/** One payment and currency of which processor and Ledger say different things. Amounts in minor units. */
export interface Mismatch {
  /** As the charge names it, even when there is no such payment; undefined when it names none. */
  readonly paymentId?: PaymentId;
  readonly paymentStatus?: PaymentStatus;
  readonly currency: string;
  /** Taken, less what was given back and what disputes hold or have cost. */
  readonly processorMinor: number;
  readonly ledgerMinor: number;
  readonly chargeIds: readonly string[];
  readonly kind: 'missing_in_ledger' | 'missing_at_processor' | 'amounts_differ';
}

/** What is compared with some charges. */
export interface InLedger {
  readonly paymentId?: PaymentId;
  /** Left out when there is no such payment. */
  readonly paymentStatus?: PaymentStatus;
  /** Whatever was posted for it. */
  readonly transitions: readonly Pick<Transition, 'postings'>[];
}

/**
 * Compares currency by currency. Each figure comes from its own side alone:
 *
 * - the processor's is the sum over all charges given;
 * - the Ledger's is the net debit of `processor_clearing` over all transitions given. Fees are left out, because the
 *   processor lists gross amounts; corrections count, because by them an operator sets the books right.
 */
export function compareBooks(charges: readonly ProcessorCharge[], inLedger: InLedger): readonly Mismatch[] {
  const { paymentId, paymentStatus, transitions } = inLedger;
  const legs = transitions.flatMap(({ postings }) => grossClearing(postings));
  const currencies = [...new Set([...charges, ...legs].map(({ currency }) => currency))].sort();
  return currencies.flatMap((currency) => {
    const inCurrency = charges.filter((charge) => charge.currency === currency);
    const posted = legs.filter((leg) => leg.currency === currency);
    const processorMinor = sumOf(inCurrency.map(keptMinor));
    const ledgerMinor = sumOf(
      posted.map(({ direction, amountMinor }) => (direction === 'debit' ? amountMinor : -amountMinor)),
    );
    if (processorMinor === ledgerMinor) return [];
    const found: Mismatch = {
      ...(paymentId === undefined ? {} : { paymentId }),
      ...(paymentStatus === undefined ? {} : { paymentStatus }),
      currency,
      processorMinor,
      ledgerMinor,
      chargeIds: inCurrency.map(({ chargeId }) => chargeId),
      kind: kindOf(inCurrency, posted),
    };
    return [found];
  });
}

/** Where one side has never heard of any money, that is what is wrong; else it is the amounts. */
function kindOf(charges: readonly ProcessorCharge[], posted: readonly Posting[]): Mismatch['kind'] {
  if (posted.length === 0) return 'missing_in_ledger';
  return charges.some(({ capturedMinor }) => capturedMinor > 0) ? 'amounts_differ' : 'missing_at_processor';
}

/** What the processor holds of a charge for us, before its fee. */
function keptMinor({ capturedMinor, refunds, disputes }: ProcessorCharge): number {
  const refunded = refunds.filter(({ status }) => status === 'succeeded').map(({ amountMinor }) => amountMinor);
  const disputed = disputes.filter(({ status }) => status !== 'won').map(({ amountMinor }) => amountMinor);
  return capturedMinor - sumOf(refunded) - sumOf(disputed);
}

/** The legs on `processor_clearing` of one set, without those whose other side is `fees`: the same amount the other way. */
function grossClearing(postings: readonly Posting[]): readonly Posting[] {
  const fees = postings.filter(({ account }) => account === 'fees');
  return postings
    .filter(({ account }) => account === 'processor_clearing')
    .filter((leg) => {
      const other = fees.findIndex(
        (fee) =>
          fee.amountMinor === leg.amountMinor && fee.currency === leg.currency && fee.direction !== leg.direction,
      );
      if (other >= 0) fees.splice(other, 1);
      return other < 0;
    });
}

function sumOf(amounts: readonly number[]): number {
  const total = amounts.reduce((left, right) => left + right, 0);
  invariant(Number.isSafeInteger(total), 'the sums of one payment are safe integers');
  return total;
}
