import { type Job, type JobCounts, ONE_DONE, ONE_LEFT } from '../../jobs/use/job.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Clock } from '../../kernel/world.ts';
import { PENDING_TYPES } from '../../payments/domain/payment.ts';
import type { ProcessorCharge } from '../../payments/domain/processor-charge.ts';
import { detailsOf, type Transition } from '../../payments/domain/transition.ts';
import { type PaymentChain, readChain } from '../../payments/use/payment-chain.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import type { ProcessorBooks } from '../../payments/use/processor.ts';
import { DAY_MS, dayOf } from '../../views/domain/views.ts';
import { compareBooks, type Mismatch } from '../domain/compare-books.ts';
import type { LookedAt, MismatchChange, MismatchCounts, OpenMismatch } from '../domain/mismatch-view.ts';
import { countMismatches, keepLook, type MismatchViewTools } from './mismatch-view.ts';
import {
  MINUTE_MS,
  type PageTools,
  type ReconcileWindow,
  readPage,
  type ToCompare,
  wordOf,
} from './reconcile-pages.ts';

export interface ReconcileTools extends PageTools, MismatchViewTools {
  readonly effects: Pick<PaymentStore, 'listTransitions'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly observer: BooksObserver;
}

/** Told what a comparison comes to. */
interface BooksObserver {
  difference(change: MismatchChange, open: OpenMismatch): void;
  /** After all was compared. */
  counted(counts: MismatchCounts): void;
}

/**
 * A payment takes half a second, mostly the processor's: so many at once compare thirty thousand in an hour, and stay far
 * below what a processor lets be searched (Stripe documentation, "Rate limits": 20 a second).
 */
const AT_ONCE = 4;
/** One read of the processor's books. Milliseconds. */
const READ_TIMEOUT_MS = 5_000;
/** A day, and an hour more: what a run that was missed would have looked at, the next one does. */
const RECENT_MS = DAY_MS + 60 * MINUTE_MS;
/**
 * A processor gives up on a callback after three days at most (Stripe documentation, "Webhooks: Retry behavior"), so what the
 * Ledger has not heard of a charge by then, it will not hear; a week also covers a weekend on which nobody looks. Refunds
 * may come for months and disputes for four of them: they are outcomes of the day on which they come, whatever the age of
 * their payment. One that came without a callback, of a charge that is older, is found by a run for an earlier time.
 */
const WHOLE_DAYS = 7;

/** The last day, up to the time that the run is for. */
export function reconcileRecent(tools: ReconcileTools): Job<ToCompare> {
  return reconcile(tools, (scheduledForMs) => {
    const untilMs = Math.floor(scheduledForMs / MINUTE_MS) * MINUTE_MS;
    return { fromMs: untilMs - RECENT_MS, untilMs };
  });
}

/** The last whole days of UTC. */
export function reconcileDays(tools: ReconcileTools): Job<ToCompare> {
  return reconcile(tools, (scheduledForMs) => {
    const untilMs = dayOf(scheduledForMs);
    return { fromMs: untilMs - WHOLE_DAYS * DAY_MS, untilMs };
  });
}

/**
 * Compares the processors' books with the Ledger, of all tenants, both ways: every charge that a processor lists, and every
 * payment of which the Ledger has an outcome. Then it looks once more at whatever is open in the view and was not looked at
 * by then: what is gone is taken out. In the end it counts what is open.
 */
function reconcile(tools: ReconcileTools, windowOf: (scheduledForMs: number) => ReconcileWindow): Job<ToCompare> {
  return {
    atOnce: AT_ONCE,
    page: (cursor, limit, { scheduledForMs }) => readPage(tools, windowOf(scheduledForMs), cursor, limit),
    handle: async (thing, { scheduledForMs, deadlineMs }) => {
      if (tools.clock.nowMs() >= deadlineMs) return ONE_LEFT;
      const look = new Look(tools, windowOf(scheduledForMs), deadlineMs);
      switch (thing.kind) {
        case 'charge':
          return look.atCharge(thing.books, thing.charge);
        case 'outcome':
          return look.atOutcome(thing.place);
        case 'open':
          // Looked at by this very run, or by a later one.
          return thing.open.lastSeenAtMs >= scheduledForMs ? ANOTHERS : look.atOpen(thing.open);
        case 'count':
          tools.observer.counted(await countMismatches(tools));
          return ANOTHERS;
      }
    },
  };
}

/** Counted with another item. */
const ANOTHERS: JobCounts = { done: 0, left: 0, failed: 0 };

/** A look at one thing. Its time is that of its beginning: what moves while it looks, it may or may not have seen. */
class Look {
  readonly #tools: ReconcileTools;
  readonly #window: ReconcileWindow;
  readonly #deadlineMs: number;
  readonly #beganAtMs: number;

  constructor(tools: ReconcileTools, window: ReconcileWindow, deadlineMs: number) {
    this.#tools = tools;
    this.#window = window;
    this.#deadlineMs = deadlineMs;
    this.#beganAtMs = tools.clock.nowMs();
  }

