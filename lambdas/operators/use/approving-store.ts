import type { ActivityDraft } from '../../activity/domain/activity.ts';
import type { OperationId } from '../../kernel/ids.ts';
import type { OpenRecord } from '../../once/domain/idempotency.ts';
import type { Transition } from '../../payments/domain/transition.ts';
import type { Effect, EffectOutcome, EffectStore } from '../../payments/use/effect-store.ts';
import type { ClaimOutcome } from '../../payments/use/payment-store.ts';
import type { Approval, ApprovalEnd } from '../domain/approval.ts';

/** Written in the same transaction as the effect. */
export interface ApprovalChange {
  readonly approval?: Approval;
  /**
   * The write fails when the approval has already ended, or when its reason was erased before the effect could copy it.
   */
  readonly ended?: { readonly approval: Approval; readonly end: ApprovalEnd };
  /**
   * An operation that must have no record. A request thus either begins its change or waits for approval, but never
   * both. Two concurrent writes that exclude each other must write to the same activity log, so that only one of them
   * is applied.
   */
  readonly absent?: OperationId;
}

export interface OperatorClaim extends Pick<ApprovalChange, 'ended' | 'absent'> {
  readonly record: OpenRecord;
  readonly pending: Transition;
  readonly activity: ActivityDraft;
}

export interface ApprovingStore extends EffectStore {
  recordEffect(effect: Effect & ApprovalChange): Promise<EffectOutcome>;
  /**
   * Claims a change, writes the activity log entry, and ends the approval, if any, in one transaction. The outcome is
   * `transition_exists` if a rival has taken the position in the chain or in the log, if a rival has ended the approval
   * or erased its reason, or if `absent` has a record.
   */
  claimChange(claim: OperatorClaim): Promise<ClaimOutcome>;
  /**
   * Strongly consistent.
   *
   * @param id the unvalidated id from the request
   */
  readApproval(id: string): Promise<Approval | undefined>;
  /**
   * Newest first.
   *
   * @param page `after` is the id of the last approval of the previous page. With `withReasons: false`, the store may
   * omit the reasons, which saves a read for each approval
   */
  listApprovals(page: {
    readonly after?: string;
    readonly limit: number;
    readonly withReasons?: false;
  }): Promise<readonly Approval[]>;
}
