import { type Answer, hasOmittedDetails, restoreDetails } from '../../kernel/answer.ts';
import type { Cause } from '../../kernel/cause.ts';
import { REQUEST_BUDGET_SECONDS } from '../../kernel/contract/timing.ts';
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { Mode, OrderId, PaymentId, TenantId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { CompletedRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import {
  type Attempt,
  type ClaimedKey,
  type Conclusion,
  type Executed,
  type ExecuteTools,
  executeOnce,
  type Held,
  type LostRecord,
  type Operation,
  type RunNotes,
} from '../../once/use/execute-once.ts';
import type { CommitOutcome, ExpectedRecord } from '../../once/use/record-store.ts';
import { claimTransactionLost } from '../../once/use/rounds.ts';
import { decide } from '../domain/decide.ts';
import type { ChargeFact } from '../domain/facts.ts';
import { withoutPersonalFields } from '../domain/given-reason.ts';
import type { Payment, PaymentNotes, PaymentTerms } from '../domain/payment.ts';
import { create, freesReference, isAwaited, isUnresolved, termsOf } from '../domain/payment.ts';
import { creationAnswer } from '../domain/payment-answer.ts';
import { isSendWindowClosed } from '../domain/settlement.ts';
import type { FirstDetails, Transition } from '../domain/transition.ts';
import {
  detailsOf,
  firstTransition,
  isRequestedBy,
  nextTransition,
  notesOfNew,
  personalFields,
} from '../domain/transition.ts';
import { chargeOperation } from '../ids.ts';
import { settleCharge } from './find-out.ts';
import { chainOf, hasAnswer, type PaymentChain, readChain } from './payment-chain.ts';
import type { Claim, Commit, Inquiry, PaymentStore } from './payment-store.ts';
import {
  type KnownProcessors,
  type NoProcessor,
  pinnedProcessor,
  processorElsewhere,
  processorFor,
} from './pinned-processor.ts';
import type { ChargeOrder, Processor } from './processor.ts';
import { booksInquiry, chargesToReturn, holdEntryFor, inquiryForCharge } from './queued-with.ts';

export interface CreatePaymentTools extends ExecuteTools, KnownProcessors {
  readonly store: PaymentStore;
  /**
   * Copies of payments, which supply the personal data for cached responses. A copy may be missing or outdated.
   * @default the store
   */
  readonly copies?: Pick<PaymentStore, 'readPayment' | 'listTransitions'> | undefined;
  readonly digest: Digest;
}

export interface CreatePayment extends PaymentTerms, PaymentNotes {
  /** Derived from tenant, mode, method, path and idempotency key. */
  readonly paymentId: PaymentId;
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly fingerprint: Fingerprint;
  readonly requestId: string;
  /** The request, or the run of a job that finishes the payment. */
  readonly cause: Cause;
  /**
   * Arrival time of the request by this process's clock, in Unix milliseconds. The time budget begins at this time.
   * @default now
   */
  readonly receivedAtMs?: number;
  /**
   * Claim time of the enclosing order, in Unix milliseconds. Nothing is sent later than 15 minutes after this time.
   * @default now
   */
  readonly claimedAtMs?: number;
  readonly emailHash?: string;
  /** The metadata of a payment of an order contains this id. */
  readonly orderId?: OrderId;
}

type Refusal =
  | { readonly kind: 'key_expired'; readonly paymentId: PaymentId }
  /** Nothing was started. */
  | { readonly kind: 'no_processor'; readonly why: NoProcessor }
  | { readonly kind: 'reference_used'; readonly paymentId: PaymentId };

export type CreatePaymentOutcome = Executed<Refusal>;

/**
 * A retry with the same idempotency key never charges again, whether it is concurrent or years later.
 *
 * @throws as `executeOnce`
 */
export async function createPayment(
  tools: CreatePaymentTools,
  request: CreatePayment,
  notes?: RunNotes,
): Promise<CreatePaymentOutcome> {
  const outcome = await executeOnce(tools, new PaymentOperation(tools, request), notes);
  return withPersonalFields(outcome, () =>
    fromCopies(tools, outcome, async (store) => {
      const history = await store.readPayment(request.paymentId);
      return history === undefined ? undefined : personalFields(detailsOf(history.first));
    }),
  );
}

/** @param read returns undefined if the payment or its change is not in the given store */
export async function fromCopies(
  { store, copies }: Pick<CreatePaymentTools, 'store' | 'copies'>,
  outcome: { readonly kind: string; readonly source?: 'store' | 'cache' },
  read: (store: NonNullable<CreatePaymentTools['copies']>) => Promise<string | undefined>,
): Promise<string | undefined> {
  const copied =
    outcome.source === 'cache' && copies !== undefined ? await read(copies).catch(() => undefined) : undefined;
  return copied ?? read(store);
}

/**
 * Adds the personal data to a replayed response, because the stored response does not contain it. After an erasure, the
 * response states that the data was erased.
 *
 * @param fields reads the payment and renders the fields with personal data again, as JSON text
 */
export async function withPersonalFields<Outcome extends { readonly kind: string }>(
  outcome: Outcome,
  fields: () => Promise<string | undefined>,
): Promise<Outcome> {
  if (!isReplay(outcome) || !hasOmittedDetails(outcome.answer)) return outcome;
  const text = await fields();
  invariant(text !== undefined, 'the personal data that a stored response lacks cannot be found');
  return { ...outcome, answer: restoreDetails(outcome.answer, text) };
}

export function isReplay(outcome: {
  readonly kind: string;
}): outcome is { readonly kind: 'replay'; readonly answer: Answer } {
  return outcome.kind === 'replay';
}

/** There is no fact if the payment was no longer `processing`. */
interface Work {
  readonly fact: ChargeFact | undefined;
  readonly chain: PaymentChain;
}

type Write = Omit<Commit, 'record' | 'expects'>;

async function readiness(processor: Processor | NoProcessor): Promise<void> {
  if (typeof processor !== 'string') await processor.ready();
}

class PaymentOperation implements Operation<PaymentChain, Work, Write, Refusal> {
  readonly key: ClaimedKey;
  readonly expired: Refusal;
  readonly breaker: { readonly check: () => Promise<void>; readonly checkBegun: () => Promise<void> };
  readonly #tools: CreatePaymentTools;
  readonly #request: CreatePayment;
  readonly #answerByMs: number;
  /** The payment whose reference this payment takes over, because that payment failed, was canceled, or was lost. */
  #replaces: PaymentId | undefined;

  constructor(tools: CreatePaymentTools, request: CreatePayment) {
    const { paymentId, fingerprint } = request;
    this.key = { operationId: chargeOperation(paymentId), paymentId, fingerprint };
    this.expired = { kind: 'key_expired', paymentId };
    this.breaker = {
      check: async () => {
        await readiness(this.#chosen());
      },
      checkBegun: async () => {
        const { first } = await this.read();
        await readiness(pinnedProcessor(tools, first) ?? this.#chosen());
      },
    };
    this.#tools = tools;
    this.#request = request;
    this.#answerByMs = (request.receivedAtMs ?? tools.clock.nowMs()) + REQUEST_BUDGET_SECONDS * 1000;
  }

  async claim(open: (claimedAtMs: number, nowMs: number) => OpenRecord): Promise<Attempt<PaymentChain, Refusal>> {
    const { store, clock } = this.#tools;
    const processor = this.#chosen();
    if (typeof processor === 'string') return this.#findBegun(processor);
    const nowMs = clock.nowMs();
    const pending = this.#pending(nowMs, processor);
    const record = open(this.#claimedAt(nowMs), nowMs);
    const outcome = await store.claim({ record, pending, ...this.#reference() });
    switch (outcome.kind) {
      case 'claimed':
        return { kind: 'claimed', record, subject: chainOf([pending]) };
      case 'record_exists':
        return outcome;
      case 'transition_exists':
        return { kind: 'begun', subject: await this.read() };
      case 'reference_taken': {
        const { paymentId } = outcome;
        // After a restore, a reference can name a payment that was lost.
        const holder = await store.readPayment(paymentId);
        const isHeld = holder !== undefined && !freesReference(holder.newest.payment);
        // If the reference names this payment, a rival with the same key has claimed the operation. The next round
        // finds the rival's record.
        if (isHeld && paymentId !== this.#request.paymentId) {
          return { kind: 'refused', outcome: { kind: 'reference_used', paymentId } };
        }
        this.#replaces = paymentId;
        return 'again';
      }
    }
  }

  /** Called when no processor accepts these terms. */
  async #findBegun(why: NoProcessor): Promise<Attempt<PaymentChain, Refusal>> {
    const { store } = this.#tools;
    const record = await store.readRecord(this.key.operationId);
    if (record !== undefined) return { kind: 'record_exists', record };
    const chain = await readChain(store, this.#request.paymentId);
    if (chain !== undefined) return { kind: 'begun', subject: chain };
    return { kind: 'refused', outcome: { kind: 'no_processor', why } };
  }

  #chosen(): Processor | NoProcessor {
    return processorFor({ processor: this.#tools.processor }, this.#request);
  }

  lostRecord(chain: PaymentChain): LostRecord {
    const { first } = chain;
    return {
      isAnswered: hasAnswer(chain, this.key.operationId),
      isSameRequest: () => isRequestedBy(this.#tools.digest, first, this.#request),
      claimedAtMs: this.#claimedAt(first.occurredAtMs),
    };
  }

  async claimAgain(record: OpenRecord): Promise<boolean> {
    return (await this.#tools.store.claim({ record })).kind === 'claimed';
  }

  async read(): Promise<PaymentChain> {
    const chain = await readChain(this.#tools.store, this.#request.paymentId);
    if (chain === undefined) throw claimTransactionLost();
    return chain;
  }

  async call({ subject: chain, claimedAtMs, sent, note }: Held<PaymentChain>): Promise<Work> {
    const { clock } = this.#tools;
    // A callback or a rival has determined the outcome of the payment. Only the response must still be stored.
    if (!isUnresolved(chain.newest.payment)) return { fact: undefined, chain };
    const processor = pinnedProcessor(this.#tools, chain.first);
    if (processor === undefined) {
      // This deployment does not call the payment's processor, so it cannot find out the outcome.
      if (sent === 'maybe') return { fact: { kind: 'unknown' }, chain };
      if (isSendWindowClosed({ nowMs: clock.nowMs(), claimedAtMs })) return { fact: { kind: 'not_attempted' }, chain };
      throw processorElsewhere(chain.first);
    }
    const order = this.#order(chain.first);
    const underway = { order, claimedAtMs, sent, answerByMs: this.#answerByMs, note };
    return { fact: await settleCharge({ ...this.#tools, processor }, underway), chain };
  }

  conclude({ fact: found, chain }: Work, nowMs: number, { claimedAtMs, sent }: Held<PaymentChain>): Conclusion<Write> {
    // Only an inquiry, which reads the processor's books, can prove that a charge with a known id no longer exists.
    const isUnproven = found?.kind === 'not_attempted' && chain.state.payment.chargeId !== undefined;
    const fact: ChargeFact | undefined = isUnproven ? { kind: 'unknown' } : found;
    const decision =
      fact !== undefined && mayBeNewer(fact, chain.state.payment) ? decide(fact, chain.state) : undefined;
    const occasion = { occurredAtMs: nowMs, cause: this.#request.cause };
    const transitions =
      decision?.kind === 'append' ? [nextTransition(this.#tools.digest, chain, decision.draft, occasion)] : [];
    const [transition] = transitions;
    const { payment } = transition ?? chain.newest;
    const details = detailsOf(chain.first);
    const answer = creationAnswer(payment, details);
    return {
      answer,
      stored: withoutPersonalFields(answer, personalFields(details)),
      unknown: isUnresolved(payment),
      isRefusal: fact?.kind === 'declined' || fact?.kind === 'rejected' || fact?.kind === 'not_attempted',
      write: {
        ...(transition === undefined ? {} : { transition, toReturn: chargesToReturn(chain, transitions) }),
        ...holdEntryFor(transitions),
        inquiries: [
          ...(isAwaited(payment) ? [inquiryAbout(payment, claimedAtMs)] : []),
          ...besidesRival(fact, sent, payment, nowMs),
        ],
      },
    };
  }

  async commit(record: CompletedRecord, expects: ExpectedRecord, write: Write): Promise<CommitOutcome> {
    return this.#tools.store.commit({ record, expects, ...write });
  }

  async decideAgain({ fact }: Work): Promise<Work> {
    return { fact, chain: await this.read() };
  }

  #pending(nowMs: number, processor: Processor): Transition {
    const { digest, entropy } = this.#tools;
    const { paymentId, tenantId, mode, requestId, cause, orderId, emailHash } = this.#request;
    const draft = create({
      id: paymentId,
      tenantId,
      mode,
      ...termsOf(this.#request),
      processorName: processor.name,
      createdAtMs: nowMs,
    });
    const details: FirstDetails = {
      ...defined({ orderId }),
      ...notesOfNew(digest, this.#request, entropy.salt()),
      ...defined({ emailHash }),
      requestId,
      ...(cause.by === 'event' ? { causationId: cause.eventId } : {}),
      processor: { account: processor.account, endpoint: processor.endpoint, apiVersion: processor.apiVersion },
    };
    return firstTransition(digest, draft, details, { occurredAtMs: nowMs, cause });
  }

  #reference(): Pick<Claim, 'reference'> {
    const { tenantId, mode, reference } = this.#request;
    if (reference === undefined) return {};
    const name = { tenantId, mode, reference };
    return { reference: this.#replaces === undefined ? { name } : { name, replaces: this.#replaces } };
  }

  /** If the payment belongs to an order, the order's send window applies, and is never extended. */
  #claimedAt(ownMs: number): number {
    return Math.min(ownMs, this.#request.claimedAtMs ?? ownMs);
  }

  #order(first: Transition): ChargeOrder {
    const { id, amountMinor, currency, source, capture } = first.payment;
    const { returnUrl } = detailsOf(first);
    const order = { operationId: this.key.operationId, paymentId: id, amountMinor, currency, source, capture };
    return returnUrl === undefined ? order : { ...order, returnUrl };
  }
}

/**
 * Returns whether the owner's fact may be newer than the state that a rival has recorded. A refusal is older, because
 * the rival read the processor's books after the owner had received the refusal. A capture must always be recorded,
 * because no recorded outcome undoes it. A hold is newer than the status `requires_action`. If the owner's hold belongs
 * to a charge that the rival did not record, the hold must be voided, and only the owner knows about the hold.
 */
function mayBeNewer(fact: ChargeFact, payment: Payment): boolean {
  if (isUnresolved(payment) || fact.kind === 'succeeded') return true;
  if (fact.kind !== 'authorized') return false;
  return payment.status === 'requires_action' || fact.chargeId !== payment.chargeId;
}

function inquiryAbout(payment: Payment, claimedAtMs: number): Inquiry {
  const inquiry = { operationId: chargeOperation(payment.id), paymentId: payment.id, claimedAtMs };
  return isUnresolved(payment) ? inquiry : { ...inquiry, waitsFor: 'payer' };
}

/**
 * Returns an inquiry about the charge that this owner or an earlier owner sent, if a rival may have recorded a
 * different charge or none. The sent charge may still take money:
 *
 *   owner   charge 1 sent ───────────────────────────────────── answer: pending, or none ── changes nothing
 *   rival   ─────────────── charge 2 ends the payment, or waits for its payer
 *
 * @param sent whether an earlier owner may have sent a request
 */
function besidesRival(
  fact: ChargeFact | undefined,
  sent: Held<PaymentChain>['sent'],
  payment: Payment,
  nowMs: number,
): readonly Inquiry[] {
  const { id, chargeId } = payment;
  if (fact?.kind === 'pending' || fact?.kind === 'action_required')
    return fact.chargeId === chargeId ? [] : [inquiryForCharge(id, fact.chargeId, nowMs)];
  const isUnknown = fact === undefined ? sent === 'maybe' : fact.kind === 'unknown' || fact.kind === 'undecidable';
  // If no charge is recorded, no inquiry is needed here: the payment's own inquiry or an operator looks for the charge.
  const isLookedFor = (isUnresolved(payment) || payment.status === 'needs_review') && chargeId === undefined;
  return isUnknown && !isLookedFor ? [booksInquiry(id, nowMs)] : [];
}