  async atCharge(books: ProcessorBooks, charge: ProcessorCharge): Promise<JobCounts> {
    const { paymentId } = charge;
    const chain = paymentId === undefined ? undefined : await readChain(this.#tools.effects, paymentId);
    if (chain === undefined) return this.#atNobodys(books, charge);
    const isOwn = chain.state.payment.chargeId === charge.chargeId && isSentTo(chain, books);
    // A payment that has an outcome in this time is compared for that.
    if (isOwn && this.#newestOutcome(chain) !== undefined) return ANOTHERS;
    return this.#atPayment(books, chain, [charge]);
  }

  async atOutcome({ paymentId, sequence }: Extract<ToCompare, { kind: 'outcome' }>['place']): Promise<JobCounts> {
    const chain = await readChain(this.#tools.effects, paymentId);
    invariant(chain !== undefined, 'what the index names is in the Ledger');
    // Of several in this time, the newest is the one for which it is compared.
    if (this.#newestOutcome(chain)?.sequence !== sequence) return ANOTHERS;
    const books = this.#tools.books.find((each) => isSentTo(chain, each));
    // A processor that is no longer called here.
    return books === undefined ? ONE_LEFT : this.#atPayment(books, chain, []);
  }

  async atOpen(open: OpenMismatch): Promise<JobCounts> {
    const books = this.#tools.books.find((each) => wordOf(each) === wordOf(open.books));
    if (books === undefined) return ONE_LEFT;
    const { paymentId } = open.mismatch;
    const chain = paymentId === undefined ? undefined : await readChain(this.#tools.effects, paymentId);
    if (chain !== undefined) {
      // It has found its payment, and is a difference of that one, if it is one.
      if (open.owner === undefined) await this.#keep(open, []);
      return this.#atPayment(books, chain, [], open);
    }
    const charge = await books.readCharge(open.subject, this.#limit());
    await this.#keep(open, charge === undefined ? [] : compareBooks([charge], nobodys(charge)));
    return ONE_DONE;
  }

  /** @param known charges of it that were read already @param before what the view has of it */
  async #atPayment(
    books: ProcessorBooks,
    chain: PaymentChain,
    known: readonly ProcessorCharge[],
    before?: OpenMismatch,
  ): Promise<JobCounts> {
    const { payment } = chain.state;
    const here = isSentTo(chain, books);
    const charges = await this.#chargesOf(books, chain, known, before);
    const mismatches = compareBooks(charges, {
      paymentId: payment.id,
      paymentStatus: payment.status,
      // What was sent to another account is not in these books, and was not posted for these.
      transitions: here ? chain.transitions : [],
    });
    const about: Omit<LookedAt, 'currency'> = {
      books: { name: books.name, account: books.account },
      owner: { tenantId: payment.tenantId, mode: payment.mode },
      subject: payment.id,
      createdAtMs: payment.createdAtMs,
    };
    for (const mismatch of mismatches) await this.#keep({ ...about, currency: mismatch.currency }, [mismatch]);
    const isGone = mismatches.every(({ currency }) => currency !== before?.currency);
    if (before !== undefined && isGone) await this.#keep({ ...about, currency: before.currency }, []);
    return ONE_DONE;
  }

  /**
   * Every charge in the payment's name, and its own whatever that is named by now. A processor that finds them by a search may
   * not have the newest there yet: those that are known by their ids are read by them.
   */
  async #chargesOf(
    books: ProcessorBooks,
    chain: PaymentChain,
    known: readonly ProcessorCharge[],
    before: OpenMismatch | undefined,
  ): Promise<readonly ProcessorCharge[]> {
    const { id, chargeId } = chain.state.payment;
    const found = new Map(known.map((charge) => [charge.chargeId, charge]));
    for (const charge of await books.chargesOfPayment(id, this.#limit())) found.set(charge.chargeId, charge);
    const named = [
      ...(chargeId !== undefined && isSentTo(chain, books) ? [chargeId] : []),
      ...(before?.mismatch.chargeIds ?? []),
    ];
    for (const missing of new Set(named.filter((each) => !found.has(each)))) {
      const charge = await books.readCharge(missing, this.#limit());
      if (charge !== undefined) found.set(charge.chargeId, charge);
    }
    // What was named anew meanwhile is another payment's, or nobody's.
    return [...found.values()].filter((charge) => charge.paymentId === id || charge.chargeId === chargeId);
  }

  /** A charge in nobody's name, or in that of a payment that there is not: each by itself. */
  async #atNobodys(books: ProcessorBooks, charge: ProcessorCharge): Promise<JobCounts> {
    const about: LookedAt = {
      books: { name: books.name, account: books.account },
      subject: charge.chargeId,
      createdAtMs: charge.createdAtSeconds * 1000,
      currency: charge.currency,
    };
    const mismatches = compareBooks([charge], nobodys(charge));
    // Most have none, as they have taken nothing; what is in the view is looked at in the end.
    if (mismatches.length > 0) await this.#keep(about, mismatches);
    return ONE_DONE;
  }

  async #keep(about: LookedAt, mismatches: readonly Mismatch[]): Promise<void> {
    const { books, owner, subject, createdAtMs, currency } = about;
    const mismatch = mismatches.find((each) => each.currency === currency);
    const named = { books, ...(owner === undefined ? {} : { owner }), subject, createdAtMs, currency };
    const told = await keepLook(this.#tools, named, mismatch, this.#beganAtMs);
    if (told !== undefined) this.#tools.observer.difference(told.change, told.open);
  }

  /** In the time that is compared. */
  #newestOutcome({ transitions }: PaymentChain): Transition | undefined {
    const { fromMs, untilMs } = this.#window;
    return transitions.findLast(
      ({ type, occurredAtMs }) => !PENDING_TYPES.has(type) && occurredAtMs >= fromMs && occurredAtMs < untilMs,
    );
  }

  #limit(): { readonly timeoutMs: number } {
    return { timeoutMs: Math.max(1, Math.min(READ_TIMEOUT_MS, this.#deadlineMs - this.#tools.clock.nowMs())) };
  }
}

function isSentTo({ first, state: { payment } }: PaymentChain, { name, account }: ProcessorBooks): boolean {
  return payment.processorName === name && detailsOf(first).processor.account === account;
}

function nobodys({ paymentId }: ProcessorCharge) {
  return { ...(paymentId === undefined ? {} : { paymentId }), transitions: [] };
}
