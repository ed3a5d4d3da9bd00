import type { Action } from '../../activity/domain/activity.ts';
import { type Answer, JSON_TYPE } from '../../kernel/answer.ts';
import type { OperatorCause } from '../../kernel/cause.ts';
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId, PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { sealOf } from '../../kernel/sealed-details.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { type EffectRecord, type ExpiryOptions, expirySeconds } from '../../once/domain/idempotency.ts';
import { commitOnce } from '../../once/use/execute-once.ts';
import { judgeEffect } from '../../once/use/judge-record.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { claimTransactionLost } from '../../once/use/rounds.ts';
import { reasonFields, withoutPersonalFields, withSealedReasons } from '../../payments/domain/given-reason.ts';
import type { Payment, TransitionDraft } from '../../payments/domain/payment.ts';
import { nextTransition, type Transition } from '../../payments/domain/transition.ts';
import { parsePaymentId } from '../../payments/ids.ts';
import { isReplay, withPersonalFields } from '../../payments/use/create-payment.ts';
import type { Effect, EffectStore } from '../../payments/use/effect-store.ts';
import { chainOf, type PaymentChain, readChain } from '../../payments/use/payment-chain.ts';
import type { Inquiry } from '../../payments/use/payment-store.ts';
import { queueEntriesFor } from '../../payments/use/queued-with.ts';
import {
  type Approval,
  type ApprovalRules,
  type Asked,
  amountAboveLimit,
  approvalId,
  approvalObject,
  type Person,
  personOf,
  shownEffect,
} from '../domain/approval.ts';
import type { ApprovalChange, ApprovingStore } from './approving-store.ts';

export interface KeyedEffectTools extends Pick<ExpiryOptions, 'retention'> {
  readonly effects: ApprovingStore;
  /** @default every request takes effect immediately */
  readonly approvals?: ApprovalRules | undefined;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly digest: Digest;
}

export interface OperatorRequest<What extends Asked = Asked> {
  readonly cause: OperatorCause;
  readonly by: Person;
  /**
   * Derived from the operator, the method, the path and the idempotency key. It is also the id of the object that the
   * request creates.
   */
  readonly operationId: OperationId;
  /**
   * Fingerprint of the request without its reason. A reason can be erased, but the record of the effect is permanent.
   */
  readonly fingerprint: Fingerprint;
  /** The unparsed id from the request. */
  readonly payment: string;
  /** Excluded from the fingerprint. */
  readonly reason: string;
  readonly asked: What;
}

export interface EffectOfRequest<Refusal> {
  readonly action: Action;
  /** As stored in the chain; undefined after an erasure. */
  readonly recordedReason: (chain: PaymentChain) => string | undefined;
  /** @default none */
  readonly details?: Readonly<Record<string, string>>;
  /** Does not append to the chain. Called again with the new chain if a rival has appended to it. */
  readonly decide: (chain: PaymentChain) => Decided<Refusal> | Promise<Decided<Refusal>>;
  readonly answer: (transition: Transition, chain: PaymentChain) => Answer;
  /** Returns the fields of the response that contain personal data, as JSON text; undefined when there are none. */
  readonly personalFields: (chain: PaymentChain) => string | undefined;
  /**
   * The inquiry is queued together with the transition.
   *
   * @default no inquiry
   */
  readonly inquiry?: (transition: Transition) => Inquiry;
}

type Decided<Refusal> =
  | { readonly kind: 'append'; readonly draft: TransitionDraft }
  | { readonly kind: 'made_before' }
  | Refusal;

/** The effect changes nothing in another system, so it needs no claim. */
export interface KeyedEffect<Refusal> extends Omit<OperatorRequest, 'asked'>, EffectOfRequest<Refusal> {
  /**
   * Stored for a second person if its amount is above the limit.
   *
   * @default the request does not wait
   */
  readonly asked?: Asked;
  /**
   * The approval that the transaction of this effect ends.
   *
   * @default none
   */
  readonly ended?: (atMs: number) => NonNullable<ApprovalChange['ended']>;
}

/** In order of precedence. */
export type KeyedEffectOutcome<Refusal> =
  | { readonly kind: 'first'; readonly answer: Answer }
  /** The stored response, with the personal data that has not been erased. */
  | { readonly kind: 'replay'; readonly answer: Answer }
  | { readonly kind: 'payload_mismatch' }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'key_expired'; readonly paymentId: PaymentId }
  | Refusal;

/**
 * Writes the effect record and the transition together, exactly once. When a second person must approve the effect,
 * writes the record and the approval instead. A refusal is not stored, so the same key may succeed later.
 *
 * @throws RetryableError when nothing was written; the same key may be used again
 * @throws AmbiguousError when it is unknown whether the write took effect; a retry with the same key finds out
 */
