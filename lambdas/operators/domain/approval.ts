import { OperationPrefix } from '../../kernel/contract/rows.ts';
import { base32, type Digest } from '../../kernel/digest.ts';
import type { Mode, OperationId, PaymentId, TenantId } from '../../kernel/ids.ts';
import { UNSEEN } from '../../kernel/one-line.ts';
import { timeSortKey } from '../../kernel/places.ts';
import { changeOf, operationIdOf } from '../../payments/domain/change.ts';
import { shownReason } from '../../payments/domain/given-reason.ts';
import type { GivenReason, PaymentStatus, TransitionDraft, TransitionType } from '../../payments/domain/payment.ts';
import type { PaymentState } from '../../payments/domain/payment-state.ts';
import { type Posting, postingObject } from '../../payments/domain/posting.ts';
import { decisionOf, type Transition } from '../../payments/domain/transition.ts';
import type { ChangeKind } from '../../payments/ids.ts';
import type { CorrectionRequest } from './correction.ts';
import type { DecisionRequest } from './operator-decision.ts';

/** Rules that define which operator requests wait for a second person, and for how long. */
export interface ApprovalRules {
  /**
   * Limit in minor units by currency, with `*` for all other currencies. Requests above the limit wait. Without `*`,
   * all requests in unlisted currencies wait.
   */
  readonly aboveMinor: Readonly<Record<string, number>>;
  readonly lifetimeMs: number;
}

export interface Person {
  readonly name: string;
  /** The same for all of the person's API keys. */
  readonly person: string;
  /** The id of the operator's key, or the operator's subject at the identity provider. */
  readonly identity: string;
}

/** The amount is explicit, so that an approval has exactly the effect that it shows. */
export interface RequestedChange {
  readonly kind: ChangeKind;
  readonly amountMinor: number;
}

export type Asked =
  | RequestedChange
  | ({ readonly kind: 'correction' } & Pick<CorrectionRequest, 'change'>)
  | ({ readonly kind: 'decision' } & Pick<
      DecisionRequest,
      'outcome' | 'change' | 'chargeId' | 'takenMinor' | 'override'
    >);

/**
 * The effect that was shown to the requester and to the approver. If the request would now have a different effect, the
 * approval is refused.
 */
export interface ShownEffect {
  readonly type: TransitionType;
  readonly paymentStatus: PaymentStatus;
  readonly postings: readonly Posting[];
}

export interface Approval extends GivenReason {
  /**
   * `apr_…`. The id contains the creation time, and thus the position in the list of approvals, so that no index is
   * needed.
   */
  readonly id: OperationId;
  /** The id that the correction, decision or change will have. */
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly asked: Asked;
  /** The amount that was compared with the limit of `currency`. */
  readonly amountMinor: number;
  /** For a stray charge or its refund, this may differ from the payment's currency. */
  readonly currency: string;
  readonly effect: ShownEffect;
  readonly askedBy: Person;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** Absent until a second person has decided. */
  readonly end?: ApprovalEnd;
}

/** Codes instead of free text, because the activity log is never erased. */
export const REJECTION_REASONS = ['not_justified', 'wrong_amount', 'wrong_payment', 'not_needed'] as const;

export type RejectionReason = (typeof REJECTION_REASONS)[number];

export interface ApprovalEnd {
  readonly verdict: 'approved' | 'rejected';
  /** Absent if the second person gave no reason, or approved the request. */
  readonly reason?: RejectionReason;
  readonly by: Person;
  readonly atMs: number;
}

export const APPROVAL_ID = /^apr_([0-9a-z]{1,10})_[a-z2-7]{26}$/;
/** The id contains the first 130 bits of a digest as 26 base32 characters. 17 bytes are enough for these bits. */
const ID_BYTES = 17;
const ID_LETTERS = 26;

/** @param operationId the id of the correction, decision or change */
export function approvalId(digest: Digest, operationId: OperationId, createdAtMs: number): OperationId {
  const name = base32(digest.sha256(JSON.stringify(['approval', operationId])).subarray(0, ID_BYTES));
  return `${OperationPrefix.approval}${createdAtMs.toString(36)}_${name.slice(0, ID_LETTERS)}` as OperationId;
}

