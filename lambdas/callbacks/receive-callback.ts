import { defined } from '../kernel/defined.ts';
import type { Digest } from '../kernel/digest.ts';
import { hex } from '../kernel/hash-chain.ts';
import type { OperationId, OwnerToken, PaymentId } from '../kernel/ids.ts';
import { storedOperationId } from '../kernel/ids.ts';
import { invariant } from '../kernel/invariant.ts';
import type { Clock, Entropy } from '../kernel/world.ts';
import type { EffectRecord } from '../once/domain/idempotency.ts';
import { expirySeconds } from '../once/domain/idempotency.ts';
import { commitOnce, type Effect, type Written } from '../once/use/execute-once.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import type { TransitionType } from '../payments/domain/payment.ts';
import type { BooksIdentity, ProcessorCharge } from '../payments/domain/processor-charge.ts';
import type { Transition } from '../payments/domain/transition.ts';
import { decideAll } from '../payments/use/decide-all.ts';
import type { CallbackEvent, EffectStore, OrphanedCallback } from '../payments/use/effect-store.ts';
import { type PaymentChain, readChain } from '../payments/use/payment-chain.ts';
import { belongsToBooks } from '../payments/use/pinned-processor.ts';
import type { ProcessorBooks } from '../payments/use/processor.ts';
import { alarmContradictions, alarmLateSuccess, type ContradictionTools } from '../payments/use/raise-alarms.ts';
import { nextPart } from '../payments/use/record-charge.ts';
import { adoptionOperation, callbackOperation } from './ids.ts';

export interface ReceiveCallbackTools extends ContradictionTools {
  readonly effects: EffectStore;
  readonly books: ProcessorBooks;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly digest: Digest;
}

export type CallbackOutcome =
  /** The payment now has the state of the charge. `transitions` is empty if every fact was already known. */
  | {
      readonly kind: 'recorded';
      readonly paymentId: PaymentId;
      readonly transitions: readonly TransitionType[];
      /** Facts that are impossible or contradict earlier facts. An alarm reports them. */
      readonly contradictions: readonly string[];
    }
  | { readonly kind: 'redelivered' }
  /**
   * The charge or its payment is unknown, or the payment belongs to another account. The callback is stored as an
   * orphan. `namesPayment` is false if the charge exists, but neither the callback nor the charge names a payment:
   * another program created such a charge.
   */
  | { readonly kind: 'orphaned'; readonly reason: OrphanedCallback['reason']; readonly namesPayment: boolean };

/**
 * Timeout for reading the processor's books, in milliseconds. Shorter than the time that a processor waits for the
 * response to its callback.
 */
const READ_TIMEOUT_MS = 5_000;
/**
 * The event only names the charge; the decision uses the charge's current state in the processor's books, so duplicate,
 * late and reordered events have the same result.
 *
 * @throws RetryableError or AmbiguousError if it is not certain that the callback is stored: the processor must deliver
 * it again
 */
export async function receiveCallback(tools: ReceiveCallbackTools, event: CallbackEvent): Promise<CallbackOutcome> {
  const operationId = callbackOperation(tools.digest, sourceOf(tools.books), event.eventId);
  return commitOnce(tools.runner, new CallbackEffect(tools, operationId, event));
}

/**
 * If the payment exists now, one write records the effect and removes the orphan.
 * @throws the errors of `receiveCallback`
 */
