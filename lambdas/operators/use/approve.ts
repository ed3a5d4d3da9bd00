import { type Answer, JSON_TYPE } from '../../kernel/answer.ts';
import type { OperatorCause } from '../../kernel/cause.ts';
import { defined } from '../../kernel/defined.ts';
import { commitOnce } from '../../once/use/execute-once.ts';
import { judgeEffect } from '../../once/use/judge-record.ts';
import type { ChangeRefusal } from '../../payments/domain/change.ts';
import { reasonFields, withoutPersonalFields } from '../../payments/domain/given-reason.ts';
import type { TransitionDraft } from '../../payments/domain/payment.ts';
import type { ChangeKind } from '../../payments/ids.ts';
import { isReplay, withPersonalFields } from '../../payments/use/create-payment.ts';
import { type PaymentChain, readChain } from '../../payments/use/payment-chain.ts';
import {
  type Approval,
  type ApprovalEnd,
  approvalObject,
  effectIn,
  isOpen,
  isSamePerson,
  matchesApprovedEffect,
  type Person,
  personOf,
  type RejectionReason,
  type RequestedChange,
} from '../domain/approval.ts';
import { beginChange, type OperatorChangeTools, verdictPrint } from './change-by-operator.ts';
import { type CorrectionRefusal, correctionEffect } from './correct-ledger.ts';
import { type DecisionRefusal, type DecisionTools, decisionEffect } from './decide-payment.ts';
import { type EffectOfRequest, type KeyedEffectOutcome, type KeyedEffectTools, takeEffect } from './keyed-effect.ts';

/**
 * The verdict needs no idempotency key: an approval can end only once, so a repeated verdict only replays the response.
 */
export interface Verdict {
  /** The unvalidated id from the request. */
  readonly id: string;
  readonly by: Person;
  readonly cause: OperatorCause;
}

export interface ApprovalTools extends DecisionTools, OperatorChangeTools {
  readonly effects: OperatorChangeTools['effects'];
  readonly clock: OperatorChangeTools['clock'];
}

export type ApprovalRefusal =
  | { readonly kind: 'approval_not_found' }
  | { readonly kind: 'own_approval' }
  /** The approval has ended with the opposite verdict, or the stored response to the same verdict has expired. */
  | { readonly kind: 'approval_ended' }
  | { readonly kind: 'approval_expired' }
  /** The correction, decision or change would have no reason. */
  | { readonly kind: 'reason_erased' }
  /** The request would now have a different effect. */
  | { readonly kind: 'approval_outdated' };

/** In order of precedence. */
export type ApprovalOutcome =
  | ApprovalRefusal
  /** The approval remains open. */
  | { readonly kind: 'change_refused'; readonly change: ChangeKind; readonly refusal: ChangeRefusal }
  | Exclude<
      KeyedEffectOutcome<CorrectionRefusal | DecisionRefusal>,
      { readonly kind: 'payload_mismatch' | 'key_expired' }
    >;

/**
 * Executes another operator's request exactly once. The request is decided again on the current payment, and takes
 * effect in the transaction that ends the approval. Of two concurrent verdicts, only one takes effect, because an
 * approval can end only once.
 *
 *   Ben  ── read ── decide T3 ── record ✓ T3 ✓ end ✓
 *   Carl ──── read ── reject ──── record ✗: ended
 *
 * @throws as `takeEffect`
 */
