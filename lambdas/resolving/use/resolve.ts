import { TerminalError } from '../../kernel/faults.ts';
import { inquiryOperation, type OperationId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { fromTurn, isInquiryDue } from '../../kernel/looks.ts';
import { effectExpirySeconds, type OpenRecord } from '../../once/domain/idempotency.ts';
import { rounds } from '../../once/use/rounds.ts';
import type { CreateOrderOutcome } from '../../orders/use/create-order.ts';
import { type ChangeCommand, changeOf, isUnderWay } from '../../payments/domain/change.ts';
import { type Decision, decide } from '../../payments/domain/decide.ts';
import type { HoldChange, Refund } from '../../payments/domain/payment.ts';
import { isAwaited, notesOf, termsOf } from '../../payments/domain/payment.ts';
import { SEND_WINDOW_MS } from '../../payments/domain/settlement.ts';
import { detailsOf, nextTransition } from '../../payments/domain/transition.ts';
import { type ChangePaymentOutcome, changePayment } from '../../payments/use/change-payment.ts';

import {
  type CreatePaymentOutcome,
  type CreatePaymentTools,
  createPayment,
} from '../../payments/use/create-payment.ts';

import type { EffectStore } from '../../payments/use/effect-store.ts';
import { settleCharge } from '../../payments/use/find-out.ts';
import { findOutChange } from '../../payments/use/find-out-change.ts';
import { chainOf, type PaymentChain, readChain } from '../../payments/use/payment-chain.ts';
import type { Inquiry } from '../../payments/use/payment-store.ts';
import { pinnedBooks, pinnedProcessor } from '../../payments/use/pinned-processor.ts';
import type { ProcessorBooks } from '../../payments/use/processor.ts';
import { queuedWith } from '../../payments/use/queued-with.ts';
import { type AlarmTools, raiseAlarms } from '../../payments/use/raise-alarms.ts';
import { readCharge, recordCharge } from '../../payments/use/record-charge.ts';
import type { UnfinishedWork } from '../../payments/use/unfinished-work.ts';

export interface ResolveTools extends CreatePaymentTools, AlarmTools {
  readonly effects: EffectStore;
  /** Of every processor that is called here. */
  readonly books: readonly ProcessorBooks[];
  readonly work: UnfinishedWork;
  /** Ends claims that are not a payment's: undefined says that this one is. @default all are */
  readonly finishOther?: (record: OpenRecord) => Promise<Came | undefined>;
  /** Told of what went wrong with one thing; the others are tried all the same. */
  readonly report: (error: unknown) => void;
  /** Nothing more is begun then; a later run goes on. Unix milliseconds. @default half a minute after the beginning */
  readonly deadlineMs?: number;
}

/** What a run came to; each thing is tried once, and one that cannot be tried now does not hold up the others. */
export interface Resolved {
  /** Claims that have their stored answer now, and inquiries that have found out. */
  readonly finished: number;
  /** Not finished, and not to be yet; or there was no time for it. */
  readonly waiting: number;
  /** Never to be found out by a program: a person decides. */
  readonly undecidable: number;
  /** The world did not allow it; the next run tries again. */
  readonly failed: number;
}

/** One thing gets as long as a request would. Milliseconds. */
const TIME_FOR_ONE_MS = 20_000;
/** Each kind of work ends before its turn is over: four of them fit into the function's life. Milliseconds. */
const RUN_FOR_MS = 30_000;
/** What a run looks at; much of it is not due, and the rest must fit into its time. */
const MAX_AT_ONCE = 1_000;

/**
 * Ends the claims that nobody finishes: each is taken over as a retry of its client would take it over, and gets the
 * answer that the client would have had. A released claim says that nothing was sent: it is left to its client until
 * nobody may send any more.
 */
export async function resolveClaims(tools: ResolveTools): Promise<Resolved> {
  const nowMs = tools.clock.nowMs();
  return each(tools, await tools.work.staleClaims(nowMs, MAX_AT_ONCE), async (record) => {
    if (record.released && nowMs <= record.claimedAtMs + SEND_WINDOW_MS) return 'waiting';
    const other = await tools.finishOther?.(record);
    if (other !== undefined) return other;
    const chain = await readChain(tools.store, record.paymentId);
    invariant(chain !== undefined, 'a claim has its pending transition');
    return cameOfClaim(await finish(tools, record, chain), record, tools.report);
  });
}

/** An open claim that its own request cannot end stays open for ever: that is for a person, and must not look finished. */
export function cameOfClaim(
  outcome: (CreatePaymentOutcome | ChangePaymentOutcome | CreateOrderOutcome)['kind'],
  { operationId }: Pick<OpenRecord, 'operationId'>,
  report: ResolveTools['report'],
): Came {
  if (outcome === 'first' || outcome === 'replay') return 'finished';
  if (outcome === 'in_progress') return 'waiting';
  report(new TerminalError('claim_stuck', `the claim of ${operationId} ended as ${outcome}`));
  return 'undecidable';
}

async function finish(tools: ResolveTools, record: OpenRecord, { first, state }: PaymentChain) {
  const { operationId, paymentId, fingerprint } = record;
  const { tenantId, mode } = first.payment;
  const change = changeOf(state, operationId);
  if (change !== undefined) {
    const request = { operationId, paymentId, tenantId, mode, fingerprint, requestId: operationId };
    return (await changePayment(tools, { ...request, command: commandOf(change) })).kind;
  }
  const details = detailsOf(first);
  const outcome = await createPayment(tools, {
    paymentId,
    tenantId,
    mode,
    fingerprint,
    requestId: details.requestId,
    ...termsOf(first.payment),
    ...notesOf(details),
  });
  return outcome.kind;
}

function commandOf(change: HoldChange | Refund): ChangeCommand {
  const { amountMinor } = change;
  switch (change.kind) {
    case 'capture':
      return { kind: 'capture', amountMinor };
    case 'void':
      return { kind: 'cancel' };
    case 'refund':
      return { kind: 'refund', amountMinor };
  }
}

/**
 * Finds out what became of payments and changes that were answered "not known yet", and of those that wait for their payer. It only
 * appends: the answer that was
 * given stays.
 *
 * @param startedAtMs of the run, which decides what is due: the work before this one may take more than a minute
 */
export async function resolveInquiries(
  tools: ResolveTools,
  startedAtMs: number = tools.clock.nowMs(),
): Promise<Resolved> {
  return each(tools, await tools.work.inquiries(MAX_AT_ONCE), async (inquiry) => {
    if (!isInquiryDue(inquiry, startedAtMs)) return 'waiting';
    const came = await inquire(tools, inquiry);
    if (came === 'finished') await tools.work.closeInquiry(inquiry);
    return came;
  });
}

/** @returns `finished` when it is known now how it ended, or a payment that nobody can find out about waits for a person */
async function inquire(tools: ResolveTools, inquiry: Inquiry): Promise<Came> {
  const { store, effects, digest, clock, entropy } = tools;
  return rounds<Came>('this payment', async () => {
    const chain = await readChain(store, inquiry.paymentId);
    invariant(chain !== undefined, 'what is inquired about is there');
    if (!isOpen(inquiry.operationId, chain)) return 'finished';
    if (isForPayer(inquiry.operationId, chain)) return lookAtCharge(tools, inquiry, chain);
    // Asked anew after every conflict: an answer may not be older than what it is decided on.
    const decision = (await ask(tools, inquiry, chain))(chain);
    if (decision?.kind !== 'append') return decision?.kind === 'review' ? 'undecidable' : 'waiting';
    const nowMs = clock.nowMs();
    const transition = nextTransition(digest, chain.newest, decision.draft, nowMs);
    raiseAlarms(tools, [transition], decision.contradicts === undefined ? [] : [decision.contradicts]);
    const record = {
      operationId: inquiryOperation(digest, inquiry.operationId, transition.sequence),
      paymentId: inquiry.paymentId,
      owner: entropy.ownerToken(),
      recordedAtMs: nowMs,
      expiresAtSeconds: effectExpirySeconds(nowMs, entropy.fraction()),
    };
    const outcome = await effects.recordEffect({
      record,
      transitions: [transition],
      ...queuedWith(digest, chain.first, [transition]),
    });
    if (outcome.kind !== 'recorded') return 'again';
    return isOpen(inquiry.operationId, chainOf([...chain.transitions, transition])) ? 'waiting' : 'finished';
  });
}

function isOpen(operationId: OperationId, { state }: PaymentChain): boolean {
  const change = changeOf(state, operationId);
  return change === undefined ? isAwaited(state.payment) : isUnderWay(change, state);
}

function isForPayer(operationId: OperationId, { state }: PaymentChain): boolean {
  return changeOf(state, operationId) === undefined && state.payment.status === 'requires_action';
}

/** Nothing is sent any more: the charge is there, and the processor's books say what its payer has made of it. */
async function lookAtCharge(tools: ResolveTools, { operationId }: Inquiry, chain: PaymentChain): Promise<Came> {
  const { id, chargeId } = chain.state.payment;
  invariant(chargeId !== undefined, 'what its payer must approve has a name');
  const books = pinnedBooks(tools, chain.first);
  if (books === undefined) return 'waiting';
  await recordCharge(tools, id, operationId, () => readCharge(books, chargeId));
  const after = await readChain(tools.store, id);
  return after === undefined || isOpen(operationId, after) ? 'waiting' : 'finished';
}

type DecideOn = (chain: PaymentChain) => Decision | undefined;

/** Asks the processor, and says what its answer means for the payment as it then stands. */
async function ask(tools: ResolveTools, { operationId, claimedAtMs }: Inquiry, chain: PaymentChain): Promise<DecideOn> {
  const { clock, entropy } = tools;
  const processor = pinnedProcessor(tools, chain.first);
  if (processor === undefined) return () => undefined;
  const underway = { claimedAtMs, sent: 'maybe' as const, answerByMs: clock.nowMs() + TIME_FOR_ONE_MS };
  const change = changeOf(chain.state, operationId);
  if (change !== undefined) return findOutChange({ processor, clock, entropy }, change, chain, underway);
  const { id: paymentId, amountMinor, currency, source, capture } = chain.first.payment;
  const order = { operationId, paymentId, amountMinor, currency, source, capture };
  const fact = await settleCharge({ processor, clock, entropy }, { order, ...underway });
  return ({ state }) => decide(fact, state);
}

export type Came = 'finished' | 'waiting' | 'undecidable';

/** Begins with another thing at every run, so that what there is no time for has its turn later. */
export async function each<Thing>(
  { clock, report, deadlineMs }: Pick<ResolveTools, 'clock' | 'report' | 'deadlineMs'>,
  things: readonly Thing[],
  handle: (thing: Thing) => Promise<Came>,
): Promise<Resolved> {
  const counts = { finished: 0, waiting: 0, undecidable: 0, failed: 0 };
  const nowMs = clock.nowMs();
  const untilMs = Math.min(nowMs + RUN_FOR_MS, deadlineMs ?? Number.POSITIVE_INFINITY);
  for (const thing of fromTurn(things, nowMs)) {
    if (clock.nowMs() >= untilMs) counts.waiting += 1;
    else
      try {
        counts[await handle(thing)] += 1;
      } catch (error) {
        report(error);
        counts.failed += 1;
      }
  }
  return counts;
}
