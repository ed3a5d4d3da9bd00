import type { Action, ActivityDraft } from '../../activity/domain/activity.ts';
import { JSON_TYPE } from '../../kernel/answer.ts';
import type { OperatorCause } from '../../kernel/cause.ts';
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import { compareFingerprints, type Fingerprint, fingerprintOf } from '../../kernel/fingerprint.ts';
import type { Mode, OperationId, PaymentId, TenantId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { sealOf } from '../../kernel/sealed-details.ts';
import { type EffectRecord, expirySeconds } from '../../once/domain/idempotency.ts';
import type { RunNotes } from '../../once/use/execute-once.ts';
import { judgeEffect } from '../../once/use/judge-record.ts';
import { rounds } from '../../once/use/rounds.ts';
import type { ChangeCommand } from '../../payments/domain/change.ts';
import { reasonFields, withoutPersonalFields } from '../../payments/domain/given-reason.ts';
import type { TransitionDraft } from '../../payments/domain/payment.ts';
import type { ChangeKind } from '../../payments/ids.ts';
import { type ChangeOutcome, type ChangePaymentTools, changePayment } from '../../payments/use/change-payment.ts';
import { withPersonalFields } from '../../payments/use/create-payment.ts';
import { readChain } from '../../payments/use/payment-chain.ts';
import {
  type Approval,
  type ApprovalAmount,
  type ApprovalEnd,
  amountAboveLimit,
  approvalId,
  approvalObject,
  type Person,
  personOf,
  type RequestedChange,
  shownEffect,
} from '../domain/approval.ts';
import type { ApprovalChange, ApprovingStore } from './approving-store.ts';
import type { KeyedEffectTools } from './keyed-effect.ts';

export interface OperatorChangeTools extends KeyedEffectTools, Omit<ChangePaymentTools, 'effects'> {
  readonly effects: ApprovingStore;
}

interface OperatorChange {
  readonly kind: ChangeKind;
  /** Derived from the operator, the path and the idempotency key. */
  readonly operationId: OperationId;
  /** Id of the record of a request that waits for a second person. Derived from the same values. */
  readonly requestId: OperationId;
  readonly paymentId: PaymentId;
  readonly fingerprint: Fingerprint;
  /** Absent for a cancellation. @default a capture's whole amount, or a refund's remaining amount */
  readonly amountMinor?: number;
  readonly reason: string;
  readonly by: Person;
  readonly cause: OperatorCause;
  readonly receivedAtMs: number;
}

/**
 * Captures, cancels or refunds a payment for an operator exactly once. If the amount is above the limit, the request
 * waits for a second person. The waiting request is recorded under an id of its own, so that its approval can claim the
 * change.
 *
 *   below the limit   claim: record, pending transition, activity ── call ── commit
 *   above the limit   record, approval, activity ─────────────── approve: claim, end of the approval ── call ── commit
 *
 * Two requests with the same key can run concurrently, one below the limit and one above it. Each write requires that
 * the record of the other request is absent, so one write fails, and its request then finds the record of the other:
 *
 *   A ── read ── 300 ≤ 500 ── claim ✓
 *   B ──── read ── 300 + 300 > 500 ── approval ✗ ── replays A
 *
 * @throws as `changePayment`
 */
export async function changeByOperator(
  tools: OperatorChangeTools,
  asked: OperatorChange,
  notes?: RunNotes,
): Promise<ChangeOutcome> {
  const { effects, approvals } = tools;
  const history = await tools.store.readPayment(asked.paymentId);
  if (history === undefined) return { kind: 'not_found' };
  const { tenantId, mode } = history.newest.payment;
  const owner = { tenantId, mode };
  return rounds<ChangeOutcome>('this request', async () => {
    const before = await effects.readEffect(asked.requestId);
    if (before !== undefined) return replayOf(effects, before, asked);
    let above: Above | undefined;
    let waits = false;
    const admits = async (draft: TransitionDraft): Promise<boolean> => {
      waits = (await effects.readEffect(asked.requestId)) !== undefined;
      if (waits || approvals === undefined) return !waits;
      const chain = await readChain(effects, asked.paymentId);
      invariant(chain !== undefined, 'the payment exists, but its chain is empty');
      const change = requestedChange(asked.kind, draft);
      const amount = amountAboveLimit(approvals, change, draft, chain);
      above = amount && { change, draft, amount, expiresAtMs: tools.clock.nowMs() + approvals.lifetimeMs };
      return above === undefined;
    };
    const outcome = await beginChange(tools, { ...asked, ...owner }, { admits }, notes);
    if (outcome.kind === 'payload_mismatch' && (await isOfApproval(tools, asked.operationId)))
      return { kind: 'key_expired', paymentId: asked.paymentId };
    if (outcome.kind !== 'not_admitted') return outcome;
    if (waits) return 'again';
    invariant(above !== undefined, 'a change within the limit was not admitted');
    return (await waitForApproval(tools, asked, owner, above)) ?? 'again';
  });
}

/**
 * The record of a change that an approval began has the fingerprint of the verdict. Called when the request's own
 * record has expired.
 */
async function isOfApproval({ store, digest }: OperatorChangeTools, operationId: OperationId): Promise<boolean> {
  const record = await store.readRecord(operationId);
  return record !== undefined && compareFingerprints(record.fingerprint, verdictPrint(digest, 'approved')) === 'same';
}

/** Distinguishes an approval from a rejection in the record of a verdict. */
export function verdictPrint(digest: Digest, verdict: ApprovalEnd['verdict']): Fingerprint {
  return fingerprintOf(digest, { body: { verdict }, query: {} });
}

interface Owner {
  readonly tenantId: TenantId;
  readonly mode: Mode;
}

interface Above {
  readonly change: RequestedChange;
  readonly draft: TransitionDraft;
  readonly amount: ApprovalAmount;
  readonly expiresAtMs: number;
}

type BegunChange = Owner &
  Pick<
    OperatorChange,
    'kind' | 'operationId' | 'paymentId' | 'fingerprint' | 'amountMinor' | 'reason' | 'by' | 'cause'
  > &
  Partial<Pick<OperatorChange, 'receivedAtMs' | 'requestId'>>;

/**
 * @param admits returns whether the change may be claimed
 * @param approved the approval to end in the same transaction
 */
export function beginChange(
  tools: OperatorChangeTools,
  change: BegunChange,
  {
    admits,
    approved,
  }: {
    readonly admits: (draft: TransitionDraft) => Promise<boolean>;
    readonly approved?: Required<ApprovalChange>['ended'];
  },
  notes?: RunNotes,
): ReturnType<typeof changePayment> {
  const { kind, reason, by, cause, amountMinor, requestId: absent, ...request } = change;
  return changePayment(
    tools,
    {
      ...request,
      cause,
      requestId: cause.requestId,
      command: commandOf(kind, amountMinor, reason),
      byOperator: {
        request: { kind: 'request', operator: by.name, reason },
        admits,
        claim: ({ record, pending }) => {
          const { amountMinor: minor } = requestedChange(kind, pending);
          const details = {
            amount: `${minor} ${pending.payment.currency}`,
            sequence: String(pending.sequence),
            ...(approved === undefined
              ? {}
              : { approval: approved.approval.id, asked_by: approved.approval.askedBy.name }),
          };
          const activity = activityOf(change, ACTIONS[kind], [record.operationId, change.paymentId], {
            details,
            occurredAtMs: pending.occurredAtMs,
          });
          return tools.effects.claimChange({ record, pending, activity, ...defined({ ended: approved, absent }) });
        },
      },
    },
    notes,
  );
}

const ACTIONS = {
  refund: 'refund.requested',
  capture: 'capture.requested',
  cancel: 'cancellation.requested',
} as const satisfies Record<ChangeKind, Action>;

function commandOf(kind: ChangeKind, amountMinor: number | undefined, reason: string): ChangeCommand {
  switch (kind) {
    case 'refund':
      return { kind, reason, ...defined({ amountMinor }) };
    case 'capture':
      return { kind, ...defined({ amountMinor }) };
    case 'cancel':
      return { kind };
  }
}

function requestedChange(kind: ChangeKind, { subject }: Pick<TransitionDraft, 'subject'>): RequestedChange {
  invariant(subject !== undefined && 'amountMinor' in subject, 'a pending change has no amount');
  return { kind, amountMinor: subject.amountMinor };
}

function activityOf(
  { cause: actor, tenantId, mode }: Pick<OperatorChange, 'cause'> & Owner,
  action: Action,
  about: readonly string[],
  what: Pick<ActivityDraft, 'details' | 'occurredAtMs'>,
): ActivityDraft {
  return { chain: { tenantId, mode }, action, actor, about, ...what };
}

/** @returns undefined when a rival wrote first */
async function waitForApproval(
  tools: OperatorChangeTools,
  asked: OperatorChange,
  owner: Owner,
  { change, draft, amount, expiresAtMs }: Above,
): Promise<ChangeOutcome | undefined> {
  const { effects, digest, clock, entropy } = tools;
  const { operationId, requestId, paymentId, fingerprint, reason, by } = asked;
  const createdAtMs = clock.nowMs();
  const approval: Approval = {
    id: approvalId(digest, operationId, createdAtMs),
    operationId,
    paymentId,
    ...owner,
    asked: change,
    ...amount,
    createdAtMs,
    expiresAtMs,
    effect: shownEffect(draft),
    askedBy: personOf(by),
    reason,
    ...sealOf(digest, { reason }, entropy.salt()),
  };
  const body = JSON.stringify(approvalObject(approval, createdAtMs));
  const answer = { status: 202, headers: { 'content-type': JSON_TYPE }, body };
  const stored = withoutPersonalFields(answer, reasonFields(approval));
  const written = await effects.recordEffect({
    record: {
      operationId: requestId,
      paymentId,
      owner: entropy.ownerToken(),
      recordedAtMs: createdAtMs,
      request: { fingerprint, answer: stored },
      // The fingerprint covers the reason, which can be erased, so the record must expire. The change has a record of
      // its own.
      expiresAtSeconds: expirySeconds(tools, 'events', createdAtMs),
    },
    transitions: [],
    approval,
    absent: operationId,
    activity: activityOf({ ...asked, ...owner }, 'approval.requested', [approval.id, operationId, paymentId], {
      details: { amount: `${amount.amountMinor} ${amount.currency}` },
      occurredAtMs: createdAtMs,
    }),
  });
  if (written.kind === 'recorded') return { kind: 'first', answer, unknown: false };
  return written.kind === 'recorded_before' ? replayOf(effects, written.record, asked) : undefined;
}

/** The reason of a waiting request is stored separately. */
async function replayOf(
  effects: ApprovingStore,
  record: EffectRecord,
  { fingerprint }: Pick<OperatorChange, 'fingerprint'>,
): Promise<ChangeOutcome> {
  const judged = judgeEffect(record, fingerprint);
  if (judged.kind !== 'replay') return judged;
  const { id } = JSON.parse(judged.answer.body) as { readonly id: string };
  return withPersonalFields({ ...judged, source: 'store' as const }, async () => {
    const approval = await effects.readApproval(id);
    return approval === undefined ? undefined : reasonFields(approval);
  });
}
