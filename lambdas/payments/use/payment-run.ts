import { REQUEST_BUDGET_SECONDS } from '../../kernel/contract/timing.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { OperationId, OwnerToken, PaymentId } from '../../kernel/ids.ts';
import { chargeOperation } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { IdempotencyRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import { paymentExpirySeconds } from '../../once/domain/idempotency.ts';
import { afterFence, type ClaimedKey, claimExisting, contention, openRecord } from '../../once/use/claimed-key.ts';
import { isSameRequest, type RunNotes } from '../../once/use/judge-record.ts';
import type { ClaimStep, OperationSteps } from '../../once/use/operation-runner.ts';
import { decide } from '../domain/decide.ts';
import type { ChargeFact } from '../domain/facts.ts';
import type { Payment } from '../domain/payment.ts';
import { create, freesReference, isAwaited, isUnresolved } from '../domain/payment.ts';
import { creationAnswer } from '../domain/payment-answer.ts';
import { isSendWindowClosed } from '../domain/settlement.ts';
import type { FirstDetails, Transition } from '../domain/transition.ts';
import { detailsOf, firstTransition, nextTransition } from '../domain/transition.ts';
import { chargesToReturn } from './charge-to-return.ts';
import type { CreatePayment, CreatePaymentOutcome, CreatePaymentTools } from './create-payment-types.ts';

import { holdToEnd } from './hold-to-end.ts';
import { chainOf, type PaymentChain, readChain } from './payment-chain.ts';
import type { Claim, Inquiry } from './payment-store.ts';
import { pinnedProcessor } from './pinned-processor.ts';
import type { ChargeOrder } from './processor.ts';
import { settleCharge } from './settle-charge.ts';

/** Races are decided again this often before the caller is asked to come back. */
const MAX_ROUNDS = 5;

interface Held {
  readonly owner: OwnerToken;
  readonly claimedAtMs: number;
  readonly sent: 'nothing' | 'maybe';
  readonly chain: PaymentChain;
}

/** One run of one key: an object of its own for every call, so that nothing is shared between two keys. */
export class PaymentRun implements OperationSteps<ChargeFact | undefined, CreatePaymentOutcome> {
  readonly #tools: CreatePaymentTools;
  readonly #request: CreatePayment;
  readonly #notes: RunNotes;
  readonly #operationId: OperationId;
  readonly #answerByMs: number;
  #held: Held | undefined;
  #provenUnsent = false;

  constructor(tools: CreatePaymentTools, request: CreatePayment, notes: RunNotes) {
    this.#tools = tools;
    this.#request = request;
    this.#notes = notes;
    this.#operationId = chargeOperation(request.paymentId);
    this.#answerByMs = (request.receivedAtMs ?? tools.clock.nowMs()) + REQUEST_BUDGET_SECONDS * 1000;
  }

  async claim(): Promise<ClaimStep<CreatePaymentOutcome>> {
    const { store } = this.#tools;
    let replaces: PaymentId | undefined;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const { record, pending } = this.#openClaim();
      const outcome = await store.claim({ record, pending, ...this.#referenceClaim(replaces) });
      switch (outcome.kind) {
        case 'claimed':
          this.#held = {
            owner: record.owner,
            claimedAtMs: record.claimedAtMs,
            sent: 'nothing',
            chain: chainOf([pending]),
          };
          return { kind: 'claimed' };
        case 'record_exists': {
          const step = await this.#claimExisting(outcome.record);
          if (step !== undefined) return step;
          break;
        }
        case 'transition_exists': {
          const step = await this.#claimLostRecord();
          if (step !== undefined) return step;
          break;
        }
        case 'reference_taken': {
          // Our own claim by another hand: its record is there by now.
          if (outcome.paymentId === this.#request.paymentId) break;
          const holder = await store.readPayment(outcome.paymentId);
          if (holder !== undefined && !freesReference(holder.newest.payment)) {
            return { kind: 'refused', outcome: { kind: 'reference_used', paymentId: outcome.paymentId } };
          }
          replaces = outcome.paymentId;
          break;
        }
      }
    }
    throw contention();
  }

  async execute(): Promise<ChargeFact | undefined> {
    const held = this.#mine();
    // The claim was stale and something else, a callback, has settled the payment since: only its answer is missing.
    const { first, newest } = held.chain;
    if (!isUnresolved(newest.payment)) return undefined;
    const processor = pinnedProcessor(this.#tools, first);
    try {
      if (processor === undefined) {
        // It was to be sent to a place that this deployment does not call: no yes and no silence from here is of it.
        if (held.sent === 'maybe') return { kind: 'unknown' };
        if (isSendWindowClosed({ nowMs: this.#tools.clock.nowMs(), ...held })) return { kind: 'not_attempted' };
        throw new RetryableError('processor_elsewhere', 'this deployment does not call the payment’s processor');
      }
      return await settleCharge(
        { ...this.#tools, processor },
        {
          order: this.#order(first),
          claimedAtMs: held.claimedAtMs,
          sent: held.sent,
          answerByMs: this.#answerByMs,
        },
      );
    } catch (error) {
      // Its promise: thrown so only when nothing was sent, by anyone. After any other error something may have been.
      this.#provenUnsent = error instanceof RetryableError;
      throw error;
    }
  }

  /**
   *   owner  claim ──── charge ──────────────── commit: refused, T2 is there ── commit the answer that T2 implies
   *   rival            └─ callback appends T2 ─┘
   *
   *   owner  claim ── (lease ends) ──────────── commit: refused, the owner changed ── answer with what the rival stored
   *   rival                       └─ take over, look up, commit ─┘
   */
  async commit(fact: ChargeFact | undefined): Promise<CreatePaymentOutcome> {
    const { store, digest, clock, entropy, replays } = this.#tools;
    const held = this.#mine();
    const operationId = this.#operationId;
    let { chain } = held;
    let expects: 'open' | 'absent' = 'open';
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const nowMs = clock.nowMs();
      // Whoever has settled it since has looked at the processor's books after our answer was given: ours is the older word.
      const counts = fact !== undefined && isUnresolved(chain.state.payment);
      const decision = counts ? decide(fact, chain.state) : undefined;
      const transition =
        decision?.kind === 'append' ? nextTransition(digest, chain.newest, decision.draft, nowMs) : undefined;
      const { payment } = transition ?? chain.newest;
      const record = {
        status: 'COMPLETED' as const,
        operationId,
        paymentId: this.#request.paymentId,
        fingerprint: this.#request.fingerprint,
        owner: held.owner,
        claimedAtMs: held.claimedAtMs,
        answer: creationAnswer(payment, detailsOf(chain.first)),
        expiresAtSeconds: paymentExpirySeconds(nowMs, entropy.fraction()),
      };
      const outcome = await store.commit({
        record,
        expects,
        ...(transition === undefined
          ? {}
          : { transition, toReturn: chargesToReturn([transition]), ...holdToEnd([transition]) }),
        ...(isAwaited(payment) ? { inquiry: inquiryAbout(payment, held) } : {}),
      });
      switch (outcome.kind) {
        case 'committed':
          replays.put(record);
          return { kind: 'first', answer: record.answer, unknown: isUnresolved(payment) };
        case 'transition_exists':
          chain = await this.#chain();
          break;
        case 'fenced': {
          if (outcome.record === undefined && expects === 'open') {
            // Without the record nobody can tell whether a rival has sent since: a refusal of ours proves nothing then.
            if (fact?.kind === 'declined' || fact?.kind === 'rejected' || fact?.kind === 'not_attempted')
              throw contention();
            expects = 'absent';
            break;
          }
          this.#notes.fenced = true;
          return afterFence(outcome.record, this.#request, clock.nowMs());
        }
      }
    }
    throw contention();
  }

  async release(): Promise<void> {
    if (!this.#provenUnsent) return;
    try {
      await this.#tools.store.release(this.#operationId, this.#mine().owner);
    } catch {
      // The lease ends by itself; the next owner then asks the processor instead of trusting that nothing was sent.
    }
  }

  #openClaim(): { record: OpenRecord; pending: Transition } {
    const { clock, entropy, digest, processor } = this.#tools;
    const { paymentId, tenantId, mode, amountMinor, currency, source, capture, reference, description, metadata } =
      this.#request;
    const nowMs = clock.nowMs();
    const draft = create({
      id: paymentId,
      tenantId,
      mode,
      amountMinor,
      currency,
      source,
      capture,
      ...(reference === undefined ? {} : { reference }),
      processorName: processor.name,
      createdAtMs: nowMs,
    });
    const details: FirstDetails = {
      ...(description === undefined ? {} : { description }),
      ...(metadata === undefined ? {} : { metadata }),
      requestId: this.#request.requestId,
      fingerprint: this.#request.fingerprint,
      processor: { account: processor.account, endpoint: processor.endpoint, apiVersion: processor.apiVersion },
    };
    const pending = firstTransition(digest, draft, details, nowMs);
    return { record: openRecord(this.#key, entropy.ownerToken(), this.#claimedAt(nowMs), nowMs), pending };
  }

  #referenceClaim(replaces: PaymentId | undefined): Pick<Claim, 'reference'> {
    const { tenantId, mode, reference } = this.#request;
    if (reference === undefined) return {};
    const name = { tenantId, mode, reference };
    return { reference: replaces === undefined ? { name } : { name, replaces } };
  }

  /** @returns undefined when the record changed meanwhile: look again */
  async #claimExisting(existing: IdempotencyRecord): Promise<ClaimStep<CreatePaymentOutcome> | undefined> {
    const step = await claimExisting(this.#tools, existing, this.#request);
    if (step?.kind !== 'taken_over') return step;
    await this.#hold(step.owner, step.claimedAtMs, step.sent);
    return { kind: 'claimed' };
  }

  /**
   * The payment is there and its record is not: deleted by time to live, or by hand. What is settled is never answered
   * by running again; what is open is taken over, and the processor is asked.
   *
   * @returns undefined when a rival made the record first: look again
   */
  async #claimLostRecord(): Promise<ClaimStep<CreatePaymentOutcome> | undefined> {
    const { first, newest, state } = await this.#chain();
    const { paymentId, fingerprint } = this.#request;
    // A rival may have brought the record back between our claim and this look.
    if ((await this.#tools.store.readRecord(this.#operationId)) !== undefined) return undefined;
    // "Unknown" was an answer too, and was stored: a second, different one must never be.
    if (!isUnresolved(newest.payment) || state.saidProcessing) {
      return { kind: 'refused', outcome: { kind: 'key_expired', paymentId } };
    }
    if (!isSameRequest(detailsOf(first).fingerprint, fingerprint)) {
      return { kind: 'refused', outcome: { kind: 'payload_mismatch' } };
    }
    const owner = this.#tools.entropy.ownerToken();
    const claimedAtMs = this.#claimedAt(first.occurredAtMs);
    const record = openRecord(this.#key, owner, claimedAtMs, this.#tools.clock.nowMs());
    const outcome = await this.#tools.store.claim({ record });
    if (outcome.kind !== 'claimed') return undefined;
    await this.#hold(owner, claimedAtMs, 'maybe');
    return { kind: 'claimed' };
  }

  async #hold(owner: OwnerToken, claimedAtMs: number, sent: 'nothing' | 'maybe'): Promise<void> {
    this.#notes.takenOver = true;
    this.#held = { owner, claimedAtMs, sent, chain: await this.#chain() };
  }

  /** The window of what it is for is the payment's too: it is never lengthened. */
  #claimedAt(ownMs: number): number {
    return Math.min(ownMs, this.#request.claimedAtMs ?? ownMs);
  }

  #order(first: Transition): ChargeOrder {
    const { id, amountMinor, currency, source, capture } = first.payment;
    return { operationId: this.#operationId, paymentId: id, amountMinor, currency, source, capture };
  }

  async #chain(): Promise<PaymentChain> {
    const chain = await readChain(this.#tools.store, this.#request.paymentId);
    invariant(chain !== undefined, 'a payment whose first transition was refused as existing must be readable');
    return chain;
  }

  get #key(): ClaimedKey {
    const { paymentId, fingerprint } = this.#request;
    return { operationId: this.#operationId, paymentId, fingerprint };
  }

  #mine(): Held {
    invariant(this.#held !== undefined, 'a run must hold its claim before it goes on');
    return this.#held;
  }
}

function inquiryAbout(payment: Payment, { claimedAtMs }: Pick<Held, 'claimedAtMs'>): Inquiry {
  const inquiry = { operationId: chargeOperation(payment.id), paymentId: payment.id, claimedAtMs };
  return isUnresolved(payment) ? inquiry : { ...inquiry, waitsFor: 'payer' };
}
