import type { Effect, EffectOutcome, EffectStore } from '../../payments/use/effect-store.ts';
import type { Approval, ApprovalEnd } from '../domain/approval.ts';

/** The change of an approval in the transaction of the effect. */
export interface ApprovalChange {
  /** A new one. */
  readonly approval?: Approval;
  /** An approval to end. Refused when it has already ended or expired. */
  readonly ended?: { readonly approval: Approval; readonly end: ApprovalEnd };
}

/** Effects that may wait for a second person. */
export interface ApprovingStore extends EffectStore {
  recordEffect(effect: Effect & ApprovalChange): Promise<EffectOutcome>;
  /** A strongly consistent read. @param id from the request, not validated */
  readApproval(id: string): Promise<Approval | undefined>;
  /** Newest first. @param after the id of the last approval of the previous page */
  listApprovals(page: { readonly after?: string; readonly limit: number }): Promise<readonly Approval[]>;
}