export async function approve(tools: ApprovalTools, verdict: Verdict): Promise<ApprovalOutcome> {
  const approval = await judgeVerdict(tools, verdict);
  if ('kind' in approval) return approval;
  const { asked, askedBy: by, operationId, reason = '' } = approval;
  if (asked.kind !== 'correction' && asked.kind !== 'decision') return approveChange(tools, approval, asked, verdict);
  const effect: EffectOfRequest<CorrectionRefusal | DecisionRefusal> =
    asked.kind === 'correction'
      ? correctionEffect({ asked, reason, by }, operationId)
      : decisionEffect(tools, { asked, reason, by }, operationId);
  const end = endBy(verdict.by, 'approved');
  const taken = await takeEffect<ApprovalRefusal | CorrectionRefusal | DecisionRefusal>(tools, {
    ...effect,
    cause: verdict.cause,
    by,
    operationId: approval.id,
    fingerprint: verdictPrint(tools.digest, 'approved'),
    payment: approval.paymentId,
    reason,
    recordedReason: () => undefined,
    decide: async (chain) => {
      // The reason may have been erased since the approval was read. If a rival has ended the approval, the write
      // fails, and the rival's record determines the outcome.
      const current = await tools.effects.readApproval(approval.id);
      const isErased = current !== undefined && current.reason === undefined;
      return decideAgain(isErased ? current : approval, effect, chain, tools.clock.nowMs());
    },
    answer: ({ occurredAtMs }) => answerOf({ ...approval, end: end(occurredAtMs) }, occurredAtMs),
    personalFields: () => reasonFields(approval),
    ended: (atMs) => ({ approval, end: end(atMs) }),
  });
  // Either the opposite verdict was recorded, or the effect exists and the stored response to the verdict has expired.
  return taken.kind === 'payload_mismatch' || taken.kind === 'key_expired' ? { kind: 'approval_ended' } : taken;
}

/** A repeated approval continues the change, as a retry of the request would. */
async function approveChange(
  tools: OperatorChangeTools,
  approval: Approval,
  { kind, amountMinor }: RequestedChange,
  { by, cause }: Verdict,
): Promise<ApprovalOutcome> {
  const { effects, digest, clock } = tools;
  const { id, operationId, paymentId, tenantId, mode, askedBy } = approval;
  if (approval.end?.verdict === 'rejected') return { kind: 'approval_ended' };
  if (approval.end === undefined && !isOpen(approval, clock.nowMs())) return { kind: 'approval_expired' };
  let refused: ApprovalRefusal | undefined;
  const admits = async (draft: TransitionDraft): Promise<boolean> => {
    const current = await effects.readApproval(id);
    refused = refusalOf(current, draft, clock.nowMs());
    return refused === undefined;
  };
  const fingerprint = verdictPrint(digest, 'approved');
  const change = { kind, operationId, paymentId, tenantId, mode, fingerprint, amountMinor, by: askedBy, cause };
  const ended = { approval, end: endBy(by, 'approved')(clock.nowMs()) };
  const begun = { ...change, reason: approval.reason ?? '' };
  const outcome = await beginChange(tools, begun, { admits, approved: ended });
  if (outcome.kind === 'not_admitted') return refused ?? { kind: 'approval_ended' };
  if (outcome.kind === 'refused') return { kind: 'change_refused', change: kind, refusal: outcome.refusal };
  if (outcome.kind === 'not_found') return outcome;
  // The change has begun, whatever its outcome.
  const current = await effects.readApproval(id);
  if (current?.end?.verdict !== 'approved') return { kind: 'approval_ended' };
  const isFirst = outcome.kind === 'first' && approval.end === undefined;
  return { kind: isFirst ? 'first' : 'replay', answer: answerOf(current, clock.nowMs()) };
}

function refusalOf(current: Approval | undefined, draft: TransitionDraft, nowMs: number): ApprovalRefusal | undefined {
  if (current === undefined || current.end !== undefined) return { kind: 'approval_ended' };
  if (!isOpen(current, nowMs)) return { kind: 'approval_expired' };
  if (current.reason === undefined) return { kind: 'reason_erased' };
  return matchesApprovedEffect(current, draft) ? undefined : { kind: 'approval_outdated' };
}

