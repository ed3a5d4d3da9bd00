import type { RunId } from '../../jobs/domain/job-run.ts';
import type { CarriedUntil } from '../../jobs/use/carried-until.ts';
import { type Job, type JobCounts, ONE_DONE, ONE_LEFT } from '../../jobs/use/job.ts';
import type { JobMarks } from '../../jobs/use/job-marks.ts';
import { defined } from '../../kernel/defined.ts';
import { AmbiguousError, RetryableError } from '../../kernel/faults.ts';
import type { PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { isOutcome } from '../../payments/domain/payment.ts';
import type { ProcessorCharge } from '../../payments/domain/processor-charge.ts';
import type { EffectStore } from '../../payments/use/effect-store.ts';
import { type PaymentChain, readChain } from '../../payments/use/payment-chain.ts';
import { belongsToBooks } from '../../payments/use/pinned-processor.ts';
import type { ProcessorBooks, UnreadableCharge } from '../../payments/use/processor.ts';
import { positionAt, timeOf } from '../../payments/use/transition-reader.ts';
import { queueUntracked } from '../../payments/use/untracked-entries.ts';
import { DAY_MS, dayOf } from '../../views/domain/views.ts';
import { compareBooks, type Mismatch } from '../domain/compare-books.ts';
import type { ComparisonSubject, MismatchChange, MismatchCounts, OpenMismatch } from '../domain/mismatch-view.ts';
import { countMismatches, type MismatchViewTools, RECENT_JOB_ID, recordComparison } from './mismatch-view.ts';
import {
  booksKey,
  type ComparisonItem,
  type ListedCharge,
  MINUTE_MS,
  type PageTools,
  type ReconcileWindow,
  readPage,
  type TimePart,
} from './reconcile-pages.ts';

export interface ReconcileTools extends PageTools, MismatchViewTools {
  readonly effects: Pick<EffectStore, 'listTransitions' | 'queueOrNote'>;
  readonly marks: JobMarks;
  readonly observer: BooksObserver;
  /**
   * Reads the times until which the Ledger is complete, in Unix milliseconds. A run compares nothing after `latestMs`.
   * Between `untilMs` and `latestMs`, rows of some tenants may be missing, so the mark does not pass `untilMs`.
   * @default the Ledger is always complete
   */
  readonly carriedUntil?: () => Promise<Pick<CarriedUntil, 'untilMs' | 'latestMs'>>;
  /**
   * Called with the error of each payment that could not be compared, of each list that could not be read, and of each
   * unreadable charge that names no payment of the Ledger.
   */
  readonly report: (error: unknown) => void;
}

interface BooksObserver {
  difference(change: MismatchChange, open: OpenMismatch): void;
  counted(counts: MismatchCounts): void;
}

/**
 * Most comparisons only read one chain. A comparison that reads from the processor takes half a second, so eight at a
 * time stay below the processor's search limit (Stripe documentation, "Rate limits": 20 per second).
 */
const AT_ONCE = 8;
const READ_TIMEOUT_MS = 5_000;
/**
 * Minimum lag of the progress mark behind the current time, in milliseconds. The time of an outcome is from its
 * writer's clock. Without this lag, an outcome could be written behind the mark, and the hourly job would never compare
 * it. The clocks of the writer and the worker may each be wrong by five minutes.
 */
const MARK_BEHIND_MS = 15 * MINUTE_MS;
/**
 * Maximum range that an hourly run compares, in milliseconds. A payment that cannot be compared stops the mark, so
 * without this limit the range would grow with every run.
 */
const RECENT_MS = DAY_MS + 60 * MINUTE_MS;
/**
 * A processor retries a callback for at most three days (Stripe documentation, "Webhooks: Retry behavior"), and a week
 * also covers a weekend without an operator. A refund or a dispute can follow months later; it is then an outcome of
 * that later day, no matter how old the payment is. If the callback of such a refund or dispute is lost and the charge
 * is older than the window, only a run with an earlier scheduled time finds it.
 */
const WHOLE_DAYS = 7;

/**
 * @param endMs the scheduled time of the run, or `latestMs` of {@link ReconcileTools.carriedUntil} if that is earlier
 */
type WindowOf = (endMs: number) => Omit<ReconcileWindow, 'completeMs'>;

/**
 * Creates the job that compares everything from the progress mark up to the scheduled time of the run, but at most the
 * last {@link RECENT_MS}. The progress mark advances past a part after this part and all earlier parts were compared
 * completely.
 *
 *   part 1 ✓ ── part 2 ✗ a read failed ── part 3 ✓ ── …    mark: after part 1
 *   next run    part 2 ✓ ── part 3 ✓ ── …                  mark: after part 3
 */
export function reconcileRecentJob(tools: ReconcileTools): Job<ComparisonItem> {
  const { marks, clock } = tools;
  const windowOf: WindowOf = (endMs) => {
    const untilMs = Math.floor(endMs / MINUTE_MS) * MINUTE_MS;
    const reach = positionAt(Math.max(0, untilMs - RECENT_MS));
    const begin = async () => {
      const mark = await marks.readMark(RECENT_JOB_ID);
      return { from: mark === undefined || mark < reach ? reach : mark, mark };
    };
    return { untilMs, begin };
  };
  return reconcile(tools, windowOf, async ({ from, to, mark, completeMs }) => {
    const latest = positionAt(Math.min(clock.nowMs() - MARK_BEHIND_MS, completeMs));
    const next = to < latest ? to : latest;
    if (from < next) await marks.moveMark(RECENT_JOB_ID, mark, next);
  });
}

export function reconcileDaysJob(tools: ReconcileTools): Job<ComparisonItem> {
  const windowOf: WindowOf = (endMs) => {
    const untilMs = dayOf(endMs);
    return { untilMs, begin: async () => ({ from: positionAt(Math.max(0, untilMs - WHOLE_DAYS * DAY_MS)) }) };
  };
  return reconcile(tools, windowOf, async () => {});
}

/**
 * Compares the processors' books with the Ledger in both directions, for all tenants: every charge that a processor
 * lists, and every payment with an outcome in the window. Then compares the open mismatches that this run has not
 * compared yet, and removes those without a difference.
 *
 * @param compared called after each part that was compared completely
 */
function reconcile(
  tools: ReconcileTools,
  windowOf: WindowOf,
  compared: (part: TimePart) => Promise<void>,
): Job<ComparisonItem> {
  let ofOpen: { readonly runId: RunId; readonly reads: Reads } | undefined;
  return {
    page: async (cursor, limit, { scheduledForMs }) => {
      const { untilMs, latestMs } = (await tools.carriedUntil?.()) ?? ALWAYS_COMPLETE;
      const window = { ...windowOf(Math.min(scheduledForMs, latestMs)), completeMs: untilMs };
      return readPage(tools, window, cursor, limit);
    },
    handle: async (thing, { runId, scheduledForMs, deadlineMs }) => {
      if (tools.clock.nowMs() >= deadlineMs) return ONE_LEFT;
      switch (thing.kind) {
        case 'part': {
          const { isWhole, ...counts } = await comparePart(tools, thing.part, deadlineMs);
          if (isWhole) await compared(thing.part);
          return counts;
        }
        case 'open':
          // This mismatch was already compared, by this run or a later one.
          if (thing.open.lastSeenAtMs >= scheduledForMs) return NOTHING;
          if (ofOpen?.runId !== runId) ofOpen = { runId, reads: new Reads() };
          return new Look(tools, deadlineMs, ofOpen.reads).compareOpen(thing.open);
        case 'count':
          tools.observer.counted(await countMismatches(tools));
          return NOTHING;
      }
    },
  };
}

const ALWAYS_COMPLETE = { untilMs: Number.POSITIVE_INFINITY, latestMs: Number.POSITIVE_INFINITY };
const NOTHING: JobCounts = { done: 0, left: 0, failed: 0 };
const ONE_FAILED: JobCounts = { ...NOTHING, failed: 1 };

/**
 * @returns the counts of its comparisons; each list that could not be read counts as failed. `isWhole` is false when a
 * list could not be read, or a comparison threw an error or was skipped for lack of time
 */
async function comparePart(
  tools: ReconcileTools,
  part: TimePart,
  deadlineMs: number,
): Promise<JobCounts & { readonly isWhole: boolean }> {
  const looks = looksOf(part);
  const { unlisted } = part;
  const reads = new Reads();
  for (const error of unlisted.values()) tools.report(error);
  const sum = { done: 0, left: 0, failed: unlisted.size, isWhole: unlisted.size === 0 };
  const take = async (atOne: (look: Look) => Promise<JobCounts>): Promise<void> => {
    const isLate = tools.clock.nowMs() >= deadlineMs;
    try {
      const { done, left, failed } = isLate ? ONE_LEFT : await atOne(new Look(tools, deadlineMs, reads));
      sum.done += done;
      sum.left += left;
      sum.failed += failed;
      if (isLate) sum.isWhole = false;
    } catch (error) {
      tools.report(error);
      sum.failed += 1;
      sum.isWhole = false;
    }
  };
  for (let at = 0; at < looks.length; at += AT_ONCE) await Promise.all(looks.slice(at, at + AT_ONCE).map(take));
  return sum;
}

function looksOf({
  charges,
  unreadable,
  unlisted,
  outcomes,
  from,
  untilMs,
  completeMs,
}: TimePart): readonly ((look: Look) => Promise<JobCounts>)[] {
  const nameless = charges.filter(({ charge }) => charge.paymentId === undefined);
  const ids = new Set([
    ...charges.flatMap(({ charge }) => charge.paymentId ?? []),
    ...outcomes.map(({ paymentId }) => paymentId),
  ]);
  const listed = Map.groupBy(charges, ({ charge }) => charge.paymentId);
  const newest = new Map<PaymentId, number>();
  for (const { paymentId, sequence } of outcomes) newest.set(paymentId, Math.max(sequence, newest.get(paymentId) ?? 0));
  return [
    ...nameless.map(
      ({ books, charge }) =>
        (look: Look) =>
          look.compareUnmatched(books, charge),
    ),
    ...unreadable.map((charge) => (look: Look) => look.compareUnreadable(charge)),
    ...[...ids].map((id) => (look: Look) => {
      const sequence = newest.get(id);
      const within = { fromMs: timeOf(from), untilMs: Math.min(untilMs, completeMs) };
      const outcome = sequence === undefined ? undefined : { sequence, ...within, unlisted };
      return look.compareListed(id, listed.get(id) ?? [], outcome);
    }),
  ];
}

/**
 * The newest outcome of a payment in one part, and a time range. The range begins at the start of the part. It ends
 * with the run's window, or earlier if the Ledger is complete only up to an earlier time. Later parts may lack outcomes
 * that are newer than the range.
 */
interface InPart {
  readonly sequence: number;
  /** The end is exclusive. */
  readonly fromMs: number;
  readonly untilMs: number;
  readonly unlisted: TimePart['unlisted'];
}

/**
 * The reads of one part, or of the open mismatches of one run. After {@link AT_ONCE} reads of a processor have failed
 * in succession, the processor is not read again. Otherwise the timeouts of its reads could use up the time for the
 * payments of other processors.
 */
class Reads {
  readonly #failures = new Map<ProcessorBooks, number>();

  async from<Answer>(books: ProcessorBooks, send: () => Promise<Answer>): Promise<Answer> {
    const failures = this.#failures.get(books) ?? 0;
    if (failures >= AT_ONCE) throw new RetryableError('processor_unavailable', 'earlier reads of this run failed');
    try {
      const answer = await send();
      this.#failures.delete(books);
      return answer;
    } catch (error) {
      if (isUnanswered(error)) this.#failures.set(books, (this.#failures.get(books) ?? 0) + 1);
      throw error;
    }
  }
}

/** An unreadable charge is an answer. */
function isUnanswered(error: unknown): boolean {
  if (!(error instanceof RetryableError || error instanceof AmbiguousError)) return false;
  return error.code !== 'processor_answer_unreadable';
}

/** The time of a comparison is its start, because it may miss changes that occur while it runs. */
class Look {
  readonly #tools: ReconcileTools;
  readonly #deadlineMs: number;
  readonly #reads: Reads;
  readonly #beganAtMs: number;

  constructor(tools: ReconcileTools, deadlineMs: number, reads: Reads) {
    this.#tools = tools;
    this.#deadlineMs = deadlineMs;
    this.#reads = reads;
    this.#beganAtMs = tools.clock.nowMs();
  }

  /**
   * Compares a payment that is named by a listed charge, or whose newest outcome (`outcome`) lies in this part of the
   * run. If only the payment's own charge is listed and it agrees with the Ledger, and the Ledger has no stray charge,
   * no other charge is read. Charges that the Ledger does not have are compared in the part that covers their creation.
   *
   * @param listed the listed charges that name the payment
   */
  async compareListed(paymentId: PaymentId, listed: readonly ListedCharge[], outcome?: InPart): Promise<JobCounts> {
    const chain = await readChain(this.#tools.effects, paymentId);
    if (chain === undefined) {
      invariant(outcome === undefined, 'the Ledger has no chain for a payment in the index');
      for (const { books, charge } of listed) await this.compareUnmatched(books, charge);
      return ONE_DONE;
    }
    const own = this.#tools.books.find((each) => belongsToBooks(chain, each));
    for (const [books, found] of Map.groupBy(listed, (each) => each.books))
      if (books !== own) await this.#comparePayment(books, chain, chargesOf(found));
    const known = chargesOf(listed.filter(({ books }) => books === own));
    if (known.length === 0 && (outcome === undefined || isComparedLater(chain, outcome)))
      return listed.length === 0 ? NOTHING : ONE_DONE;
    // The processor is no longer configured, or it is unavailable. Do not read from it: reads that time out would use
    // up the time of this page.
    if (own === undefined || outcome?.unlisted.has(own) === true) return ONE_LEFT;
    const { payment, strayCharges } = chain.state;
    const { chargeId } = payment;
    const isOther = strayCharges.size > 0 || known.some((charge) => charge.chargeId !== chargeId);
    const charges = known.length > 0 || chargeId === undefined ? known : await this.#read(own, chargeId);
    await this.#queueOpen(charges, chain);
    const isSame = !isOther && compareBooks(charges, { paymentId, ...chain }).length === 0;
    return isSame ? ONE_DONE : this.#comparePayment(own, chain, charges);
  }

  /** An open object without money causes no difference, so the comparison alone would not find it. */
  async #queueOpen(charges: readonly ProcessorCharge[], { state }: PaymentChain): Promise<void> {
    for (const charge of charges) await queueUntracked(this.#tools.effects, { charge, state }, this.#beganAtMs);
  }

  async compareOpen(open: OpenMismatch): Promise<JobCounts> {
    const books = this.#tools.books.find((each) => booksKey(each) === booksKey(open.books));
    if (books === undefined) return ONE_LEFT;
    const { paymentId } = open.mismatch;
    const chain = paymentId === undefined ? undefined : await readChain(this.#tools.effects, paymentId);
    if (chain !== undefined) {
      // The charge has a payment now, so a remaining difference belongs to that payment.
      if (open.owner === undefined) await this.#keep(open, []);
      return this.#comparePayment(books, chain, [], open);
    }
    const charge = await this.#charge(books, open.subject);
    await this.#keep(open, charge === undefined ? [] : compareBooks([charge], withoutTransitions(charge)));
    return ONE_DONE;
  }

  /** @param before the open mismatch of the payment in the view */
  async #comparePayment(
    books: ProcessorBooks,
    chain: PaymentChain,
    known: readonly ProcessorCharge[],
    before?: OpenMismatch,
  ): Promise<JobCounts> {
    const { payment } = chain.state;
    const here = belongsToBooks(chain, books);
    const charges = await this.#chargesOf(books, chain, known, before);
    const mismatches = compareBooks(charges, {
      paymentId: payment.id,
      paymentStatus: payment.status,
      // If the payment belongs to another account, its transitions do not belong to these books.
      ...(here ? chain : { transitions: [] }),
    });
    const about: Omit<ComparisonSubject, 'currency'> = {
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
   * Reads every charge that names the payment, and the payment's own charge even if its metadata now names another
   * payment. A processor's search may not include the newest charges yet. Therefore, charges whose ids are known, for
   * example from the Ledger, are read by id.
   */
  async #chargesOf(
    books: ProcessorBooks,
    chain: PaymentChain,
    known: readonly ProcessorCharge[],
    before: OpenMismatch | undefined,
  ): Promise<readonly ProcessorCharge[]> {
    const { payment, strayCharges } = chain.state;
    const { id, chargeId } = payment;
    const found = new Map(known.map((charge) => [charge.chargeId, charge]));
    const ofPayment = await this.#reads.from(books, () => books.chargesOfPayment(id, this.#limit()));
    for (const charge of ofPayment) found.set(charge.chargeId, charge);
    const named = [
      ...(belongsToBooks(chain, books) ? [chargeId ?? [], ...strayCharges.keys()].flat() : []),
      ...(before?.mismatch.chargeIds ?? []),
    ];
    for (const missing of new Set(named.filter((each) => !found.has(each)))) {
      const charge = await this.#charge(books, missing);
      if (charge !== undefined) found.set(charge.chargeId, charge);
    }
    // Exclude charges whose metadata now names another payment or none, except the payment's own charge.
    return [...found.values()].filter((charge) => charge.paymentId === id || charge.chargeId === chargeId);
  }

  /** Compares a charge that names either no payment or a payment that does not exist. */
  async compareUnmatched(books: ProcessorBooks, charge: ProcessorCharge): Promise<JobCounts> {
    const about: ComparisonSubject = {
      books: { name: books.name, mode: books.mode, account: books.account },
      subject: charge.chargeId,
      createdAtMs: charge.createdAtSeconds * 1000,
      currency: charge.currency,
    };
    const mismatches = compareBooks([charge], withoutTransitions(charge));
    // Most of these charges have captured nothing and therefore have no mismatch. Mismatches that were stored earlier
    // are compared in the phase `open`.
    if (mismatches.length > 0) await this.#keep(about, mismatches);
    return ONE_DONE;
  }

  /**
   * Handles a charge that cannot be read. If the charge names a payment of the Ledger, that payment cannot be compared
   * without the charge, and the mark does not advance. Any other charge is only reported, and the comparison continues.
   */
  async compareUnreadable({ paymentId, fault }: UnreadableCharge): Promise<JobCounts> {
    const chain = paymentId === undefined ? undefined : await readChain(this.#tools.effects, paymentId);
    if (chain !== undefined) throw fault;
    this.#tools.report(fault);
    return ONE_FAILED;
  }

  async #keep(about: ComparisonSubject, mismatches: readonly Mismatch[]): Promise<void> {
    const { books, owner, subject, createdAtMs, currency } = about;
    const mismatch = mismatches.find((each) => each.currency === currency);
    const named = { books, ...defined({ owner }), subject, createdAtMs, currency };
    const recorded = await recordComparison(this.#tools, named, mismatch, this.#beganAtMs);
    if (recorded !== undefined) this.#tools.observer.difference(recorded.change, recorded.open);
  }

  async #read(books: ProcessorBooks, chargeId: string): Promise<readonly ProcessorCharge[]> {
    const charge = await this.#charge(books, chargeId);
    return charge === undefined ? [] : [charge];
  }

  #charge(books: ProcessorBooks, chargeId: string): Promise<ProcessorCharge | undefined> {
    return this.#reads.from(books, () => books.readCharge(chargeId, this.#limit()));
  }

  #limit(): { readonly timeoutMs: number } {
    return { timeoutMs: Math.max(1, Math.min(READ_TIMEOUT_MS, this.#deadlineMs - this.#tools.clock.nowMs())) };
  }
}

function isComparedLater({ transitions }: PaymentChain, { sequence, fromMs, untilMs }: InPart): boolean {
  return transitions.some(
    (each) =>
      each.sequence > sequence && isOutcome(each.type) && each.occurredAtMs >= fromMs && each.occurredAtMs < untilMs,
  );
}

/** Removes duplicates: lists of adjacent ranges may contain the same charge. */
function chargesOf(listed: readonly ListedCharge[]): readonly ProcessorCharge[] {
  return [...new Map(listed.map(({ charge }) => [charge.chargeId, charge])).values()];
}

function withoutTransitions({ paymentId }: ProcessorCharge) {
  return { ...defined({ paymentId }), transitions: [] };
}
