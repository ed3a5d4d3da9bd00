import type { Cause } from '../../kernel/cause.ts';
import { REQUEST_BUDGET_SECONDS } from '../../kernel/contract/timing.ts';
import { defined } from '../../kernel/defined.ts';
import { AmbiguousError, codeOf, RetryableError, TerminalError } from '../../kernel/faults.ts';
import type { OperationId, PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { nextLookUpMs } from '../../kernel/looks.ts';
import type { Clock } from '../../kernel/world.ts';
import { expirySeconds, type OpenRecord } from '../../once/domain/idempotency.ts';
import { rounds } from '../../once/use/rounds.ts';
import { parseOrderId } from '../../orders/ids.ts';
import type { CreateOrderOutcome } from '../../orders/use/create-order.ts';
import { changeOf, commandOf, isUnderWay } from '../../payments/domain/change.ts';
import { type Decision, decide } from '../../payments/domain/decide.ts';
import type { ChargeFact } from '../../payments/domain/facts.ts';
import { isOpen, isOpenInChain } from '../../payments/domain/open-at-processor.ts';
import { isAwaited, isUnresolved, notesOf, termsOf } from '../../payments/domain/payment.ts';
import { OUTCOME_KNOWN_WITHIN_MS, SEND_WINDOW_MS } from '../../payments/domain/settlement.ts';
import { detailsOf, nextTransition } from '../../payments/domain/transition.ts';
import { inquiryOperation } from '../../payments/ids.ts';
import {
  type ChangePaymentOutcome,
  type ChangePaymentTools,
  changePayment,
} from '../../payments/use/change-payment.ts';
import { type CreatePaymentOutcome, createPayment } from '../../payments/use/create-payment.ts';
import { settleCharge } from '../../payments/use/find-out.ts';
import { findOutChange } from '../../payments/use/find-out-change.ts';
import { chainOf, hasBegun, type PaymentChain, readChain } from '../../payments/use/payment-chain.ts';
import { type Inquiry, inquirySchedule } from '../../payments/use/payment-store.ts';
import {
  type KnownProcessors,
  knownProcessors,
  pinnedBooks,
  pinnedProcessor,
} from '../../payments/use/pinned-processor.ts';
import {
  ANSWER_MISMATCH,
  BOOKS_TIMEOUT_MS,
  type Processor,
  type ProcessorBooks,
} from '../../payments/use/processor.ts';
import { booksInquiry, inquiryForCharge, queueEntriesFor } from '../../payments/use/queued-with.ts';
import { alarmContradictions, alarmLateSuccess } from '../../payments/use/raise-alarms.ts';
import { readCharge, recordCharge, recordIfKnown } from '../../payments/use/record-charge.ts';
import type { UnfinishedWork } from '../../payments/use/unfinished-work.ts';
import { type EnterLane, laneOf } from './lanes.ts';
import { type EntriesTools, each, type ItemResult, MAX_AT_ONCE, type Resolved } from './process-entries.ts';

export interface ResolveTools extends ChangePaymentTools, EntriesTools {
  readonly clock: Clock;
  /** The job run, recorded as the cause of the transitions that it writes. */
  readonly cause: Cause;
  readonly books: readonly ProcessorBooks[];
  readonly work: UnfinishedWork;
  /**
   * Finishes a claim that does not belong to a payment.
   * @default every claim belongs to a payment
   */
  readonly finishOther?: (record: OpenRecord) => Promise<ItemResult | undefined>;
}

type LookUpTools = Omit<ResolveTools, 'work' | 'report'>;

/** Time limit for looking up one operation at the processor, in milliseconds; equal to the limit of an API request. */
const ITEM_TIMEOUT_MS = REQUEST_BUDGET_SECONDS * 1000;
/**
 * Delay before a claim that could not be finished is retried, in milliseconds. The next run handles claims with an
 * earlier due time first.
 */
const CLAIM_RETRY_DELAY_MS = 60_000;
/**
 * Maximum delay before an inquiry is repeated if the circuit breaker refused it, in milliseconds. Without this limit,
 * an outage of seconds would delay a daily inquiry by a whole day. With a shorter delay, refused inquiries would fill
 * every run.
 */
const REFUSED_RETRY_DELAY_MS = 15 * 60_000;
/** Lane of the claims of orders, which wait for several systems one after the other. */
const ORDERS_LANE = 'orders';

/**
 * Takes over each claim as if its caller had retried, and stores the response for the caller. If a claim was released,
 * nothing was sent under it, so it is left to its caller until its send window has closed.
 */
export async function resolveClaims(tools: ResolveTools): Promise<Resolved> {
  const { work, clock } = tools;
  const nowMs = clock.nowMs();
  return each(tools, await work.staleClaims({ untilMs: nowMs, limit: MAX_AT_ONCE }), {
    about: ({ operationId, paymentId }) => parseOrderId(operationId) ?? paymentId,
    handle: async (record, enter) => {
      // The index may still contain a claim that was just released.
      if (record.released && nowMs <= record.claimedAtMs + SEND_WINDOW_MS) return 'waiting';
      const { operationId, paymentId } = record;
      if (parseOrderId(operationId) !== undefined) await enter(ORDERS_LANE);
      const other = await tools.finishOther?.(record);
      if (other !== undefined) return other;
      const chain = await readChainInLane(tools, paymentId, enter);
      // A restore has kept only a part of the claim's transaction. The claim's request is unknown here. The recovery
      // (`closeRemnants`) removes the claim.
      if (chain === undefined || !hasBegun(chain, operationId)) return 'waiting';
      return resultOfClaim(tools, await finish(tools, record, chain), record);
    },
    close: () => Promise.resolve(),
    keep: (record, undecidable) => work.postponeClaim(record, { dueAtMs: nowMs + CLAIM_RETRY_DELAY_MS, undecidable }),
  });
}

/**
 * If not even the retry of a claim's request can finish the claim, reports the claim to operators once. Without the
 * report, the claim would stay open unnoticed.
 */
export function resultOfClaim(
  { report }: Pick<ResolveTools, 'report'>,
  outcome: (CreatePaymentOutcome | ChangePaymentOutcome | CreateOrderOutcome)['kind'],
  { operationId, undecidable }: Pick<OpenRecord, 'operationId' | 'undecidable'>,
): ItemResult {
  if (outcome === 'first' || outcome === 'replay') return 'finished';
  if (outcome === 'in_progress') return 'waiting';
  if (undecidable !== true)
    report(new TerminalError('claim_stuck', `the claim of ${operationId} cannot be finished: ${outcome}`));
  return 'undecidable';
}

export async function readChainInLane(
  tools: KnownProcessors & Pick<ResolveTools, 'store'>,
  paymentId: PaymentId,
  enter: EnterLane,
): Promise<PaymentChain | undefined> {
  const chain = await readChain(tools.store, paymentId);
  const processor = chain && pinnedProcessor(tools, chain.first);
  if (processor === undefined || knownProcessors(tools).length < 2) return chain;
  return (await enter(laneOf(processor))) ? readChain(tools.store, paymentId) : chain;
}

async function finish(allTools: ResolveTools, record: OpenRecord, { first, state }: PaymentChain) {
  const { cause } = allTools;
  const { operationId, paymentId, fingerprint } = record;
  const { tenantId, mode } = first.payment;
  // Use the circuit breaker of the payment's own processor.
  const processor = pinnedProcessor(allTools, first) ?? allTools.processor;
  const tools = { ...allTools, processor, processors: knownProcessors(allTools) };
  const change = changeOf(state, operationId);
  if (change !== undefined) {
    const request = { operationId, paymentId, tenantId, mode, fingerprint, requestId: operationId, cause };
    return (await changePayment(tools, { ...request, command: commandOf(change) })).kind;
  }
  const details = detailsOf(first);
  const outcome = await createPayment(tools, {
    paymentId,
    tenantId,
    mode,
    fingerprint,
    requestId: details.requestId,
    cause,
    ...termsOf(first.payment),
    ...notesOf(details),
    ...defined({ orderId: details.orderId }),
  });
  return outcome.kind;
}

/**
 * Determines the outcomes of payments and changes that were answered with 202. Only transitions are appended; the
 * stored response does not change.
 *
 * @param startedAtMs scheduled time of the run, in Unix milliseconds; inquiries that become due later are left to the
 * next run, even if the run is late or its earlier queues take more than a minute
 */
export async function resolveInquiries(
  tools: ResolveTools,
  startedAtMs: number = tools.clock.nowMs(),
): Promise<Resolved> {
  const { work } = tools;
  const due = { untilMs: startedAtMs, limit: MAX_AT_ONCE };
  const unknown = await inquireEach(tools, await work.unknownOutcomes(due), startedAtMs);
  const routine = await inquireEach(tools, await work.routineInquiries(due), startedAtMs);
  return {
    finished: unknown.finished + routine.finished,
    waiting: unknown.waiting + routine.waiting,
    undecidable: unknown.undecidable + routine.undecidable,
    failed: unknown.failed + routine.failed,
  };
}

function inquireEach(tools: ResolveTools, inquiries: readonly Inquiry[], startedAtMs: number): Promise<Resolved> {
  const { work } = tools;
  const ofPayer = new Set<Inquiry>();
  return each(tools, inquiries, {
    about: ({ paymentId }) => paymentId,
    handle: (inquiry, enter) => inquire(tools, inquiry, enter, () => void ofPayer.add(inquiry)),
    close: (inquiry) => work.closeInquiry(inquiry),
    keep: (inquiry, undecidable, isRefused = false) => {
      const kept: Inquiry = ofPayer.has(inquiry) ? { ...inquiry, waitsFor: 'payer' } : inquiry;
      const latestMs = isRefused ? startedAtMs + REFUSED_RETRY_DELAY_MS : Number.POSITIVE_INFINITY;
      const dueAtMs = Math.min(latestMs, nextLookUpMs(inquirySchedule(kept), startedAtMs));
      return work.postponeInquiry(kept, { dueAtMs, undecidable });
    },
  });
}

/**
 * @returns `finished` when the outcome is known now, the payment waits for an operator's decision, or the payment does
 * not exist
 */
async function inquire(
  tools: ResolveTools,
  inquiry: Inquiry,
  enter: EnterLane,
  awaitPayer: () => void,
): Promise<ItemResult> {
  if (inquiry.waitsFor === 'books') return inquireBooks(tools, inquiry, enter);
  return rounds<ItemResult>('this payment', async () => {
    const chain = await readChainInLane(tools, inquiry.paymentId, enter);
    // A restore has lost the payment but kept its queue entry.
    if (chain === undefined) return 'finished';
    if (inquiry.waitsFor === 'bank') return inquireCharge(tools, inquiry, chain);
    if (isOvertaken(inquiry, chain)) {
      const inquiries = [booksInquiry(inquiry.paymentId, inquiry.claimedAtMs)];
      await tools.effects.queueOrNote({ toReturn: [], inquiries });
    }
    if (!isOpenOperation(inquiry.operationId, chain)) return 'finished';
    const charge = chargeOfPayer(inquiry, chain);
    if (charge !== undefined) awaitPayer();
    const looked = charge === undefined ? undefined : await inquireKnownCharge(tools, inquiry, chain, charge);
    if (looked !== undefined) return looked;
    if (pinnedProcessor(tools, chain.first) === undefined) return elsewhere(tools, inquiry);
    // Repeat the look-up after every conflict, because its result must not be older than the state on which the
    // decision is made.
    return inquireOperation(tools, inquiry, chain);
  });
}

/**
 * Returns whether a callback recorded a charge before the resolver could look up a charge request that got no response.
 * That request may have created a different charge, which can still take money, so all charges must be read:
 *
 *   owner     charge 1 sent ── no response, answers 202
 *   callback  ────────────────────────────────────────── charge 2 ends the payment, or waits for its payer
 */
function isOvertaken({ operationId, waitsFor }: Inquiry, { transitions, state }: PaymentChain): boolean {
  const isOfCharge = waitsFor === undefined && changeOf(state, operationId) === undefined;
  if (!isOfCharge || isUnresolved(state.payment)) return false;
  return transitions.every(({ type, payment }) => type !== 'payment.processing' || payment.chargeId === undefined);
}

/** @returns `again` when a rival has appended to the chain */
export async function inquireOperation(
  tools: LookUpTools,
  inquiry: Inquiry,
  chain: PaymentChain,
): Promise<ItemResult | 'again'> {
  const { effects, digest, clock, entropy, cause } = tools;
  const decision = (await ask(tools, inquiry, chain))(chain);
  if (decision?.kind !== 'append') return decision?.kind === 'review' ? 'undecidable' : 'waiting';
  const nowMs = clock.nowMs();
  const transition = nextTransition(digest, chain, decision.draft, { occurredAtMs: nowMs, cause });
  alarmLateSuccess(tools, inquiry.paymentId, [transition]);
  const contradictions = decision.contradicts === undefined ? [] : [decision.contradicts];
  await alarmContradictions(tools, chain, contradictions, transition.subject, 'look');
  const record = {
    operationId: inquiryOperation(digest, inquiry.operationId, transition.hash),
    paymentId: inquiry.paymentId,
    owner: entropy.ownerToken(),
    recordedAtMs: nowMs,
    expiresAtSeconds: expirySeconds(tools, 'events', nowMs),
  };
  const outcome = await effects.recordEffect({
    record,
    transitions: [transition],
    ...queueEntriesFor(chain, [transition]),
  });
  if (outcome.kind !== 'recorded') return 'again';
  const after = chainOf([...chain.transitions, transition]);
  return isOpenOperation(inquiry.operationId, after) ? 'waiting' : 'finished';
}

function isOpenOperation(operationId: OperationId, { state }: PaymentChain): boolean {
  const change = changeOf(state, operationId);
  return change === undefined ? isAwaited(state.payment) : isUnderWay(change, state);
}

function chargeOfPayer({ operationId }: Inquiry, { state }: PaymentChain): string | undefined {
  const isForPayer = changeOf(state, operationId) === undefined && state.payment.status === 'requires_action';
  return isForPayer ? state.payment.chargeId : undefined;
}

/**
 * Makes an inquiry about a charge that waits for its payer. Only reads: the processor's books contain the decision of
 * the payer or the bank.
 *
 * @returns undefined when the processor does not know the charge, and the claim is so old that its owner can no longer
 * send; the caller then looks up the operation itself
 */
async function inquireKnownCharge(
  tools: ResolveTools,
  inquiry: Inquiry,
  chain: PaymentChain,
  chargeId: string,
): Promise<ItemResult | undefined> {
  const { operationId, paymentId: id, claimedAtMs } = inquiry;
  const books = pinnedBooks(tools, chain.first);
  if (books === undefined) return elsewhere(tools, inquiry);
  const isKnown = (await recordIfKnown(tools, books, chargeId, operationId, chain)) !== undefined;
  if (!isKnown) return tools.clock.nowMs() > claimedAtMs + OUTCOME_KNOWN_WITHIN_MS ? undefined : 'waiting';
  const after = await readChain(tools.store, id);
  return after === undefined || isOpenOperation(operationId, after) ? 'waiting' : 'finished';
}

/**
 * Reads a charge and records its state; the inquiry is finished when the charge, its refunds and its disputes have a
 * result. Money beyond what the payment may hold is recorded as a stray charge and returned.
 */
async function inquireCharge(tools: ResolveTools, inquiry: Inquiry, chain: PaymentChain): Promise<ItemResult> {
  const { operationId: chargeId, paymentId } = inquiry;
  const books = pinnedBooks(tools, chain.first);
  if (books === undefined) return elsewhere(tools, inquiry);
  if ((await books.readCharge(chargeId, { timeoutMs: BOOKS_TIMEOUT_MS })) === undefined)
    return inquireUnknownCharge(tools, inquiry, chain);
  const { charge, chain: after } = await recordCharge(tools, paymentId, chargeId, () => readCharge(books, chargeId));
  return isOpen(charge, after.state) ? 'waiting' : 'finished';
}

/**
 * Decides about an inquiry whose charge was seen earlier, but is unknown to the processor now. This does not prove that
 * the charge is gone: the books may lag, or the API key may belong to another account. After {@link BOOKS_LAG_MS}, an
 * operator must act. The inquiry ends when an operator confirms that the charge does not exist, unless a refund or
 * dispute of the charge is open in the chain.
 */
function inquireUnknownCharge(
  { clock }: Pick<ResolveTools, 'clock'>,
  { operationId: chargeId, claimedAtMs }: Inquiry,
  { transitions, state }: PaymentChain,
): ItemResult {
  const isMissing = transitions.some(
    ({ subject, occurredAtMs }) =>
      subject?.kind === 'annotation' && subject.missingCharge === chargeId && occurredAtMs >= claimedAtMs,
  );
  if (isMissing && !isOpenInChain(chargeId, state)) return 'finished';
  return clock.nowMs() > claimedAtMs + BOOKS_LAG_MS ? 'undecidable' : 'waiting';
}

/**
 * Assumed maximum lag of a processor's books, in milliseconds. Stripe's search lags by up to an hour (Stripe,
 * "Search", data freshness).
 */
const BOOKS_LAG_MS = 2 * 60 * 60_000;

/**
 * Records every charge of a payment. The inquiry is repeated until the processor's search must be up to date. Used, for
 * example, after an operator's decision. Money beyond what the payment may hold is recorded as a stray charge and
 * returned.
 */
async function inquireBooks(tools: ResolveTools, inquiry: Inquiry, enter: EnterLane): Promise<ItemResult> {
  const { operationId, paymentId, claimedAtMs } = inquiry;
  const chain = await readChainInLane(tools, paymentId, enter);
  if (chain === undefined) return 'finished';
  const books = pinnedBooks(tools, chain.first);
  if (books === undefined) return elsewhere(tools, inquiry);
  const isRead = await recordChargesOf(tools, operationId, chain, books);
  return isRead && tools.clock.nowMs() > claimedAtMs + BOOKS_LAG_MS ? 'finished' : 'waiting';
}

/** @returns false when the processor is unavailable; the next inquiry then reads the books */
async function recordChargesOf(...request: Parameters<typeof readChargesOf>): Promise<boolean> {
  try {
    await readChargesOf(...request);
    return true;
  } catch (error) {
    if (error instanceof RetryableError || error instanceof AmbiguousError) return false;
    throw error;
  }
}

/**
 * If the processor does not know one of the charges, an inquiry about that charge is queued.
 * @param otherCharges the charges to read in addition to the payment's own charge @default all charges that a search of
 * the books finds
 */
async function readChargesOf(
  tools: LookUpTools,
  operationId: OperationId,
  chain: PaymentChain,
  books: ProcessorBooks,
  otherCharges?: readonly string[],
): Promise<void> {
  const { id: paymentId, chargeId } = chain.state.payment;
  const search = async (): Promise<readonly string[]> =>
    (await books.chargesOfPayment(paymentId, { timeoutMs: BOOKS_TIMEOUT_MS })).map((charge) => charge.chargeId);
  const found = otherCharges ?? (await search());
  for (const id of new Set(chargeId === undefined ? found : [...found, chargeId])) {
    const charge = await books.readCharge(id, { timeoutMs: BOOKS_TIMEOUT_MS });
    if (charge === undefined) {
      const inquiries = [inquiryForCharge(paymentId, id, tools.clock.nowMs())];
      await tools.effects.queueOrNote({ toReturn: [], inquiries });
    } else await recordCharge(tools, paymentId, operationId, () => readCharge(books, id));
  }
}

/** An operator must configure the processor or decide the payment's outcome. */
export function elsewhere(
  { report }: Pick<ResolveTools, 'report'>,
  { paymentId, undecidable }: Pick<Inquiry, 'paymentId' | 'undecidable'>,
): ItemResult {
  if (undecidable !== true)
    report(new TerminalError('processor_elsewhere', `this deployment does not call the processor of ${paymentId}`));
  return 'undecidable';
}

/** Kinds of facts that do not contain the result of the charge. */
const OPEN_FACTS: ReadonlySet<string> = new Set(['unknown', 'pending', 'undecidable'] satisfies ChargeFact['kind'][]);

/** Kinds of facts that a look-up by key returns if it finds no charge. */
const ABSENT_FACTS: ReadonlySet<string> = new Set(['not_attempted', 'undecidable'] satisfies ChargeFact['kind'][]);

type DecideOn = (chain: PaymentChain) => Decision | undefined;

async function ask(tools: LookUpTools, { operationId, claimedAtMs }: Inquiry, chain: PaymentChain): Promise<DecideOn> {
  const { clock, entropy } = tools;
  const processor = pinnedProcessor(tools, chain.first);
  invariant(processor !== undefined, 'the processor of the inquiry is not configured');
  const underway = { claimedAtMs, sent: 'maybe' as const, answerByMs: clock.nowMs() + ITEM_TIMEOUT_MS };
  const change = changeOf(chain.state, operationId);
  const books = pinnedBooks(tools, chain.first);
  if (change !== undefined) {
    let isContradicted = false;
    const findChange: Processor['findChange'] = (...order) =>
      processor.findChange(...order).catch((error: unknown) => {
        isContradicted = codeOf(error) === ANSWER_MISMATCH;
        throw error;
      });
    const asked = { ...processor, findChange };
    const decideOn = await findOutChange({ ...tools, processor: asked }, change, chain, underway);
    const isOpenLate = clock.nowMs() > claimedAtMs + OUTCOME_KNOWN_WITHIN_MS && decideOn(chain) === undefined;
    if (isOpenLate && isContradicted) return (now) => decideOn(now) ?? CONTRADICTED;
    const isUnknown = isOpenLate && books !== undefined && (await isChargeUnknown(books, chain));
    return (now) => decideOn(now) ?? (isUnknown ? CHARGE_UNKNOWN : undefined);
  }
  const { id: paymentId, amountMinor, currency, source, capture } = chain.first.payment;
  const { returnUrl } = detailsOf(chain.first);
  const asked = { operationId, paymentId, amountMinor, currency, source, capture };
  const order = returnUrl === undefined ? asked : { ...asked, returnUrl };
  const found = await settleCharge({ processor, clock, entropy }, { order, ...underway });
  const isOverdue = clock.nowMs() > claimedAtMs + OUTCOME_KNOWN_WITHIN_MS;
  // Only the books can prove that a charge with a known id no longer exists. A look-up by key does not find a charge
  // that was created without the key, and some processors have no such look-up.
  const isFound = chain.state.payment.chargeId === undefined || !ABSENT_FACTS.has(found.kind);
  const isGone = !isFound && isOverdue && books !== undefined && (await isChargeUnknown(books, chain));
  const fact: ChargeFact = isFound ? found : { kind: isGone ? 'not_attempted' : 'undecidable' };
  // Read the charge from the books instead: the look-up by key refuses a charge that differs from the request, and
  // reports a charge's first outcome instead of its current state.
  const another = chargeOfAnother(fact, chain);
  if (books !== undefined && (another !== undefined || (isOverdue && OPEN_FACTS.has(fact.kind)))) {
    const otherCharges = another === undefined ? [] : [another];
    await recordChargesOf(tools, operationId, chain, books, fact.kind === 'unknown' ? undefined : otherCharges);
  }
  return ({ state }) => decide(fact, state);
}

/**
 * Returns the charge that was found by key if it is not the payment's own charge. The operation then has two charges.
 */
function chargeOfAnother(fact: ChargeFact, { state: { payment } }: PaymentChain): string | undefined {
  const chargeId = 'chargeId' in fact ? fact.chargeId : undefined;
  return payment.chargeId === undefined || payment.chargeId === chargeId ? undefined : chargeId;
}

/**
 * The processor does not know the charge: an operator may have named a charge that does not exist, or the API key may
 * belong to another account. Neither case proves that the change was not made, so an operator decides.
 */
const CHARGE_UNKNOWN = {
  kind: 'review',
  because: 'the processor does not know the charge',
} as const satisfies Decision;

/**
 * The processor was reached, but its books contradict the change: the charge has a different currency, the change has a
 * different amount, or two changes have the same key. An operator decides, because every later look-up has the same
 * result.
 */
const CONTRADICTED = {
  kind: 'review',
  because: 'the change at the processor does not match the change that Payonce requested',
} as const satisfies Decision;

async function isChargeUnknown(books: ProcessorBooks, { state: { payment } }: PaymentChain): Promise<boolean> {
  if (payment.chargeId === undefined) return false;
  try {
    return (await books.readCharge(payment.chargeId, { timeoutMs: BOOKS_TIMEOUT_MS })) === undefined;
  } catch (error) {
    if (error instanceof RetryableError || error instanceof AmbiguousError) return false;
    throw error;
  }
}
