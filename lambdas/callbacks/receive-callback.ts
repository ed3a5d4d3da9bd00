import type { Digest } from '../kernel/digest.ts';
import type { OperationId, OwnerToken, PaymentId } from '../kernel/ids.ts';
import { adoptionOperation, callbackOperation } from '../kernel/ids.ts';
import type { Clock, Entropy } from '../kernel/world.ts';
import type { EffectRecord } from '../once/domain/idempotency.ts';
import { effectExpirySeconds } from '../once/domain/idempotency.ts';
import { commitOnce, type Effect, type Written } from '../once/use/execute-once.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import type { TransitionType } from '../payments/domain/payment.ts';
import type { ProcessorCharge } from '../payments/domain/processor-charge.ts';
import type { Transition } from '../payments/domain/transition.ts';
import { detailsOf } from '../payments/domain/transition.ts';
import { decideAll } from '../payments/use/decide-all.ts';
import type { CallbackEvent, EffectStore, OrphanedCallback } from '../payments/use/effect-store.ts';
import { type PaymentChain, readChain } from '../payments/use/payment-chain.ts';
import type { ProcessorBooks } from '../payments/use/processor.ts';
import { queuedWith } from '../payments/use/queued-with.ts';
import { type AlarmTools, raiseAlarms } from '../payments/use/raise-alarms.ts';

export interface ReceiveCallbackTools extends AlarmTools {
  readonly effects: EffectStore;
  readonly books: ProcessorBooks;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly digest: Digest;
}

export type CallbackOutcome =
  /** The payment stands where the processor says; no transitions when all was known already. */
  | {
      readonly kind: 'taken_in';
      readonly paymentId: PaymentId;
      readonly transitions: readonly TransitionType[];
      /** What the processor says and cannot be, or is against what was said before: somebody must look. */
      readonly contradictions: readonly string[];
    }
  /** This very event was taken in before. */
  | { readonly kind: 'redelivered' }
  /** No payment of ours is known for it. */
  | { readonly kind: 'orphaned'; readonly reason: OrphanedCallback['reason'] };

/** A look at the processor's books, within the time that a processor waits for us. Milliseconds. */
const READ_TIMEOUT_MS = 5_000;
/**
 * News beyond this goes into several transactions, of which the last has the callback's record: DynamoDB takes a hundred
 * items in one (Amazon DynamoDB developer guide, "TransactWriteItems"). A late success brings a queue entry with it.
 */
const MAX_TOGETHER = 40;

/**
 * Takes in what a processor says, once in effect. The event only tells where to look: what is decided on is the charge as
 * it stands in the processor's books, so that doubled, late and reordered events all lead to the same place.
 *
 * @throws RetryableError or AmbiguousError when it is not stored: the processor must deliver it again
 */
export async function receiveCallback(tools: ReceiveCallbackTools, event: CallbackEvent): Promise<CallbackOutcome> {
  const operationId = callbackOperation(tools.digest, event.processorName, event.eventId);
  return commitOnce(tools.runner, new CallbackEffect(tools, operationId, event));
}

/** Tries an orphan again; when it has found its payment, it leaves the shelf with the effect. @throws as `receiveCallback` */
export async function adoptOrphan(tools: ReceiveCallbackTools, orphan: OrphanedCallback): Promise<CallbackOutcome> {
  const operationId = adoptionOperation(tools.digest, orphan.operationId);
  return commitOnce(tools.runner, new CallbackEffect(tools, operationId, orphan.event, orphan));
}

/** Which payment it may be about, and what of its news is written already. */
interface Progress {
  readonly paymentId: PaymentId | undefined;
  readonly written: readonly Transition[];
}

class CallbackEffect implements Effect<Progress, CallbackOutcome> {
  readonly #tools: ReceiveCallbackTools;
  readonly operationId: OperationId;
  readonly #event: CallbackEvent;
  readonly #adopted: OrphanedCallback | undefined;
  readonly #owner: OwnerToken;

  constructor(tools: ReceiveCallbackTools, operationId: OperationId, event: CallbackEvent, adopted?: OrphanedCallback) {
    this.#tools = tools;
    this.operationId = operationId;
    this.#event = event;
    this.#adopted = adopted;
    this.#owner = tools.entropy.ownerToken();
  }

  async find(): Promise<CallbackOutcome | undefined> {
    const record = await this.#tools.effects.readEffect(this.operationId);
    return record === undefined ? undefined : { kind: 'redelivered' };
  }

