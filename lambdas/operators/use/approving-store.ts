import type { ActivityDraft } from '../../activity/domain/activity.ts';
import type { OperationId } from '../../kernel/ids.ts';
import type { OpenRecord } from '../../once/domain/idempotency.ts';
import type { Transition } from '../../payments/domain/transition.ts';
import type { Effect, EffectOutcome, EffectStore } from '../../payments/use/effect-store.ts';
import type { ClaimOutcome } from '../../payments/use/payment-store.ts';
import type { Approval, ApprovalEnd } from '../domain/approval.ts';

/** A change to an approval, written in the same transaction as the effect. */
export interface ApprovalChange {
  /** A new approval. */
  readonly approval?: Approval;
  /**
   * An approval to end. The write is refused when the approval has already ended, and when it would copy a reason that
   * was erased.
   */
  readonly ended?: { readonly approval: Approval; readonly end: ApprovalEnd };
  /**
   * An operation that must have no record: a request begins its change or waits, never both. Of two concurrent writes
   * that exclude each other, only one is applied if both have an entry in the same activity log.
   */
  readonly absent?: OperationId;
}

/** The claim of a change that an operator requested. */
export interface OperatorClaim extends Pick<ApprovalChange, 'ended' | 'absent'> {
  readonly record: OpenRecord;
  readonly pending: Transition;
  readonly activity: ActivityDraft;
}

/** Stores effects that may need a second person's approval. */
export interface ApprovingStore extends EffectStore {
  recordEffect(effect: Effect & ApprovalChange): Promise<EffectOutcome>;
  /**
   * Claims a change, writes the entry of the activity log, and ends the approval, in one transaction. If a rival has
   * taken the position in the chain or in the log, or has ended the approval, or if `absent` has a record, the outcome is `transition_exists`.
   */
  claimChange(claim: OperatorClaim): Promise<ClaimOutcome>;
  /**
   * Reads an approval with strong consistency.
   * @param id the unvalidated id from the request
   */
  readApproval(id: string): Promise<Approval | undefined>;
  /**
   * Lists approvals, newest first.
   * @param page `after` is the id of the last approval of the previous page. Without reasons, the store may leave them
   * out, which saves a read for each approval.
   */
  listApprovals(page: {
    readonly after?: string;
    readonly limit: number;
    readonly withReasons?: false;
  }): Promise<readonly Approval[]>;
}