/** @returns undefined when the text is not the id of an approval */
export function approvalTime(id: string): number | undefined {
  const [, time] = APPROVAL_ID.exec(id) ?? [];
  if (time === undefined) return undefined;
  const createdAtMs = Number.parseInt(time, 36);
  return createdAtMs.toString(36) === time ? createdAtMs : undefined;
}

/** The sort key in the list of all approvals; undefined when the text is not the id of an approval. */
export function approvalPlace(id: string): string | undefined {
  const createdAtMs = approvalTime(id);
  return createdAtMs === undefined ? undefined : timeSortKey(createdAtMs, id);
}

export type ApprovalAmount = Pick<Approval, 'amountMinor' | 'currency'>;

/**
 * Returns the amount that exceeds its limit, if any. The corrections of one payment are added up per currency, and so
 * are its refunds by operators, so that an amount above the limit cannot be split into smaller ones. The currency of a
 * correction or of a decided refund can differ from the payment's, because a stray charge can have another currency.
 * For a decision, the compared amount is at least the amount of the decided payment or refund, even if the decision
 * posts nothing.
 */
export function amountAboveLimit(
  rules: ApprovalRules,
  asked: Asked,
  draft: TransitionDraft,
  chain: { readonly state: PaymentState; readonly transitions: readonly Transition[] },
): ApprovalAmount | undefined {
  return stakesOf(asked, draft, chain).find((stake) => isAbove(rules, stake));
}

type Chain = Parameters<typeof amountAboveLimit>[3];

function stakesOf(asked: Asked, draft: TransitionDraft, chain: Chain): readonly ApprovalAmount[] {
  switch (asked.kind) {
    case 'correction':
      return stakesOfCorrection(draft, chain);
    case 'decision':
      return [stakeOfDecision(asked, draft, chain)];
    case 'refund':
    case 'capture':
    case 'cancel':
      return [stakeOfChange(asked, draft, chain)];
  }
}

function stakeOfChange(
  { kind, amountMinor }: RequestedChange,
  { payment: { currency } }: TransitionDraft,
  { state, transitions }: Chain,
): ApprovalAmount {
  if (kind !== 'refund') return { currency, amountMinor };
  const begun = new Set<string>();
  for (const { cause, subject } of transitions)
    if (cause.by === 'operator' && subject?.kind === 'refund') begun.add(subject.refundId);
  const earlier = [...state.refunds.values()].filter(
    ({ refundId, status, currency: of = currency }) => begun.has(refundId) && status !== 'failed' && of === currency,
  );
  return { currency, amountMinor: earlier.reduce((sum, refund) => sum + refund.amountMinor, amountMinor) };
}

function stakesOfCorrection(
  draft: TransitionDraft,
  { transitions }: { readonly transitions: readonly Transition[] },
): readonly ApprovalAmount[] {
  const all = [draft, ...transitions.filter(({ subject }) => subject?.kind === 'correction')];
  const currencies = new Set(draft.postings.map(({ currency }) => currency));
  return [...currencies].map((currency) => ({
    currency,
    amountMinor: all.reduce((sum, correction) => sum + debitsMinor(correction, currency), 0),
  }));
}

function stakeOfDecision(
  { change: asked }: Pick<DecisionRequest, 'change'>,
  draft: TransitionDraft,
  { state }: { readonly state: PaymentState },
): ApprovalAmount {
  const change = asked === undefined ? undefined : changeOf(state, asked);
  const { currency = state.payment.currency, amountMinor: about } = change?.kind === 'refund' ? change : state.payment;
  return { currency, amountMinor: Math.max(debitsMinor(draft, currency), about) };
}

function debitsMinor({ postings }: Pick<TransitionDraft, 'postings'>, of: string): number {
  return postings
    .filter(({ direction, currency }) => direction === 'debit' && currency === of)
    .reduce((sum, { amountMinor }) => sum + amountMinor, 0);
}

function isAbove({ aboveMinor }: ApprovalRules, { currency, amountMinor }: ApprovalAmount): boolean {
  return amountMinor > (aboveMinor[currency] ?? aboveMinor['*'] ?? 0);
}

