import type { Answer } from '../core/answer.ts';
import {
  type CorrectionDecision,
  type CorrectionRequest,
  correctionAnswer,
  decideCorrection,
} from '../core/correction.ts';
import type { Digest } from '../core/digest.ts';
import { RetryableError } from '../core/faults.ts';
import type { Fingerprint } from '../core/fingerprint.ts';
import type { EffectRecord } from '../core/idempotency.ts';
import { type OperationId, type PaymentId, parsePaymentId } from '../core/ids.ts';
import { invariant } from '../core/invariant.ts';
import { nextTransition } from '../core/transition.ts';
import type { Caller } from './authenticate.ts';
import { isSameRequest } from './judge-record.ts';
import { type PaymentChain, readChain } from './payment-chain.ts';
import type { Clock, EffectSteps, EffectStore, Entropy, OperationRunner } from './ports.ts';

export interface CorrectLedgerTools {
  readonly effects: EffectStore;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly digest: Digest;
}

export interface CorrectLedger extends Omit<CorrectionRequest, 'correctionId'> {
  readonly caller: Caller;
  /** Derived from tenant, mode, method, path and idempotency key; names the correction as well. */
  readonly operationId: OperationId;
  readonly fingerprint: Fingerprint;
  /** As the client gave it. */
  readonly payment: string;
}

/** In order of precedence. What is not the caller's does not exist. */
export type CorrectLedgerOutcome =
  | { readonly kind: 'first'; readonly answer: Answer }
  /** The stored answer, verbatim. */
  | { readonly kind: 'replay'; readonly answer: Answer }
  | { readonly kind: 'payload_mismatch' }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'key_expired'; readonly paymentId: PaymentId }
  | Exclude<CorrectionDecision, { kind: 'append' | 'made_before' }>;

/** Races are decided again this often before the caller is asked to come back. */
const MAX_ROUNDS = 5;

/**
 * Sets the books right, once in effect: record and transition are written together. A refusal is answered and not kept, so
 * the same key may succeed later.
 *
 * @throws RetryableError when nothing happened and the same key may be used again
 * @throws AmbiguousError when the store did not say whether it wrote; the same key finds out
 */
export async function correctLedger(tools: CorrectLedgerTools, request: CorrectLedger): Promise<CorrectLedgerOutcome> {
  return tools.runner.record(request.operationId, new CorrectionRun(tools, request));
}

/** One run of one key. */
class CorrectionRun implements EffectSteps<PaymentChain | undefined, CorrectLedgerOutcome> {
  readonly #tools: CorrectLedgerTools;
  readonly #request: CorrectLedger;

  constructor(tools: CorrectLedgerTools, request: CorrectLedger) {
    this.#tools = tools;
    this.#request = request;
  }

  async find(): Promise<CorrectLedgerOutcome | undefined> {
    const record = await this.#tools.effects.readEffect(this.#request.operationId);
    return record === undefined ? undefined : this.#judge(record);
  }

  /** @returns undefined when the caller has no such payment */
  async prepare(): Promise<PaymentChain | undefined> {
    const { payment, caller } = this.#request;
    const paymentId = parsePaymentId(payment);
    const chain = paymentId === undefined ? undefined : await readChain(this.#tools.effects, paymentId);
    if (chain === undefined) return undefined;
    const { tenantId, mode } = chain.state.payment;
    return tenantId === caller.tenantId && mode === caller.mode ? chain : undefined;
  }

  /**
   * Two keys that undo the same set: the second finds its place taken, reads again and is told so.
   *
   *   A ── read ── decide T4 ── record A ✓ T4 ✓
   *   B ──── read ── decide T4 ──── T4 ✗ ── read ── undone already
   */
  async commit(prepared: PaymentChain | undefined): Promise<CorrectLedgerOutcome> {
    const { effects, digest, clock, entropy } = this.#tools;
    const { operationId, fingerprint } = this.#request;
    let chain = prepared;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      if (chain === undefined) return { kind: 'not_found' };
      const { payment } = chain.state;
      const decision = decideCorrection({ ...this.#request, correctionId: operationId }, chain);
      if (decision.kind === 'made_before') return this.#madeBefore(payment.id);
      if (decision.kind !== 'append') return decision;
      const nowMs = clock.nowMs();
      const transition = nextTransition(digest, chain.newest, decision.draft, nowMs);
      const answer = correctionAnswer(transition);
      const record = {
        operationId,
        paymentId: payment.id,
        owner: entropy.ownerToken(),
        recordedAtMs: nowMs,
        // Never forgotten: its key must not make another one, of another payment, when the record is gone.
        request: { fingerprint, answer },
      };
      const outcome = await effects.recordEffect({ record, transitions: [transition] });
      if (outcome.kind === 'recorded') return { kind: 'first', answer };
      if (outcome.kind === 'recorded_before') return this.#judge(outcome.record);
      chain = await readChain(effects, payment.id);
    }
    throw new RetryableError('contention', 'too many rivals at once for this payment', { retryAfterSeconds: 1 });
  }

  /** The correction is in the chain: by a rival with the same key, a moment ago; or its record was removed by hand. */
  async #madeBefore(paymentId: PaymentId): Promise<CorrectLedgerOutcome> {
    return (await this.find()) ?? { kind: 'key_expired', paymentId };
  }

  #judge({ request, paymentId }: EffectRecord): CorrectLedgerOutcome {
    invariant(
      request !== undefined && paymentId !== undefined,
      'a correction is recorded with its request and payment',
    );
    if (!isSameRequest(request.fingerprint, this.#request.fingerprint)) return { kind: 'payload_mismatch' };
    return { kind: 'replay', answer: request.answer };
  }
}
