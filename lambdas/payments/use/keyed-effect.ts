import type { Action } from '../../activity/domain/activity.ts';
import type { Answer } from '../../kernel/answer.ts';
import type { OperatorCause } from '../../kernel/cause.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import { type OperationId, type PaymentId, parsePaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { commitOnce } from '../../once/use/execute-once.ts';
import { judgeEffect } from '../../once/use/judge-record.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { storedWithout, withSealedReasons } from '../domain/given-reason.ts';
import type { TransitionDraft } from '../domain/payment.ts';
import { nextTransition, type Transition } from '../domain/transition.ts';
import { isReplay, withPersonalFields } from './create-payment.ts';
import type { EffectStore } from './effect-store.ts';
import { chainOf, type PaymentChain, readChain } from './payment-chain.ts';
import type { Inquiry } from './payment-store.ts';
import { queuedWith } from './queued-with.ts';

export interface KeyedEffectTools {
  readonly effects: EffectStore;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly digest: Digest;
}

/** A keyed request whose effect is one transition and no call to another system. It needs no claim. */
export interface KeyedEffect<Refusal> {
  readonly cause: OperatorCause;
  /** How the activity log names it. */
  readonly action: Action;
  /** Derived from the operator, the method, the path and the idempotency key. */
  readonly operationId: OperationId;
  /** Of the request without the reason, because the record of the effect is permanent. */
  readonly fingerprint: Fingerprint;
  /** The payment id from the request, not yet parsed. */
  readonly payment: string;
  /** From the request. The fingerprint leaves it out. */
  readonly reason: string;
  /** The reason that the effect has in the chain. @returns undefined after it was erased */
  readonly recordedReason: (chain: PaymentChain) => string | undefined;
  /** Pure. It is called again on the new chain when a rival has appended. */
  readonly decide: (
    chain: PaymentChain,
  ) => { readonly kind: 'append'; readonly draft: TransitionDraft } | { readonly kind: 'made_before' } | Refusal;
  readonly answer: (transition: Transition, chain: PaymentChain) => Answer;
  /** The fields of the answer that hold personal data, as JSON text; undefined when there are none. */
  readonly personalFields: (chain: PaymentChain) => string | undefined;
  /** Queued with the transition: a look at the processor's books. @default none */
  readonly inquiry?: (transition: Transition) => Inquiry;
}

/** In order of precedence. */
export type KeyedEffectOutcome<Refusal> =
  | { readonly kind: 'first'; readonly answer: Answer }
  /** The stored answer, verbatim. */
  | { readonly kind: 'replay'; readonly answer: Answer }
  | { readonly kind: 'payload_mismatch' }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'key_expired'; readonly paymentId: PaymentId }
  | Refusal;

/**
 * Writes the effect record and the transition together, exactly once. A refusal is not stored, so the same key may succeed
 * later.
 *
 * @throws RetryableError when nothing was written; the same key may be used again
 * @throws AmbiguousError when it is unknown whether the store wrote; a retry with the same key finds out
 */
export async function takeEffect<Refusal extends { readonly kind: string }>(
  { effects, runner, digest, clock, entropy }: KeyedEffectTools,
  { operationId, fingerprint, ...effect }: KeyedEffect<Refusal>,
): Promise<KeyedEffectOutcome<Refusal>> {
  const find = async (): Promise<KeyedEffectOutcome<Refusal> | undefined> => {
    const record = await effects.readEffect(operationId);
    return record === undefined ? undefined : judgeEffect(record, fingerprint);
  };
  const done = (outcome: KeyedEffectOutcome<Refusal>) => ({ kind: 'done' as const, outcome });
  const taken = await commitOnce<PaymentChain | undefined, KeyedEffectOutcome<Refusal>>(runner, {
    operationId,
    find,
    prepare: () => findChain(effects, effect.payment),
    write: async (chain) => {
      if (chain === undefined) return done({ kind: 'not_found' });
      const { id: paymentId } = chain.state.payment;
      const decision = effect.decide(chain);
      if (isMadeBefore(decision)) return done((await find()) ?? { kind: 'key_expired', paymentId });
      if (!isAppend(decision)) return done(decision);
      const recordedAtMs = clock.nowMs();
      const draft = withSealedReasons(digest, decision.draft, entropy.salt());
      const transition = nextTransition(digest, chain.newest, draft, {
        occurredAtMs: recordedAtMs,
        cause: effect.cause,
      });
      const after = chainOf([...chain.transitions, transition]);
      const answer = effect.answer(transition, after);
      // The record does not expire: otherwise its key could later correct another payment.
      const request = { fingerprint, answer: storedWithout(answer, effect.personalFields(after)) };
      const record = { operationId, paymentId, owner: entropy.ownerToken(), recordedAtMs, request };
      const queued = queuedWith(chain, [transition]);
      const inquiries = [
        ...(queued.inquiries ?? []),
        ...(effect.inquiry === undefined ? [] : [effect.inquiry(transition)]),
      ];
      const activity = {
        chain: { tenantId: transition.payment.tenantId, mode: transition.payment.mode },
        action: effect.action,
        actor: effect.cause,
        about: [operationId, paymentId],
        details: { sequence: String(transition.sequence) },
        occurredAtMs: recordedAtMs,
      };
      const outcome = await effects.recordEffect({ record, transitions: [transition], ...queued, inquiries, activity });
      if (outcome.kind === 'recorded') return done({ kind: 'first', answer });
      if (outcome.kind === 'recorded_before') return done(judgeEffect(outcome.record, fingerprint));
      return { kind: 'again', prepared: await readChain(effects, paymentId) };
    },
  });
  if (!isReplay(taken)) return taken;
  const chain = await findChain(effects, effect.payment);
  invariant(chain !== undefined, 'a payment with an effect is readable');
  const recorded = effect.recordedReason(chain);
  if (recorded !== undefined && recorded !== effect.reason) return { kind: 'payload_mismatch' };
  return withPersonalFields(taken, async () => effect.personalFields(chain));
}

/** What a keyed effect would append to the chain now. */
export interface Preview {
  readonly kind: 'preview';
  readonly draft: TransitionDraft;
  readonly before: PaymentChain;
}

/** Decides on an effect and writes nothing. @throws RetryableError when the store is unavailable */
export async function previewEffect<Refusal extends { readonly kind: string }>(
  { effects }: Pick<KeyedEffectTools, 'effects'>,
  { payment, decide }: Pick<KeyedEffect<Refusal>, 'payment' | 'decide'>,
): Promise<Preview | { readonly kind: 'not_found' } | Refusal> {
  const before = await findChain(effects, payment);
  if (before === undefined) return { kind: 'not_found' };
  const decision = decide(before);
  invariant(!isMadeBefore(decision), 'a preview has no id under which it could have been made');
  return isAppend(decision) ? { kind: 'preview', draft: decision.draft, before } : decision;
}

/** The payment of any tenant. @param payment the id from the request */
async function findChain(effects: EffectStore, payment: string): Promise<PaymentChain | undefined> {
  const id = parsePaymentId(payment);
  return id === undefined ? undefined : readChain(effects, id);
}

type Append = { readonly kind: 'append'; readonly draft: TransitionDraft };

function isAppend(decision: { readonly kind: string }): decision is Append {
  return decision.kind === 'append';
}

function isMadeBefore(decision: { readonly kind: string }): decision is { readonly kind: 'made_before' } {
  return decision.kind === 'made_before';
}