export async function takeEffect<Refusal extends { readonly kind: string }>(
  tools: KeyedEffectTools,
  effect: KeyedEffect<Refusal>,
): Promise<KeyedEffectOutcome<Refusal>> {
  const { effects, runner } = tools;
  const { operationId, fingerprint } = effect;
  const judge = (record: EffectRecord): KeyedEffectOutcome<Refusal> => {
    const { paymentId, request } = record;
    const { untilSeconds = Number.POSITIVE_INFINITY } = request ?? {};
    const isOver = untilSeconds * 1000 <= tools.clock.nowMs();
    return isOver && paymentId !== undefined ? { kind: 'key_expired', paymentId } : judgeEffect(record, fingerprint);
  };
  const find = async (): Promise<KeyedEffectOutcome<Refusal> | undefined> => {
    const record = await effects.readEffect(operationId);
    return record === undefined ? undefined : judge(record);
  };
  const done = (outcome: KeyedEffectOutcome<Refusal>) => ({ kind: 'done' as const, outcome });
  const taken = await commitOnce<PaymentChain | undefined, KeyedEffectOutcome<Refusal>>(runner, {
    operationId,
    find,
    prepare: () => findChain(effects, effect.payment),
    write: async (chain) => {
      if (chain === undefined) return done({ kind: 'not_found' });
      const { id: paymentId } = chain.state.payment;
      const decision = await effect.decide(chain);
      if (isMadeBefore(decision)) return done((await find()) ?? { kind: 'key_expired', paymentId });
      if (!isAppend(decision)) return done(decision);
      const { answer, write } = writeOf(tools, effect, decision.draft, chain);
      const outcome = await effects.recordEffect(write);
      if (outcome.kind === 'recorded') return done({ kind: 'first', answer });
      if (outcome.kind === 'recorded_before') return done(judge(outcome.record));
      return { kind: 'again', prepared: await readChain(effects, paymentId) };
    },
  });
  return isReplay(taken) ? replayOf(effects, effect, taken) : taken;
}

interface Written {
  readonly answer: Answer;
  readonly write: Effect & ApprovalChange;
}

function writeOf<Refusal>(
  tools: KeyedEffectTools,
  effect: KeyedEffect<Refusal>,
  draft: TransitionDraft,
  chain: PaymentChain,
): Written {
  const { approvals, clock } = tools;
  const recordedAtMs = clock.nowMs();
  const { asked } = effect;
  if (asked !== undefined && approvals !== undefined) {
    const above = amountAboveLimit(approvals, asked, draft, chain);
    if (above !== undefined)
      return waitingWrite(tools, { ...effect, asked }, draft, {
        ...above,
        createdAtMs: recordedAtMs,
        expiresAtMs: recordedAtMs + approvals.lifetimeMs,
      });
  }
  const sealed = withSealedReasons(tools.digest, draft, tools.entropy.salt());
  const occasion = { occurredAtMs: recordedAtMs, cause: effect.cause };
  const transition = nextTransition(tools.digest, chain, sealed, occasion);
  const after = chainOf([...chain.transitions, transition]);
  const answer = effect.answer(transition, after);
  const { record, activity } = recordOf(tools, effect, chain.state.payment, answer, {
    fields: effect.personalFields(after),
    recordedAtMs,
  });
  const queued = queueEntriesFor(chain, [transition]);
  const inquiries = [
    ...(queued.inquiries ?? []),
    ...(effect.inquiry === undefined ? [] : [effect.inquiry(transition)]),
  ];
  const ended = effect.ended?.(recordedAtMs);
  const details = { sequence: String(transition.sequence), ...effect.details, ...approvedDetails(ended) };
  return {
    answer,
    write: {
      record,
      transitions: [transition],
      ...queued,
      inquiries,
      activity: { ...activity, details },
      ...defined({ ended }),
    },
  };
}

/** The entry's actor is the approver, so these details name the requester. */
function approvedDetails(ended: ApprovalChange['ended']): Readonly<Record<string, string>> {
  return ended === undefined ? {} : { approval: ended.approval.id, asked_by: ended.approval.askedBy.name };
}

