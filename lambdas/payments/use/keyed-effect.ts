import type { Answer } from '../../kernel/answer.ts';
import type { Digest } from '../../kernel/digest.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import { type OperationId, type PaymentId, parsePaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import { isSameRequest } from '../../once/use/judge-record.ts';
import type { EffectSteps, OperationRunner } from '../../once/use/operation-runner.ts';
import type { Caller } from '../../tenants/authenticate.ts';
import type { TransitionDraft } from '../domain/payment.ts';
import { nextTransition, type Transition } from '../domain/transition.ts';
import type { EffectStore } from './effect-store.ts';
import { chainOf, type PaymentChain, readChain } from './payment-chain.ts';

export interface KeyedEffectTools {
  readonly effects: EffectStore;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly digest: Digest;
}

/** A request under an idempotency key whose effect is one transition of ours: no claim is needed. */
export interface KeyedEffect<Refusal> {
  readonly caller: Caller;
  /** Derived from tenant, mode, method, path and idempotency key. */
  readonly operationId: OperationId;
  readonly fingerprint: Fingerprint;
  /** As the client gave it. */
  readonly payment: string;
  /** Pure; asked again on what a rival has left. */
  readonly decide: (
    chain: PaymentChain,
  ) => { readonly kind: 'append'; readonly draft: TransitionDraft } | { readonly kind: 'made_before' } | Refusal;
  readonly answer: (transition: Transition, chain: PaymentChain) => Answer;
}

/** In order of precedence. What is not the caller's does not exist. */
export type KeyedEffectOutcome<Refusal> =
  | { readonly kind: 'first'; readonly answer: Answer }
  /** The stored answer, verbatim. */
  | { readonly kind: 'replay'; readonly answer: Answer }
  | { readonly kind: 'payload_mismatch' }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'key_expired'; readonly paymentId: PaymentId }
  | Refusal;

/** Races are decided again this often before the caller is asked to come back. */
const MAX_ROUNDS = 5;

/**
 * Takes effect once: record and transition are written together. A refusal is answered and not kept, so the same key may
 * succeed later.
 *
 * @throws RetryableError when nothing happened and the same key may be used again
 * @throws AmbiguousError when the store did not say whether it wrote; the same key finds out
 */
export async function takeEffect<Refusal extends { readonly kind: string }>(
  tools: KeyedEffectTools,
  effect: KeyedEffect<Refusal>,
): Promise<KeyedEffectOutcome<Refusal>> {
  return tools.runner.record(effect.operationId, new KeyedEffectRun(tools, effect));
}

/** One run of one key. */
class KeyedEffectRun<Refusal extends { readonly kind: string }>
  implements EffectSteps<PaymentChain | undefined, KeyedEffectOutcome<Refusal>>
{
  readonly #tools: KeyedEffectTools;
  readonly #effect: KeyedEffect<Refusal>;

  constructor(tools: KeyedEffectTools, effect: KeyedEffect<Refusal>) {
    this.#tools = tools;
    this.#effect = effect;
  }

  async find(): Promise<KeyedEffectOutcome<Refusal> | undefined> {
    const record = await this.#tools.effects.readEffect(this.#effect.operationId);
    return record === undefined ? undefined : this.#judge(record);
  }

  /** @returns undefined when the caller has no such payment */
  async prepare(): Promise<PaymentChain | undefined> {
    const { payment, caller } = this.#effect;
    const paymentId = parsePaymentId(payment);
    const chain = paymentId === undefined ? undefined : await readChain(this.#tools.effects, paymentId);
    if (chain === undefined) return undefined;
    const { tenantId, mode } = chain.state.payment;
    return tenantId === caller.tenantId && mode === caller.mode ? chain : undefined;
  }

  /**
   * Two keys that want the same: the second finds its place taken, reads again and is told so.
   *
   *   A ── read ── decide T4 ── record A ✓ T4 ✓
   *   B ──── read ── decide T4 ──── T4 ✗ ── read ── refused
   */
  async commit(prepared: PaymentChain | undefined): Promise<KeyedEffectOutcome<Refusal>> {
    const { effects, digest, clock, entropy } = this.#tools;
    const { operationId, fingerprint, decide, answer } = this.#effect;
    let chain = prepared;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      if (chain === undefined) return { kind: 'not_found' };
      const { id: paymentId } = chain.state.payment;
      const decision = decide(chain);
      if (isMadeBefore(decision)) return (await this.find()) ?? { kind: 'key_expired', paymentId };
      if (!isAppend(decision)) return decision;
      const nowMs = clock.nowMs();
      const transition = nextTransition(digest, chain.newest, decision.draft, nowMs);
      const stored = answer(transition, chainOf([...chain.transitions, transition]));
      const record = {
        operationId,
        paymentId,
        owner: entropy.ownerToken(),
        recordedAtMs: nowMs,
        // Never forgotten: its key must not make another one, of another payment, when the record is gone.
        request: { fingerprint, answer: stored },
      };
      const outcome = await effects.recordEffect({ record, transitions: [transition] });
      if (outcome.kind === 'recorded') return { kind: 'first', answer: stored };
      if (outcome.kind === 'recorded_before') return this.#judge(outcome.record);
      chain = await readChain(effects, paymentId);
    }
    throw new RetryableError('contention', 'too many rivals at once for this payment', { retryAfterSeconds: 1 });
  }

  #judge({ request, paymentId }: EffectRecord): KeyedEffectOutcome<Refusal> {
    invariant(request !== undefined && paymentId !== undefined, 'a keyed effect is recorded with its request');
    if (!isSameRequest(request.fingerprint, this.#effect.fingerprint)) return { kind: 'payload_mismatch' };
    return { kind: 'replay', answer: request.answer };
  }
}

type Append = { readonly kind: 'append'; readonly draft: TransitionDraft };

function isAppend(decision: { readonly kind: string }): decision is Append {
  return decision.kind === 'append';
}

function isMadeBefore(decision: { readonly kind: string }): decision is { readonly kind: 'made_before' } {
  return decision.kind === 'made_before';
}