async function decideAgain<Refusal extends { readonly kind: string }>(
  approval: Approval,
  { decide }: Pick<EffectOfRequest<Refusal>, 'decide'>,
  chain: PaymentChain,
  nowMs: number,
) {
  if (!isOpen(approval, nowMs)) return { kind: 'approval_expired' as const };
  if (approval.reason === undefined) return { kind: 'reason_erased' as const };
  const decision = await decide(chain);
  const isOther = 'draft' in decision && !matchesApprovedEffect(approval, decision.draft);
  return isOther ? { kind: 'approval_outdated' as const } : decision;
}

export interface Rejection extends Verdict {
  readonly reason?: RejectionReason;
}

/** @throws as `takeEffect` */
export async function reject(tools: KeyedEffectTools, verdict: Rejection): Promise<ApprovalOutcome> {
  const approval = await judgeVerdict(tools, verdict);
  if ('kind' in approval) return approval;
  const { effects, runner, clock, digest, entropy } = tools;
  const { id: operationId, paymentId, tenantId, mode, askedBy } = approval;
  const fingerprint = verdictPrint(digest, 'rejected');
  const judge = (record: Parameters<typeof judgeEffect>[0]): ApprovalOutcome => {
    const judged = judgeEffect(record, fingerprint);
    return judged.kind === 'replay' ? judged : { kind: 'approval_ended' };
  };
  const taken = await commitOnce<undefined, ApprovalOutcome>(runner, {
    operationId,
    find: async () => {
      const record = await effects.readEffect(operationId);
      return record === undefined ? undefined : judge(record);
    },
    prepare: async () => undefined,
    write: async () => {
      const atMs = clock.nowMs();
      if (!isOpen(approval, atMs)) return { kind: 'done', outcome: { kind: 'approval_expired' } };
      // The approval of a change writes no record of the verdict, so read the approval.
      const current = await effects.readApproval(operationId);
      // After a restore, a repeated request may already have taken effect under a second approval.
      const chain = await readChain(effects, paymentId);
      const isMade = chain !== undefined && effectIn(chain.transitions, approval.operationId) !== undefined;
      if (isMade || current?.end?.verdict === 'approved') return { kind: 'done', outcome: { kind: 'approval_ended' } };
      const given = defined({ reason: verdict.reason });
      const end = { ...endBy(verdict.by, 'rejected')(atMs), ...given };
      const answer = answerOf({ ...approval, end }, atMs);
      const request = { fingerprint, answer: withoutPersonalFields(answer, reasonFields(approval)) };
      const written = await effects.recordEffect({
        record: { operationId, paymentId, owner: entropy.ownerToken(), recordedAtMs: atMs, request },
        transitions: [],
        ended: { approval, end },
        activity: {
          chain: { tenantId, mode },
          action: 'approval.rejected',
          actor: verdict.cause,
          about: [operationId, approval.operationId, paymentId],
          details: { asked_by: askedBy.name, ...given },
          occurredAtMs: atMs,
        },
      });
      if (written.kind === 'recorded') return { kind: 'done', outcome: { kind: 'first', answer } };
      if (written.kind === 'recorded_before') return { kind: 'done', outcome: judge(written.record) };
      return { kind: 'again', prepared: undefined };
    },
  });
  return isReplay(taken) ? withPersonalFields(taken, async () => reasonFields(approval)) : taken;
}

async function judgeVerdict(
  { effects }: Pick<KeyedEffectTools, 'effects'>,
  { id, by }: Verdict,
): Promise<Approval | ApprovalRefusal> {
  const approval = await effects.readApproval(id);
  if (approval === undefined) return { kind: 'approval_not_found' };
  return isSamePerson(by, approval.askedBy) ? { kind: 'own_approval' } : approval;
}

function endBy(by: Person, verdict: ApprovalEnd['verdict']) {
  return (atMs: number): ApprovalEnd => ({ verdict, by: personOf(by), atMs });
}

function answerOf(approval: Approval, nowMs: number): Answer {
  const body = JSON.stringify(approvalObject(approval, nowMs));
  return { status: 200, headers: { 'content-type': JSON_TYPE }, body };
}
