import { type Job, type JobCounts, ONE_DONE, ONE_LEFT } from '../../jobs/use/job.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Clock } from '../../kernel/world.ts';
import { isOutcome } from '../../payments/domain/payment.ts';
import type { ProcessorCharge } from '../../payments/domain/processor-charge.ts';
import type { Transition } from '../../payments/domain/transition.ts';
import { type PaymentChain, readChain } from '../../payments/use/payment-chain.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import { isSentTo } from '../../payments/use/pinned-processor.ts';
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

/** Receives the results of a comparison. */
interface BooksObserver {
  difference(change: MismatchChange, open: OpenMismatch): void;
  /** Called after everything was compared. */
  counted(counts: MismatchCounts): void;
}

/**
 * Concurrent looks. A payment takes half a second, mostly at the processor, so four compare thirty thousand in an hour and stay
 * far below a processor's limit of searches (Stripe documentation, "Rate limits": 20 per second).
 */
const AT_ONCE = 4;
/** One read of the processor's books. Milliseconds. */
const READ_TIMEOUT_MS = 5_000;
/** A day and an hour, so that a run also covers the window of a missed run before it. */
const RECENT_MS = DAY_MS + 60 * MINUTE_MS;
/**
 * A processor retries a callback for at most three days (Stripe documentation, "Webhooks: Retry behavior"). A week also covers
 * a weekend without an operator. A refund or a dispute can follow months later: it is an outcome of its own day, whatever the
 * age of its payment. If its callback is lost and its charge is older than the window, only a run for an earlier time finds it.
 */
const WHOLE_DAYS = 7;

/** Compares the last day, up to the scheduled time of the run. */
export function reconcileRecent(tools: ReconcileTools): Job<ToCompare> {
  return reconcile(tools, (scheduledForMs) => {
    const untilMs = Math.floor(scheduledForMs / MINUTE_MS) * MINUTE_MS;
    return { fromMs: untilMs - RECENT_MS, untilMs };
  });
}

/** Compares the last whole days in UTC. */
export function reconcileDays(tools: ReconcileTools): Job<ToCompare> {
  return reconcile(tools, (scheduledForMs) => {
    const untilMs = dayOf(scheduledForMs);
    return { fromMs: untilMs - WHOLE_DAYS * DAY_MS, untilMs };
  });
}

/**
 * Compares the processors' books with the Ledger in both directions, for all tenants: every charge that a processor lists, and
 * every payment with an outcome in the window. Then it looks again at each open mismatch that this run has not looked at, and
 * removes those without a difference. At the end it counts the open mismatches.
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
          // This run or a later one has looked at it.
          return thing.open.lastSeenAtMs >= scheduledForMs ? COUNTED_ELSEWHERE : look.atOpen(thing.open);
        case 'count':
          tools.observer.counted(await countMismatches(tools));
          return COUNTED_ELSEWHERE;
      }
    },
  };
}

/** Another item counts this payment. */
const COUNTED_ELSEWHERE: JobCounts = { done: 0, left: 0, failed: 0 };

/** A look at one item. Its time is its start, because it may or may not see changes that happen during the look. */
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
    if (chain === undefined) return this.#atUnmatched(books, charge);
    const isOwn = chain.state.payment.chargeId === charge.chargeId && isSentTo(chain, books);
    // A payment with an outcome in the window is compared by the item of that outcome.
    if (isOwn && this.#newestOutcome(chain) !== undefined) return COUNTED_ELSEWHERE;
    return this.#atPayment(books, chain, [charge]);
  }

  async atOutcome({ paymentId, sequence }: Extract<ToCompare, { kind: 'outcome' }>['place']): Promise<JobCounts> {
    const chain = await readChain(this.#tools.effects, paymentId);
    invariant(chain !== undefined, 'each payment of the index is in the Ledger');
    // Of several outcomes in the window, the newest one compares the payment.
    if (this.#newestOutcome(chain)?.sequence !== sequence) return COUNTED_ELSEWHERE;
    const books = this.#tools.books.find((each) => isSentTo(chain, each));
    // The processor is no longer configured.
    return books === undefined ? ONE_LEFT : this.#atPayment(books, chain, []);
  }

  async atOpen(open: OpenMismatch): Promise<JobCounts> {
    const books = this.#tools.books.find((each) => wordOf(each) === wordOf(open.books));
    if (books === undefined) return ONE_LEFT;
    const { paymentId } = open.mismatch;
    const chain = paymentId === undefined ? undefined : await readChain(this.#tools.effects, paymentId);
    if (chain !== undefined) {
      // The charge has a payment now, so a remaining difference belongs to that payment.
      if (open.owner === undefined) await this.#keep(open, []);
      return this.#atPayment(books, chain, [], open);
    }
    const charge = await books.readCharge(open.subject, this.#limit());
    await this.#keep(open, charge === undefined ? [] : compareBooks([charge], withoutTransitions(charge)));
    return ONE_DONE;
  }

  /** @param known charges of the payment that were read already @param before the open mismatch of the payment in the view */
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
      // The transitions of a payment at another account do not belong to these books.
      transitions: here ? chain.transitions : [],
    });
    const about: Omit<LookedAt, 'currency'> = {
      books: { name: books.name, mode: books.mode, account: books.account },
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
   * Every charge that names the payment, and the payment's own charge, whatever it names now. A processor's search may not
   * include the newest charges yet, so known charges are read by id.
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
    // Excludes charges that now name another payment or none.
    return [...found.values()].filter((charge) => charge.paymentId === id || charge.chargeId === chargeId);
  }

  /** A charge that names no payment, or one that does not exist. Each is compared by itself. */
  async #atUnmatched(books: ProcessorBooks, charge: ProcessorCharge): Promise<JobCounts> {
    const about: LookedAt = {
      books: { name: books.name, mode: books.mode, account: books.account },
      subject: charge.chargeId,
      createdAtMs: charge.createdAtSeconds * 1000,
      currency: charge.currency,
    };
    const mismatches = compareBooks([charge], withoutTransitions(charge));
    // Most have captured nothing and so have no mismatch. The `open` phase looks at earlier mismatches.
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

  /** The newest outcome in the window. */
  #newestOutcome({ transitions }: PaymentChain): Transition | undefined {
    const { fromMs, untilMs } = this.#window;
    return transitions.findLast(
      ({ type, occurredAtMs }) => isOutcome(type) && occurredAtMs >= fromMs && occurredAtMs < untilMs,
    );
  }

  #limit(): { readonly timeoutMs: number } {
    return { timeoutMs: Math.max(1, Math.min(READ_TIMEOUT_MS, this.#deadlineMs - this.#tools.clock.nowMs())) };
  }
}

function withoutTransitions({ paymentId }: ProcessorCharge) {
  return { ...(paymentId === undefined ? {} : { paymentId }), transitions: [] };
}
