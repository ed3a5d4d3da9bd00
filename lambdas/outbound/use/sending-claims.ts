import type { OwnerToken } from '../../kernel/ids.ts';

/** The process that holds the claim. Only this process may send under the key. */
export interface SendingOwner {
  readonly key: string;
  readonly owner: OwnerToken;
}

/** In order of precedence. */
export type SendClaimResult =
  | { readonly kind: 'sent'; readonly vendorId: string }
  /** A rival holds the claim; its lease has not ended. */
  | { readonly kind: 'sending'; readonly leaseExpiresAtMs: number }
  /** This process took over the claim. An earlier owner may have sent the request. */
  | {
      readonly kind: 'sending_before';
      readonly owner: OwnerToken;
      /**
       * Latest time at which the earlier owner can have sent the request, in Unix milliseconds, by that owner's clock.
       */
      readonly mayHaveSentUntilMs: number;
      /**
       * `true`: the earlier owner recorded the end of its send. `false`: its lease has ended, by this process's clock.
       */
      readonly isOver: boolean;
    }
  /** This process has the claim, and nothing was sent. */
  | { readonly kind: 'ours'; readonly owner: OwnerToken };

/**
 * Records which requests may have been sent to a vendor. A claim is written before the send, so it remains if the
 * process crashes. After another process has become the owner, the earlier owner can change nothing, except by `sent`.
 */
export interface SendingClaims {
  /** The claim is durable when this returns. */
  begin(key: string, leaseMs: number): Promise<SendClaimResult>;
  /**
   * Called by an owner that has taken over, before it sends: records that it may send until the end of its lease.
   * Returns false if another process has become the owner.
   */
  sendAgain(claim: SendingOwner): Promise<boolean>;
  /** Records that the vendor has the request. The record is final, and any process may write it, not only the owner. */
  sent(key: string, vendorId: string): Promise<void>;
  /**
   * `nothing_sent` removes the claim. `unknown` ends the lease, so that the next owner determines the outcome. Has no
   * effect for an owner that lost the claim.
   */
  release(claim: SendingOwner, what: 'nothing_sent' | 'unknown'): Promise<void>;
}