export function shownEffect({ type, payment, postings }: TransitionDraft): ShownEffect {
  return { type, paymentStatus: payment.status, postings };
}

/** Ignores differences in case, repeated spaces and invisible characters. */
export function isSamePerson(left: Person, right: Person): boolean {
  const names = new Set(namesOf(left));
  return namesOf(right).some((name) => names.has(name));
}

export function personOf({ name, person, identity }: Person): Person {
  return { name, person, identity };
}

function namesOf({ name, person, identity }: Person): readonly string[] {
  return [name, person, identity].map((each) =>
    each.normalize('NFKC').replaceAll(UNSEEN, '').replaceAll(/\s+/g, ' ').trim().toLowerCase(),
  );
}

/**
 * No verdict is accepted in this time before the expiry. Writing a verdict takes less time, so no approval takes effect
 * after it was shown as expired.
 */
const CLOSED_BEFORE_MS = 60_000;

export function isOpen({ end, expiresAtMs }: Pick<Approval, 'end' | 'expiresAtMs'>, nowMs: number): boolean {
  return end === undefined && nowMs < expiresAtMs - CLOSED_BEFORE_MS;
}

function statusOf({ end, expiresAtMs }: Approval, nowMs: number): string {
  if (end !== undefined) return end.verdict;
  return nowMs < expiresAtMs ? 'pending_approval' : 'expired';
}

export function approvalObject(approval: Approval, nowMs: number): Record<string, unknown> {
  const { id, asked, effect, end, askedBy } = approval;
  return {
    id,
    object: 'approval',
    status: statusOf(approval, nowMs),
    tenant: approval.tenantId,
    mode: approval.mode,
    payment: approval.paymentId,
    request: askedObject(asked),
    amount: approval.amountMinor,
    currency: approval.currency,
    ...shownReason(approval),
    effect: effectObject(approval.operationId, effect),
    requested_by: personObject(askedBy),
    decided_by: end === undefined ? null : personObject(end.by),
    decided: end === undefined ? null : seconds(end.atMs),
    verdict_reason: end?.reason ?? null,
    created: seconds(approval.createdAtMs),
    expires: seconds(approval.expiresAtMs),
  };
}

/** @param id the id of the correction, decision, annotation or change */
export function effectIn(transitions: readonly Transition[], id: OperationId): Transition | undefined {
  return transitions.find((each) => idOfEffect(each.subject) === id || decisionOf(each)?.decisionId === id);
}

function idOfEffect(subject: Transition['subject']): string | undefined {
  switch (subject?.kind) {
    case 'correction':
      return subject.correctionId;
    case 'annotation':
      return subject.annotationId;
    case 'refund':
    case 'capture':
    case 'void':
      return operationIdOf(subject);
    case 'decision':
    case 'dispute':
    case 'stray_charge':
    case undefined:
      return undefined;
  }
}

function effectObject(id: OperationId, { type, paymentStatus, postings }: ShownEffect): Record<string, unknown> {
  return { id, type, payment_status: paymentStatus, postings: postings.map(postingObject) };
}

export function matchesApprovedEffect({ operationId, effect }: Approval, draft: TransitionDraft): boolean {
  const texts = [effect, shownEffect(draft)].map((each) => JSON.stringify(effectObject(operationId, each)));
  return texts[0] === texts[1];
}

function askedObject(asked: Asked): Record<string, unknown> {
  if (asked.kind === 'correction') {
    return { type: 'correction', reverses: asked.change.kind === 'reverse' ? asked.change.sequence : null };
  }
  if (asked.kind !== 'decision') return { type: asked.kind, amount: asked.amountMinor };
  const { outcome, change, chargeId, takenMinor, override = false } = asked;
  return {
    type: 'decision',
    outcome,
    change: change ?? null,
    charge_id: chargeId ?? null,
    amount: takenMinor ?? null,
    override,
  };
}

function personObject({ name, identity }: Person): Record<string, unknown> {
  return { operator: name, identity };
}

function seconds(timeMs: number): number {
  return Math.floor(timeMs / 1000);
}