  /** The event's own word of its payment saves a look, and is not believed further than that. */
  async prepare(): Promise<Progress> {
    return { paymentId: this.#event.paymentId ?? (await this.#readCharge())?.paymentId, written: [] };
  }

  /**
   * The chain is read before the charge, on every round: what is decided is at least as new as what it is decided on, and
   * whoever appends in between takes our place in the chain.
   *
   *   A ── chain n ── charge (old) ────────────────────── append n + 1 ✗ ── chain n + 1 ── charge (new) ── nothing new
   *   B ──────────────── chain n ── charge (new) ── n + 1 ✓
   */
  async write({ paymentId, written }: Progress): Promise<Written<Progress, CallbackOutcome>> {
    const { effects, clock, digest } = this.#tools;
    const chain = paymentId === undefined ? undefined : await readChain(effects, paymentId);
    const charge = await this.#readCharge();
    if (charge === undefined) return this.#shelve('charge_unknown');
    if (charge.paymentId !== paymentId && charge.paymentId !== undefined) {
      // The event named another payment than the charge does: the charge is the truth.
      return { kind: 'again', prepared: { paymentId: charge.paymentId, written } };
    }
    if (charge.paymentId === undefined || chain === undefined) return this.#shelve('payment_unknown');
    if (!this.#isOfThisAccount(chain)) return this.#shelve('other_account');
    const { id } = chain.first.payment;
    const { transitions, contradictions } = decideAll(digest, charge, chain, clock.nowMs());
    raiseAlarms(this.#tools, transitions, contradictions);
    const part = transitions.slice(0, MAX_TOGETHER);
    const isLast = part.length === transitions.length;
    const outcome = await effects.recordEffect({
      record: isLast ? this.#record(id) : this.#partRecord(id, part),
      transitions: part,
      ...queuedWith(digest, chain.first, part),
      ...(isLast && this.#adopted !== undefined ? { adopted: this.#adopted } : {}),
    });
    if (isLast && outcome.kind === 'recorded_before') return { kind: 'done', outcome: { kind: 'redelivered' } };
    if (outcome.kind !== 'recorded') return { kind: 'again', prepared: { paymentId, written } };
    const all = [...written, ...part];
    if (!isLast) return { kind: 'part', prepared: { paymentId, written: all } };
    const types = all.map(({ type }) => type);
    return { kind: 'done', outcome: { kind: 'taken_in', paymentId: id, transitions: types, contradictions } };
  }

  /** The event alone proves nothing: the processor's books do. */
  #readCharge(): Promise<ProcessorCharge | undefined> {
    return this.#tools.books.readCharge(this.#event.chargeId, { timeoutMs: READ_TIMEOUT_MS });
  }

  /** A payment that was sent elsewhere cannot be settled by these books, whatever name a charge there bears. */
  #isOfThisAccount({ first }: PaymentChain): boolean {
    const { name, account } = this.#tools.books;
    return first.payment.processorName === name && detailsOf(first).processor.account === account;
  }

  /** Kept, so that it may be acknowledged; never posted. One that was on the shelf already stays there. */
  async #shelve(reason: OrphanedCallback['reason']): Promise<{ kind: 'done'; outcome: CallbackOutcome }> {
    const orphaned = { kind: 'done', outcome: { kind: 'orphaned', reason } } as const;
    if (this.#adopted !== undefined) return orphaned;
    const orphan: OrphanedCallback = {
      operationId: this.operationId,
      event: this.#event,
      reason,
      receivedAtMs: this.#tools.clock.nowMs(),
    };
    const outcome = await this.#tools.effects.recordEffect({ record: this.#record(), transitions: [], orphan });
    return outcome.kind === 'recorded' ? orphaned : { kind: 'done', outcome: { kind: 'redelivered' } };
  }

  /** Of a part that is not the last: its name is its place in the chain, which can be taken once. */
  #partRecord(paymentId: PaymentId, [first]: readonly Transition[]): EffectRecord {
    const { digest } = this.#tools;
    const part = `${paymentId} ${first?.sequence}`;
    return { ...this.#record(paymentId), operationId: callbackOperation(digest, 'part', part) };
  }

  #record(paymentId?: PaymentId): EffectRecord {
    const nowMs = this.#tools.clock.nowMs();
    return {
      operationId: this.operationId,
      ...(paymentId === undefined ? {} : { paymentId }),
      owner: this.#owner,
      recordedAtMs: nowMs,
      expiresAtSeconds: effectExpirySeconds(nowMs, this.#tools.entropy.fraction()),
    };
  }
}
