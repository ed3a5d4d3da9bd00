import { REQUEST_BUDGET_SECONDS } from '../../kernel/contract/timing.ts';
import { type OperationId, type OwnerToken, orderOperation, paymentOfOrder } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { IdempotencyRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import { paymentExpirySeconds } from '../../once/domain/idempotency.ts';
import { afterFence, claimExisting, contention, openRecord } from '../../once/use/claimed-key.ts';
import { isSameRequest, type RepeatOutcome, type RunNotes } from '../../once/use/judge-record.ts';
import type { ClaimStep, OperationSteps } from '../../once/use/operation-runner.ts';

import { createOrderDraft, isSettled } from '../domain/order.ts';
import { orderAnswer } from '../domain/order-answer.ts';
import { saysProcessing } from '../domain/order-steps.ts';
import { firstOrderTransition, nextOrderTransitions, type OrderTransition } from '../domain/order-transition.ts';
import type { CreateOrder, CreateOrderOutcome, OrderTools } from './create-order-types.ts';
import { type Driven, driveOrder, keepLearnt, mustRead, openOrder, raiseAlarms } from './drive-order.ts';
import { NothingBegun } from './order-calls.ts';
import { lengthened, type OrderChain, orderChainOf } from './order-chain.ts';

/** Races are decided again this often before the caller is asked to come back. */
const MAX_ROUNDS = 5;
/** Kept free at the end of a request for the commit and its bounded retries. Milliseconds. */
const COMMIT_RESERVE_MS = 3_000;

interface Held {
  readonly owner: OwnerToken;
  readonly claimedAtMs: number;
  readonly nothingSent: boolean;
  readonly chain: OrderChain;
}

/** One run of one order: an object of its own for every call, so that nothing is shared between two keys. */
export class OrderRun implements OperationSteps<Driven, CreateOrderOutcome> {
  readonly #tools: OrderTools;
  readonly #request: CreateOrder;
  readonly #notes: RunNotes;
  readonly #operationId: OperationId;
  readonly #untilMs: number;
  #held: Held | undefined;
  #provenUnsent = false;

  constructor(tools: OrderTools, request: CreateOrder, notes: RunNotes) {
    this.#tools = tools;
    this.#request = request;
    this.#notes = notes;
    this.#operationId = orderOperation(request.orderId);
    const receivedAtMs = request.receivedAtMs ?? tools.clock.nowMs();
    this.#untilMs = receivedAtMs + REQUEST_BUDGET_SECONDS * 1000 - COMMIT_RESERVE_MS;
  }

  async claim(): Promise<ClaimStep<CreateOrderOutcome>> {
    const { orders, clock } = this.#tools;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const nowMs = clock.nowMs();
      const record = this.#openRecord(nowMs, nowMs);
      const first = this.#first(nowMs);
      const outcome = await orders.claimOrder({ record, first });
      switch (outcome.kind) {
        case 'claimed': {
          const { owner, claimedAtMs } = record;
          this.#held = { owner, claimedAtMs, nothingSent: true, chain: orderChainOf([first]) };
          return { kind: 'claimed' };
        }
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
      }
    }
    throw contention();
  }

  async execute(): Promise<Driven> {
    const { chain, nothingSent } = this.#mine();
    try {
      return await driveOrder(this.#tools, chain, { untilMs: this.#untilMs, nothingSent });
    } catch (error) {
      if (!(error instanceof NothingBegun)) throw error;
      this.#provenUnsent = true;
      throw error.cause;
    }
  }

  /**
   *   owner   claim ── … ── credit ──────────── commit: refused, T9 is there ── read, decide again, commit the answer
   *   zombie               └─ append T9 ─┘
   *
   *   owner   claim ── (lease ends) ──────────── commit: refused, the owner changed ── answer with what the rival stored
   *   rival                        └─ take over, go on, commit ─┘
   */
  async commit(work: Driven): Promise<CreateOrderOutcome> {
    const { orders, digest, clock, entropy, replays } = this.#tools;
    const { owner, claimedAtMs } = this.#mine();
    let driven = work;
    let expects: 'open' | 'absent' = 'open';
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const nowMs = clock.nowMs();
      const drafts = [...driven.drafts];
      const said = driven.concluded ? undefined : saysProcessing(drafts.at(-1)?.order ?? driven.chain.order);
      if (said !== undefined) drafts.push(said);
      raiseAlarms(this.#tools, drafts);
      const transitions = nextOrderTransitions(digest, driven.chain.newest, drafts, nowMs);
      const chain = lengthened(driven.chain, transitions);
      const record = {
        status: 'COMPLETED' as const,
        operationId: this.#operationId,
        paymentId: chain.order.paymentId,
        fingerprint: this.#request.fingerprint,
        owner,
        claimedAtMs,
        answer: orderAnswer(chain.order, chain.details),
        expiresAtSeconds: paymentExpirySeconds(nowMs, entropy.fraction()),
      };
      const open = isSettled(chain.order) ? {} : { open: openOrder(chain) };
      const outcome = await orders.commitOrder({ record, expects, transitions, ...open });
      switch (outcome.kind) {
        case 'committed':
          replays.put(record);
          return { kind: 'first', answer: record.answer, unknown: chain.order.status === 'processing' };
        case 'transition_exists':
          driven = await this.#decideAgain(driven);
          break;
        case 'fenced':
          if (outcome.record === undefined && expects === 'open') {
            expects = 'absent';
            break;
          }
          this.#notes.fenced = true;
          await keepLearnt(this.#tools, driven);
          return this.#named(afterFence(outcome.record, this.#request, clock.nowMs()));
      }
    }
    throw contention();
  }

  async release(): Promise<void> {
    if (!this.#provenUnsent) return;
    try {
      await this.#tools.store.release(this.#operationId, this.#mine().owner);
    } catch {
      // The lease ends by itself; the next owner then looks for the payment instead of trusting that nothing was sent.
    }
  }

  /** Nothing is asked any more: what was learnt is decided on what the rival has written. */
  async #decideAgain({ learnt }: Driven): Promise<Driven> {
    const chain = await mustRead(this.#tools, this.#request.orderId);
    return driveOrder(this.#tools, chain, { untilMs: 0, nothingSent: false, learnt });
  }

  #first(createdAtMs: number): OrderTransition {
    const { orderId, tenantId, mode, amountMinor, currency, requestId, fingerprint } = this.#request;
    const { source, items, email, referrer } = this.#request;
    const paymentId = paymentOfOrder(this.#tools.digest, orderId);
    const order = { id: orderId, tenantId, mode, amountMinor, currency, paymentId, createdAtMs };
    const details = {
      requestId,
      fingerprint,
      source,
      items,
      email,
      ...(referrer === undefined ? {} : { referrer }),
    };
    return firstOrderTransition(this.#tools.digest, createOrderDraft(order, referrer), details, createdAtMs);
  }

  #openRecord(claimedAtMs: number, nowMs: number): OpenRecord {
    const { digest, entropy } = this.#tools;
    const { orderId, fingerprint } = this.#request;
    const key = { operationId: this.#operationId, paymentId: paymentOfOrder(digest, orderId), fingerprint };
    return openRecord(key, entropy.ownerToken(), claimedAtMs, nowMs);
  }

  /** @returns undefined when the record changed meanwhile: look again */
  async #claimExisting(existing: IdempotencyRecord): Promise<ClaimStep<CreateOrderOutcome> | undefined> {
    const step = await claimExisting(this.#tools, existing, this.#request);
    switch (step?.kind) {
      case undefined:
        return undefined;
      case 'taken_over':
        await this.#hold(step.owner, step.claimedAtMs, step.sent === 'nothing');
        return { kind: 'claimed' };
      case 'completed':
        return { ...step, outcome: this.#named(step.outcome) };
      case 'refused':
        return { ...step, outcome: this.#named(step.outcome) };
    }
  }

  /** @returns undefined when a rival made the record first: look again */
  async #claimLostRecord(): Promise<ClaimStep<CreateOrderOutcome> | undefined> {
    const { orders, store, clock } = this.#tools;
    const { order, details } = await mustRead(this.#tools, this.#request.orderId);
    if ((await store.readRecord(this.#operationId)) !== undefined) return undefined;
    // An answer was stored: a second, different one must never be.
    if (order.answered) return { kind: 'refused', outcome: this.#keyExpired() };
    if (!isSameRequest(details.fingerprint, this.#request.fingerprint)) {
      return { kind: 'refused', outcome: { kind: 'payload_mismatch' } };
    }
    const record = this.#openRecord(order.createdAtMs, clock.nowMs());
    if ((await orders.claimOrder({ record })).kind !== 'claimed') return undefined;
    await this.#hold(record.owner, order.createdAtMs, false);
    return { kind: 'claimed' };
  }

  async #hold(owner: OwnerToken, claimedAtMs: number, nothingSent: boolean): Promise<void> {
    this.#notes.takenOver = true;
    const chain = await mustRead(this.#tools, this.#request.orderId);
    this.#held = { owner, claimedAtMs, nothingSent, chain };
  }

  /** The order, where a payment's run names the payment. */
  #named(outcome: RepeatOutcome): CreateOrderOutcome {
    return outcome.kind === 'key_expired' ? this.#keyExpired() : outcome;
  }

  #keyExpired(): CreateOrderOutcome {
    return { kind: 'order_key_expired', orderId: this.#request.orderId };
  }

  #mine(): Held {
    invariant(this.#held !== undefined, 'a run must hold its claim before it goes on');
    return this.#held;
  }
}