/** The transition itself is written only after a second person approves. */
function waitingWrite<Refusal>(
  tools: KeyedEffectTools,
  effect: KeyedEffect<Refusal> & Required<Pick<KeyedEffect<Refusal>, 'asked'>>,
  draft: TransitionDraft,
  terms: Pick<Approval, 'amountMinor' | 'currency' | 'createdAtMs' | 'expiresAtMs'>,
): Written {
  const { payment } = draft;
  const { operationId, asked, by, reason } = effect;
  const { createdAtMs: recordedAtMs } = terms;
  const salt = tools.entropy.salt();
  const approval: Approval = {
    id: approvalId(tools.digest, operationId, recordedAtMs),
    operationId,
    paymentId: payment.id,
    tenantId: payment.tenantId,
    mode: payment.mode,
    asked,
    ...terms,
    effect: shownEffect(draft),
    askedBy: personOf(by),
    reason,
    ...sealOf(tools.digest, { reason }, salt),
  };
  const answer = {
    status: WAITING,
    headers: { 'content-type': JSON_TYPE },
    body: JSON.stringify(approvalObject(approval, recordedAtMs)),
  };
  const { record, activity } = recordOf(tools, effect, payment, answer, {
    fields: reasonFields(approval),
    recordedAtMs,
  });
  const about = [approval.id, operationId, payment.id];
  const details = { amount: `${terms.amountMinor} ${terms.currency}`, ...effect.details };
  return {
    answer,
    write: {
      record,
      transitions: [],
      approval,
      activity: { ...activity, action: 'approval.requested', about, details },
    },
  };
}

/** HTTP status of the response to a request that waits for a second person. */
const WAITING = 202;

/**
 * The record is permanent, but its stored response expires. It links a correction, decision or annotation to its
 * payment, and prevents the reuse of the idempotency key for another payment.
 */
function recordOf<Refusal>(
  { entropy, retention }: Pick<KeyedEffectTools, 'entropy' | 'retention'>,
  { operationId, fingerprint, action, cause, ended }: KeyedEffect<Refusal>,
  { id: paymentId, tenantId, mode }: Pick<Payment, 'id' | 'tenantId' | 'mode'>,
  answer: Answer,
  { fields, recordedAtMs }: { readonly fields: string | undefined; readonly recordedAtMs: number },
) {
  const untilSeconds = expirySeconds({ entropy, retention }, 'events', recordedAtMs);
  const request = { fingerprint, answer: withoutPersonalFields(answer, fields), untilSeconds };
  const made = ended?.(recordedAtMs).approval.operationId;
  return {
    record: { operationId, paymentId, owner: entropy.ownerToken(), recordedAtMs, request },
    activity: {
      chain: { tenantId, mode },
      action,
      actor: cause,
      about: [made ?? operationId, paymentId],
      occurredAtMs: recordedAtMs,
    },
  };
}

/** Returns the stored response together with the personal data, which is stored separately. */
async function replayOf<Refusal extends { readonly kind: string }>(
  effects: ApprovingStore,
  effect: KeyedEffect<Refusal>,
  taken: Extract<KeyedEffectOutcome<never>, { kind: 'replay' }>,
): Promise<KeyedEffectOutcome<Refusal>> {
  const waiting = effect.asked !== undefined && taken.answer.status === WAITING;
  if (waiting) {
    const { id } = JSON.parse(taken.answer.body) as { readonly id: string };
    const approval = await effects.readApproval(id);
    if (approval === undefined) throw claimTransactionLost();
    return judgeReason(effect, approval.reason, taken, () => reasonFields(approval));
  }
  const chain = await findChain(effects, effect.payment);
  if (chain === undefined) throw claimTransactionLost();
  return judgeReason(effect, effect.recordedReason(chain), taken, () => effect.personalFields(chain));
}

async function judgeReason<Refusal extends { readonly kind: string }>(
  { reason }: Pick<KeyedEffect<Refusal>, 'reason'>,
  recorded: string | undefined,
  taken: Extract<KeyedEffectOutcome<never>, { kind: 'replay' }>,
  fields: () => string | undefined,
): Promise<KeyedEffectOutcome<Refusal>> {
  if (recorded !== undefined && recorded !== reason) return { kind: 'payload_mismatch' };
  return withPersonalFields(taken, async () => fields());
}

/** The transition that a keyed effect would now append to the chain. */
export interface Preview {
  readonly kind: 'preview';
  readonly draft: TransitionDraft;
  readonly before: PaymentChain;
  readonly waits: boolean;
}

/** @throws RetryableError when the store is unavailable */
export async function previewEffect<Refusal extends { readonly kind: string }>(
  { effects, approvals }: Pick<KeyedEffectTools, 'effects' | 'approvals'>,
  { payment, decide, asked }: Pick<KeyedEffect<Refusal>, 'payment' | 'decide' | 'asked'>,
): Promise<Preview | { readonly kind: 'not_found' } | Refusal> {
  const before = await findChain(effects, payment);
  if (before === undefined) return { kind: 'not_found' };
  const decision = await decide(before);
  invariant(!isMadeBefore(decision), 'the effect of a preview is already in the chain');
  if (!isAppend(decision)) return decision;
  const { draft } = decision;
  const waits =
    asked !== undefined && approvals !== undefined && amountAboveLimit(approvals, asked, draft, before) !== undefined;
  return { kind: 'preview', draft, before, waits };
}

/** @param payment the unparsed id from the request */
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
