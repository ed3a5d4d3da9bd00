import type { OwnerToken } from '../../kernel/ids.ts';

/** Who may send now, and is the only one. */
export interface SendingOwner {
  readonly key: string;
  readonly owner: OwnerToken;
}

/** In order of precedence. */
export type SendingClaim =
  | { readonly kind: 'sent'; readonly vendorId: string }
  /** Another's lease still runs. */
  | { readonly kind: 'sending'; readonly leaseExpiresAtMs: number }
  /** Taken over: ours now, but an owner before us may have sent. */
  | {
      readonly kind: 'sending_before';
      readonly owner: OwnerToken;
      /** At the latest, by the clock of that owner. Unix milliseconds. */
      readonly mayHaveSentUntilMs: number;
      /** That owner has said itself that its send is over; otherwise its time is up, by our clock. */
      readonly isOver: boolean;
    }
  /** Nobody has sent. */
  | { readonly kind: 'ours'; readonly owner: OwnerToken };

/**
 * Our own memory of what was sent to a vendor that has none. Written before the send, so that a process that dies leaves
 * a trace; each write is conditioned on the owner.
 */
export interface SendingClaims {
  /** Durable when it returns. */
  begin(key: string, leaseMs: number): Promise<SendingClaim>;
  /** An owner that took over is about to send: until the end of its lease it may have. False when it is the owner no more. */
  sendAgain(claim: SendingOwner): Promise<boolean>;
  /** Final, and true whoever says so: the vendor has it. */
  sent(key: string, vendorId: string): Promise<void>;
  /** `nothing_sent`: as if never begun. `unknown`: whoever comes next finds out. Does nothing for an owner that was taken over. */
  release(claim: SendingOwner, what: 'nothing_sent' | 'unknown'): Promise<void>;
}
