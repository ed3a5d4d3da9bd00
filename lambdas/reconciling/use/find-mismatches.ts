import { RetryableError } from '../../kernel/faults.ts';
import type { PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Clock } from '../../kernel/world.ts';
import type { ProcessorCharge } from '../../payments/domain/processor-charge.ts';
import { detailsOf } from '../../payments/domain/transition.ts';
import { type PaymentChain, readChain } from '../../payments/use/payment-chain.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import type { ProcessorBooks } from '../../payments/use/processor.ts';
import type { Caller } from '../../tenants/authenticate.ts';
import type { LedgerReader } from '../../views/use/ledger-reader.ts';
import { compareBooks, type Mismatch } from '../domain/compare-books.ts';

export interface FindMismatchesTools {
  readonly ledger: LedgerReader;
  readonly effects: Pick<PaymentStore, 'listTransitions'>;
  readonly books: ProcessorBooks;
  readonly clock: Pick<Clock, 'nowMs'>;
}

export interface FindMismatches {
  /** Unix seconds, inclusive. */
  readonly fromSeconds: number;
  /** Unix seconds, exclusive. */
  readonly untilSeconds: number;
  /** How many are told at most. */
  readonly limit: number;
  /** Unix milliseconds: after this nobody waits for the answer. */
  readonly answerByMs: number;
}

export type FindMismatchesOutcome =
  | {
      readonly kind: 'compared';
      readonly mismatches: readonly Mismatch[];
      readonly hasMore: boolean;
      readonly charges: number;
      readonly payments: number;
    }
  /** More than one request can compare: a shorter time holds less. */
  | { readonly kind: 'too_many'; readonly of: 'charges' | 'entries' | 'payments'; readonly most: number };

/** At some hundredths of a second for each, in so many hands, they fit into a request. */
const MAX_PAYMENTS = 500;
const HANDS = 8;
const MAX_CHARGES = 5_000;
/** A processor's page has ten charges at least. */
const MAX_CHARGE_PAGES = 500;
/** A payment of the usual kind has one or two entries on the account. */
const MAX_ENTRIES = 5_000;
/** One read of the processor's books. Milliseconds. */
const READ_TIMEOUT_MS = 5_000;

/**
 * Compares the processor's books with the Ledger, both ways: every charge that was made in the time asked for, and every
 * payment whose `processor_clearing` was posted to in it. A payment that either way finds is then compared whole: all charges
 * that carry its name, also those beside its own, with its whole chain.
 *
 * Told are the caller's own payments, as far as they were sent to this processor and account, and charges that belong to
 * no payment that is known. A payment that moves at this very moment may show up and be gone when asked again.
 *
 * @throws RetryableError or AmbiguousError when one of the two cannot be read now, or not in time
 */
export async function findMismatches(
  tools: FindMismatchesTools,
  caller: Caller,
  asked: FindMismatches,
): Promise<FindMismatchesOutcome> {
  const listed = await listCharges(tools, asked);
  if (listed.length > MAX_CHARGES) return { kind: 'too_many', of: 'charges', most: MAX_CHARGES };
  const entries = await tools.ledger.entries({
    tenantId: caller.tenantId,
    mode: caller.mode,
    account: 'processor_clearing',
    fromMs: asked.fromSeconds * 1000,
    untilMs: asked.untilSeconds * 1000,
    limit: MAX_ENTRIES + 1,
  });
  if (entries.length > MAX_ENTRIES) return { kind: 'too_many', of: 'entries', most: MAX_ENTRIES };
  const named = listed.flatMap(({ paymentId }) => (paymentId === undefined ? [] : [paymentId]));
  const ids = [...new Set([...named, ...entries.map(({ paymentId }) => paymentId)])].sort();
  if (ids.length > MAX_PAYMENTS) return { kind: 'too_many', of: 'payments', most: MAX_PAYMENTS };

  const ofPayments = await inSomeHands(ids, (id) => comparePayment(tools, caller, asked, id));
  const nameless = listed.filter(({ paymentId }) => paymentId === undefined).map((charge) => compare([charge]));
  const all = [...ofPayments, ...nameless].filter((each) => each !== undefined);
  const mismatches = all.flatMap((each) => each.mismatches);
  return {
    kind: 'compared',
    mismatches: mismatches.slice(0, asked.limit),
    hasMore: mismatches.length > asked.limit,
    charges: all.reduce((sum, { charges }) => sum + charges, 0),
    payments: all.filter(({ isKnown }) => isKnown).length,
  };
}

async function listCharges(tools: FindMismatchesTools, asked: FindMismatches): Promise<readonly ProcessorCharge[]> {
  const { fromSeconds, untilSeconds } = asked;
  const found: ProcessorCharge[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_CHARGE_PAGES && found.length <= MAX_CHARGES; page += 1) {
    const window = { fromSeconds, untilSeconds, ...(cursor === undefined ? {} : { cursor }) };
    const { charges, next } = await tools.books.listCharges(window, { timeoutMs: timeLeft(tools, asked) });
    found.push(...charges);
    if (next === undefined) return found;
    cursor = next;
  }
  invariant(found.length > MAX_CHARGES, 'the pages of the processor’s list are smaller than any known');
  return found;
}

/** What comparing one payment, or one charge without a payment, came to. */
interface Compared {
  readonly mismatches: readonly Mismatch[];
  readonly charges: number;
  readonly isKnown: boolean;
}

/** @returns undefined when the payment is another's, or was sent elsewhere */
async function comparePayment(
  tools: FindMismatchesTools,
  caller: Caller,
  asked: FindMismatches,
  paymentId: PaymentId,
): Promise<Compared | undefined> {
  const { books, effects } = tools;
  const chain = await readChain(effects, paymentId);
  if (chain !== undefined && !isComparable(chain, caller, books)) return undefined;
  const charges = await books.chargesOfPayment(paymentId, { timeoutMs: timeLeft(tools, asked) });
  return compare(charges, paymentId, chain);
}

function isComparable({ first, state: { payment } }: PaymentChain, caller: Caller, books: ProcessorBooks): boolean {
  const isOwn = payment.tenantId === caller.tenantId && payment.mode === caller.mode;
  return isOwn && payment.processorName === books.name && detailsOf(first).processor.account === books.account;
}

function compare(charges: readonly ProcessorCharge[], paymentId?: PaymentId, chain?: PaymentChain): Compared {
  const mismatches = compareBooks(charges, {
    ...(paymentId === undefined ? {} : { paymentId }),
    ...(chain === undefined ? {} : { paymentStatus: chain.state.payment.status }),
    transitions: chain?.transitions ?? [],
  });
  return { mismatches, charges: charges.length, isKnown: chain !== undefined };
}

/** @throws RetryableError when none is left */
function timeLeft({ clock }: FindMismatchesTools, { answerByMs }: FindMismatches): number {
  const leftMs = answerByMs - clock.nowMs();
  if (leftMs > 0) return Math.min(READ_TIMEOUT_MS, leftMs);
  throw new RetryableError('comparison_too_slow', 'the two books could not be read in the time that a client waits');
}

/** Some at a time, in order; after the first failure no further one is begun. */
async function inSomeHands<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const left = [...items.entries()];
  const hand = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [index, item] = next;
      try {
        results[index] = await work(item);
      } catch (error) {
        left.length = 0;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: HANDS }, hand));
  return results;
}