export async function adoptOrphan(tools: ReceiveCallbackTools, orphan: OrphanedCallback): Promise<CallbackOutcome> {
  const adopt = (asked: OperationId): Promise<CallbackOutcome> =>
    commitOnce(tools.runner, new CallbackEffect(tools, adoptionOperation(tools.digest, asked), orphan.event, orphan));
  const outcome = await adopt(orphan.operationId);
  if (outcome.kind !== 'redelivered') return outcome;
  // The adoption record can exist although the orphan is still queued: after a restore, or after a crash if the record
  // and the orphan are in different databases.
  return adopt(storedOperationId(`${orphan.operationId} ${tools.clock.nowMs()}`));
}

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

  /** Uses the payment id in the event if there is one, which saves a read. `write` verifies it against the charge. */
  async prepare(): Promise<Progress> {
    return { paymentId: this.#event.paymentId ?? (await this.#readCharge())?.paymentId, written: [] };
  }

  /**
   * Each round reads the chain before the charge, so the charge is at least as recent as the chain. If a rival appends
   * in between, the write of this process fails its condition, because the next position in the chain is taken.
   *
   *   A ── chain n ── charge (old) ────────────────────── append n + 1 ✗ ── chain n + 1 ── charge (new) ── nothing new
   *   B ──────────────── chain n ── charge (new) ── n + 1 ✓
   */
  async write({ paymentId, written }: Progress): Promise<Written<Progress, CallbackOutcome>> {
    const { effects, clock, digest } = this.#tools;
    const chain = paymentId === undefined ? undefined : await readChain(effects, paymentId);
    const charge = await this.#readCharge();
    if (charge === undefined) return this.#storeOrphan('charge_unknown');
    if (charge.paymentId !== paymentId && charge.paymentId !== undefined) {
      // The event and the charge name different payments. The charge is authoritative.
      return { kind: 'again', prepared: { paymentId: charge.paymentId, written } };
    }
    const isNamed = charge.paymentId !== undefined || hasCharge(chain, charge);
    if (chain === undefined || !isNamed) return this.#storeOrphan('payment_unknown', paymentId !== undefined);
    if (!this.#isOfThisAccount(chain)) return this.#storeOrphan('other_account');
    const { id } = chain.first.payment;
    const nowMs = clock.nowMs();
    const decided = decideAll(digest, charge, chain, {
      occurredAtMs: nowMs,
      cause: { by: 'callback', eventId: this.#event.eventId },
    });
    const { contradictions } = decided;
    alarmLateSuccess(this.#tools, id, decided.transitions);
    await alarmContradictions(this.#tools, chain, contradictions, charge, 'event');
    const { part, isMore, queued } = nextPart(chain, { ...decided, charge }, nowMs);
    const isLast = !isMore;
    const outcome = await effects.recordEffect({
      record: isLast ? this.#record(id) : this.#partRecord(id, part),
      transitions: part,
      ...queued,
      ...(isLast && this.#adopted !== undefined ? { adopted: this.#adopted } : {}),
    });
    if (isLast && outcome.kind === 'recorded_before') return { kind: 'done', outcome: { kind: 'redelivered' } };
    if (outcome.kind !== 'recorded') return { kind: 'again', prepared: { paymentId, written } };
    const all = [...written, ...part];
    if (!isLast) return { kind: 'part', prepared: { paymentId, written: all } };
    const types = all.map(({ type }) => type);
    return { kind: 'done', outcome: { kind: 'recorded', paymentId: id, transitions: types, contradictions } };
  }

  /** Reads the charge from the processor's books, because the event itself proves nothing. */
  #readCharge(): Promise<ProcessorCharge | undefined> {
    return this.#tools.books.readCharge(this.#event.chargeId, { timeoutMs: READ_TIMEOUT_MS });
  }

  /**
   * Returns whether the payment was sent to this processor, mode and account. The books of another account cannot
   * settle the payment, even if they have a charge with the same id.
   */
  #isOfThisAccount(chain: PaymentChain): boolean {
    return belongsToBooks(chain, this.#tools.books);
  }

  /**
   * Nothing is posted until a payment is found and the orphan is adopted. If an adoption finds no payment, the orphan
   * stays stored.
   */
  async #storeOrphan(
    reason: OrphanedCallback['reason'],
    namesPayment = true,
  ): Promise<{ kind: 'done'; outcome: CallbackOutcome }> {
    const orphaned = { kind: 'done', outcome: { kind: 'orphaned', reason, namesPayment } } as const;
    if (this.#adopted !== undefined) return orphaned;
    const orphan: OrphanedCallback = {
      operationId: this.operationId,
      event: this.#event,
      reason,
      receivedAtMs: this.#tools.clock.nowMs(),
      ...(namesPayment ? {} : { isForeign: true }),
    };
    const outcome = await this.#tools.effects.recordEffect({ record: this.#record(), transitions: [], orphan });
    return outcome.kind === 'recorded' ? orphaned : { kind: 'done', outcome: { kind: 'redelivered' } };
  }

  /**
   * The id is derived from the hash of the first transition, so each such transaction has its own record. No fact is
   * written twice, because each position in the chain can be taken only once.
   */
  #partRecord(paymentId: PaymentId, [first]: readonly Transition[]): EffectRecord {
    invariant(first !== undefined, 'a transaction that records only some of the facts has no transitions');
    const operationId = callbackOperation(this.#tools.digest, 'part', hex(first.hash));
    return { ...this.#record(paymentId), operationId };
  }

  #record(paymentId?: PaymentId): EffectRecord {
    const nowMs = this.#tools.clock.nowMs();
    return {
      operationId: this.operationId,
      ...defined({ paymentId }),
      owner: this.#owner,
      recordedAtMs: nowMs,
      expiresAtSeconds: expirySeconds(this.#tools, 'events', nowMs),
    };
  }
}

/**
 * Payonce created such a charge, even if another user of the processor's account has removed the metadata of the
 * charge.
 */
function hasCharge(chain: PaymentChain | undefined, { chargeId }: ProcessorCharge): boolean {
  return chain !== undefined && (chain.state.payment.chargeId === chargeId || chain.state.strayCharges.has(chargeId));
}

/** Returns the source that scopes event ids: an account of a processor in one mode. */
export function sourceOf({ name, mode, account }: BooksIdentity): string {
  return `${name}/${mode}/${account}`;
}
