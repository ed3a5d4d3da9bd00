import type { ActivityDraft } from '../../activity/domain/activity.ts';
import type { Mode, OperationId, PaymentId } from '../../kernel/ids.ts';
import type { LookUpSchedule } from '../../kernel/looks.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import type { Transition } from '../domain/transition.ts';
import type { ChargeToReturn, Hold, Inquiry, OpenOrder, PaymentStore } from './payment-store.ts';

/**
 * A callback without a matching payment. It is stored and retried for 24 hours. Nothing is posted unless its payment is
 * found.
 */
export interface OrphanedCallback {
  readonly operationId: OperationId;
  readonly event: CallbackEvent;
  readonly reason: 'charge_unknown' | 'payment_unknown' | 'other_account';
  readonly receivedAtMs: number;
  /**
   * True if the callback named no payment, and neither did the charge when it was last read. Another program then
   * probably made the charge.
   * @default false
   */
  readonly isForeign?: boolean;
}

/**
 * Time from the arrival of another program's callback until it expires, in days. After its retries, it is kept only as
 * a record: no operator has to act, and a program that shares the account can cause any number of such callbacks.
 */
export const FOREIGN_KEPT_DAYS = 30;

export function orphanSchedule({ operationId, receivedAtMs, isForeign }: OrphanedCallback): LookUpSchedule {
  return { kind: isForeign === true ? 'foreign' : 'orphan', name: operationId, sinceMs: receivedAtMs };
}

/** A processor's notice that a charge changed. Payonce then reads the charge from the processor. */
export interface CallbackEvent {
  readonly processorName: string;
  /** The mode of the credentials with which the callback was verified. */
  readonly mode: Mode;
  /** The processor's event id, the same for every delivery of one event. */
  readonly eventId: string;
  readonly type: string;
  readonly chargeId: string;
  /** The payment id in the charge's metadata, if the callback contains it. */
  readonly paymentId?: PaymentId;
}

export interface Effect {
  readonly record: EffectRecord;
  /** In order. Empty if there is nothing to append, for example because the chain already contains all facts. */
  readonly transitions: readonly Transition[];
  readonly orphan?: OrphanedCallback;
  /** An orphan to remove, because its payment was found. */
  readonly adopted?: OrphanedCallback;
  /** A given-up orphan to remove. If the orphan no longer exists, the whole effect is not written. */
  readonly dismissed?: OrphanedCallback;
  readonly toReturn?: readonly ChargeToReturn[];
  readonly inquiries?: readonly Inquiry[];
  readonly hold?: Hold;
  /** An order to reopen because of these transitions of its payment. */
  readonly reopened?: OpenOrder;
  readonly activity?: ActivityDraft;
}

/** In order of precedence. */
export type EffectOutcome =
  | { readonly kind: 'recorded' }
  | { readonly kind: 'recorded_before'; readonly record: EffectRecord }
  /**
   * A rival has taken the position in the payment's chain or in the activity log, has ended the approval, has erased
   * the approval's reason, or has removed the orphan to dismiss. The effect must be decided again.
   */
  | { readonly kind: 'transition_exists' };

/** Stores effects that need no claim. An effect and its record are written in one conditional transaction. */
export interface EffectStore extends Pick<PaymentStore, 'listTransitions'> {
  recordEffect(effect: Effect): Promise<EffectOutcome>;
  readEffect(operationId: OperationId): Promise<EffectRecord | undefined>;
  /**
   * Writes queue entries. An entry that already exists keeps its times. An inquiry that read the entry before this
   * write cannot delete the entry:
   *
   *   resolver  ── read the entry ── books: nothing is open ──────────────────── close ✗ seen again
   *   callback  ────────────────────────────────────── books: open ── seen again ─┘
   */
  queueOrNote(entries: Required<Pick<Effect, 'toReturn' | 'inquiries'>>): Promise<void>;
}
