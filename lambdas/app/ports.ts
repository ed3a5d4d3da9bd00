/**
 * What the use cases need from the world, by role. Adapters throw faults only (`core/faults.ts`); everything expected is
 * an outcome.
 */
import type { Scope } from '../contract/api.ts';
import type { Answer } from '../core/answer.ts';
import type { Fact } from '../core/facts.ts';
import type { CompletedRecord, EffectRecord, IdempotencyRecord, OpenRecord } from '../core/idempotency.ts';
import type { Mode, OperationId, OwnerToken, PaymentId, TenantId } from '../core/ids.ts';
import type { CaptureMode, Failure, TransitionType } from '../core/payment.ts';
import type { Account, Posting } from '../core/posting.ts';
import type { ProcessorCharge } from '../core/processor-charge.ts';
import type { ProcessorAbilities } from '../core/settlement.ts';
import type { Transition } from '../core/transition.ts';

export interface Clock {
  /** Unix milliseconds; workers' clocks differ and may jump. */
  nowMs(): number;
  sleep(ms: number): Promise<void>;
}

export interface Entropy {
  /** A fresh owner token: never the same twice. */
  ownerToken(): OwnerToken;
  /** From 0 up to, not including, 1; for jitter only. */
  fraction(): number;
}

// ---------------------------------------------------------------------------------------------------------------- store

/** The merchant's own name for a payment, unique per tenant and mode among payments that have not failed. */
export interface ReferenceName {
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly reference: string;
}

export interface Claim {
  readonly record: OpenRecord;
  /** The pending transition; left out when it exists already and only its record was lost. */
  readonly pending?: Transition;
  readonly reference?: {
    readonly name: ReferenceName;
    /** The failed or canceled payment that holds the reference; the claim replaces it only if it still does. */
    readonly replaces?: PaymentId;
  };
}

/** In order of precedence: what comes first is reported when several hold. */
export type ClaimOutcome =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'record_exists'; readonly record: IdempotencyRecord }
  | { readonly kind: 'transition_exists' }
  | { readonly kind: 'reference_taken'; readonly paymentId: PaymentId };

export interface Takeover {
  /** The record as it was read: taken over only if nobody else did so since. */
  readonly stale: OpenRecord;
  readonly owner: OwnerToken;
  readonly leaseExpiresAtMs: number;
}

export type TakeoverOutcome =
  | { readonly kind: 'taken' }
  | { readonly kind: 'changed'; readonly record: IdempotencyRecord | undefined };

export interface Commit {
  readonly record: CompletedRecord;
  /** `open`: the claim is held by `record.owner`. `absent`: its record was deleted under the owner's feet. */
  readonly expects: 'open' | 'absent';
  /** The outcome; left out when the payment already stands where the answer says. */
  readonly transition?: Transition;
  /** The queue entries that go with the outcome. */
  readonly toReturn?: readonly ChargeToReturn[];
  /** Kept with an answer that says "not known yet": somebody must find out. */
  readonly inquiry?: Inquiry;
}

/** In order of precedence. */
export type CommitOutcome =
  | { readonly kind: 'committed' }
  /** Somebody else holds or completed the claim; undefined when no record is there. */
  | { readonly kind: 'fenced'; readonly record: IdempotencyRecord | undefined }
  | { readonly kind: 'transition_exists' };

export interface PaymentHistory {
  readonly first: Transition;
  readonly newest: Transition;
}

/** Idempotency records and transitions behind one port, because they are written in one transaction. */
export interface PaymentStore {
  /** Durable write one: record, pending transition and reference, all or nothing. */
  claim(claim: Claim): Promise<ClaimOutcome>;
  takeOver(takeover: Takeover): Promise<TakeoverOutcome>;
  /** Durable write two: stored answer and outcome, all or nothing, only while the owner still owns. */
  commit(commit: Commit): Promise<CommitOutcome>;
  /** Says that nothing was sent and lets the next attempt in at once; does nothing when the claim is no longer the owner's. */
  release(operationId: OperationId, owner: OwnerToken): Promise<void>;
  readRecord(operationId: OperationId): Promise<IdempotencyRecord | undefined>;
  /** Consistent: what was committed is there. */
  readPayment(paymentId: PaymentId): Promise<PaymentHistory | undefined>;
  /** Consistent, oldest first. */
  listTransitions(paymentId: PaymentId, page: TransitionPage): Promise<readonly Transition[]>;
}

/** What was said of a charge that no payment of ours is known for. Kept, tried again for a day, and never posted. */
export interface OrphanedCallback {
  /** Of the callback. */
  readonly operationId: OperationId;
  readonly event: CallbackEvent;
  readonly reason: 'charge_unknown' | 'payment_unknown' | 'other_account';
  readonly receivedAtMs: number;
}

/** A processor's message that something changed; what it is like now is read there. */
export interface CallbackEvent {
  readonly processorName: string;
  /** The processor's own: the same for every delivery of one event. */
  readonly eventId: string;
  /** In the processor's words. */
  readonly type: string;
  readonly chargeId: string;
  /** The payment that it names, if it names one. */
  readonly paymentId?: PaymentId;
}

/** The queue entry for a charge that must be sent back, written with the transition that found it. */
export interface ChargeToReturn {
  readonly paymentId: PaymentId;
  readonly chargeId: string;
  /** Taken money is refunded, held money is let go. */
  readonly by: 'refund' | 'void';
  /** Minor units. */
  readonly amountMinor: number;
  readonly currency: string;
  readonly foundAtMs: number;
}

/** The queue entry for an operation that was answered "not known yet". */
export interface Inquiry {
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  /** When the operation was claimed: nobody sends later than a quarter of an hour after it. */
  readonly claimedAtMs: number;
}

export interface Effect {
  readonly record: EffectRecord;
  /** Of one payment, in their order; none when all was known already. */
  readonly transitions: readonly Transition[];
  /** Kept with the record. */
  readonly orphan?: OrphanedCallback;
  /** Taken off the shelf with the record: it has found its payment. */
  readonly adopted?: OrphanedCallback;
  readonly toReturn?: readonly ChargeToReturn[];
}

/** In order of precedence. */
export type EffectOutcome =
  | { readonly kind: 'recorded' }
  | { readonly kind: 'recorded_before'; readonly record: EffectRecord }
  | { readonly kind: 'transition_exists' };

/** Effects that need no claim: dedup record and effect in one conditional transaction. */
export interface EffectStore extends Pick<PaymentStore, 'listTransitions'> {
  /** The one durable write. */
  recordEffect(effect: Effect): Promise<EffectOutcome>;
  readEffect(operationId: OperationId): Promise<EffectRecord | undefined>;
}

/** What waits to be found out or sent back; each is in a queue that was written with what made it necessary. */
export interface UnfinishedWork {
  /** Claims whose lease has ended, oldest first in each part of the index. */
  staleClaims(nowMs: number, limit: number): Promise<readonly OpenRecord[]>;
  inquiries(limit: number): Promise<readonly Inquiry[]>;
  closeInquiry(inquiry: Inquiry): Promise<void>;
  chargesToReturn(limit: number): Promise<readonly ChargeToReturn[]>;
  closeReturn(charge: ChargeToReturn): Promise<void>;
}

export interface OrphanShelf {
  /** Those that wait to be tried again, oldest first in each part of the shelf; at most `limit` in all. */
  waiting(limit: number): Promise<readonly OrphanedCallback[]>;
  /** Out of the way of those that wait, and kept for people to look at. */
  giveUp(orphan: OrphanedCallback): Promise<void>;
}

export interface TransitionPage {
  readonly afterSequence: number;
  readonly limit: number;
}

/** Completed records only, in this process, so that a warm replay costs no call. */
export interface ReplayCache {
  get(operationId: OperationId): CompletedRecord | undefined;
  put(record: CompletedRecord): void;
}

// ------------------------------------------------------------------------------------------------------------ processor

export interface ChargeOrder {
  /** The key at the processor: the same on every attempt, for ever. */
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly amountMinor: number;
  readonly currency: string;
  readonly source: string;
  readonly capture: CaptureMode;
}

export type ChargeOutcome =
  /** Accepted; a callback says how it went. */
  | { readonly kind: 'pending'; readonly chargeId: string }
  | { readonly kind: 'action_required'; readonly chargeId: string; readonly actionUrl: string }
  | { readonly kind: 'succeeded'; readonly chargeId: string; readonly feeMinor?: number }
  | { readonly kind: 'authorized'; readonly chargeId: string }
  /** The payer's bank said no (402). */
  | { readonly kind: 'declined'; readonly chargeId?: string; readonly failure: Failure }
  /** The processor understood and refused the request itself (400, 404, 422). */
  | { readonly kind: 'rejected'; readonly chargeId?: string; readonly failure: Failure };

/** What is asked of a charge that is there. */
export type ChargeChange =
  /** Takes what was set aside, or less of it; the rest is let go. */
  | { readonly kind: 'capture'; readonly amountMinor: number }
  | { readonly kind: 'void' }
  | { readonly kind: 'refund'; readonly amountMinor: number };

export interface ChangeOrder {
  /** The key at the processor, and the refund's name in its metadata: the same on every attempt, for ever. */
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly chargeId: string;
  readonly currency: string;
  readonly change: ChargeChange;
}

export type ChangeOutcome =
  /** What became known by it; a refund goes by the operation that made it. */
  | { readonly kind: 'applied'; readonly facts: readonly Fact[] }
  /** The processor understood and refused: nothing has changed (400, 402, 404, 422). */
  | { readonly kind: 'refused'; readonly failure: Failure };

export interface CallLimit {
  readonly timeoutMs: number;
}

export interface ChangeAbilities {
  /** Whether less than what was set aside may be captured. */
  readonly partialCapture: boolean;
  /** Whether less than what was captured may be given back, and more than once. */
  readonly partialRefund: boolean;
}

export interface Processor {
  readonly name: string;
  readonly account: string;
  readonly endpoint: string;
  readonly apiVersion: string;
  /** What it can do, as data: the engine asks here, and never by name. */
  readonly abilities: ProcessorAbilities & ChangeAbilities;
  /**
   * A look at the circuit breaker before anything is claimed; costs nothing while it is closed, and one read, never a
   * charge, when it is half open.
   *
   * @throws RetryableError while the processor must not be called
   */
  ready(): Promise<void>;
  /**
   * @throws RetryableError when nothing was applied (401, 403, 429, unreachable, open breaker)
   * @throws AmbiguousError when it may have been (timeout, 5xx, 409, unreadable answer)
   */
  charge(order: ChargeOrder, limit: CallLimit): Promise<ChargeOutcome>;
  /** Looks a charge up by our key. @throws RetryableError or AmbiguousError when it could not be looked up */
  findCharge(order: ChargeOrder, limit: CallLimit): Promise<ChargeOutcome | { readonly kind: 'absent' }>;
  /** Captures, lets go or gives back. @throws as `charge` */
  change(order: ChangeOrder, limit: CallLimit): Promise<ChangeOutcome>;
  /** Whether that change is there, whoever asked for it. @throws as `findCharge` */
  findChange(order: ChangeOrder, limit: CallLimit): Promise<ChangeOutcome | { readonly kind: 'absent' }>;
}

export interface ChargeWindow {
  /** Unix seconds, inclusive. */
  readonly fromSeconds: number;
  /** Unix seconds, exclusive. */
  readonly untilSeconds: number;
  /** Where the page before ended. */
  readonly cursor?: string;
}

/** The processor's own list: what really happened. All reads are strong: what was answered is there. */
export interface ProcessorBooks {
  readonly name: string;
  readonly account: string;
  /** @throws RetryableError or AmbiguousError when it could not be read */
  readCharge(chargeId: string, limit: CallLimit): Promise<ProcessorCharge | undefined>;
  /** Every charge that carries the payment's name. @throws as `readCharge` */
  chargesOfPayment(paymentId: PaymentId, limit: CallLimit): Promise<readonly ProcessorCharge[]>;
  /** By the time of their making, oldest first. @throws as `readCharge` */
  listCharges(
    window: ChargeWindow,
    limit: CallLimit,
  ): Promise<{ readonly charges: readonly ProcessorCharge[]; readonly next?: string }>;
}

// ------------------------------------------------------------------------------------------------------- once-only runs

/** What a claim came to: ours to do, already done, or not ours. */
export type ClaimStep<Outcome> =
  | { readonly kind: 'claimed' }
  /** A stored answer is replayed. */
  | { readonly kind: 'completed'; readonly outcome: Outcome; readonly answer: Answer }
  | { readonly kind: 'refused'; readonly outcome: Outcome };

/** One operation, in the order in which it is run. */
export interface OperationSteps<Work, Outcome> {
  claim(): Promise<ClaimStep<Outcome>>;
  execute(): Promise<Work>;
  commit(work: Work): Promise<Outcome>;
  /** After `execute` threw; must not throw itself. */
  release(): Promise<void>;
}

/** An effect of our own, in the order in which it is run: no claim, because its record and the effect commit together. */
export interface EffectSteps<Work, Outcome> {
  /** What an earlier run came to. */
  find(): Promise<Outcome | undefined>;
  prepare(): Promise<Work>;
  commit(work: Work): Promise<Outcome>;
}

/** Runs one operation so that it takes effect once. One run, one instance of everything: nothing is shared between two keys. */
export interface OperationRunner {
  run<Work, Outcome>(operationId: OperationId, steps: OperationSteps<Work, Outcome>): Promise<Outcome>;
  /** Commit-only. */
  record<Work, Outcome>(operationId: OperationId, steps: EffectSteps<Work, Outcome>): Promise<Outcome>;
}

// --------------------------------------------------------------------------------------------------------------- ledger

/** One tenant's books in one mode. */
export type BooksOwner = Pick<ApiKeyRecord, 'tenantId' | 'mode'>;

/** Where an entry stands: by time, then payment, sequence and leg. */
export interface EntryPosition {
  readonly occurredAtMs: number;
  readonly paymentId: PaymentId;
  readonly sequence: number;
  /** The posting's place in its transition, from 0. */
  readonly leg: number;
}

export interface LedgerEntry extends EntryPosition, Posting {
  readonly type: TransitionType;
}

export interface EntryQuery extends BooksOwner {
  readonly paymentId?: PaymentId;
  readonly account?: Account;
  /** Unix milliseconds, inclusive. */
  readonly fromMs?: number;
  /** Unix milliseconds, exclusive. */
  readonly untilMs?: number;
  /** Only what stands after it. */
  readonly after?: EntryPosition;
  readonly limit: number;
}

export interface Balance {
  readonly account: Account;
  readonly currency: string;
  /** Minor units. */
  readonly debitMinor: number;
  /** Minor units. */
  readonly creditMinor: number;
}

/** The postings of the Ledger, added up or one by one; a balance is never anything but the sum of its entries. */
export interface LedgerReader {
  /** In the order of their positions. @throws RetryableError when they cannot be read now, or are too many to be read */
  entries(query: EntryQuery): Promise<readonly LedgerEntry[]>;
  /** @throws as `entries` */
  balances(owner: BooksOwner): Promise<readonly Balance[]>;
}

// -------------------------------------------------------------------------------------------------------------- tenants

export interface ApiKeyRecord {
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly scopes: readonly Scope[];
  readonly revokedAtMs?: number;
}

export interface ApiKeyRegistry {
  /** @param keyHash lower-case hexadecimal SHA-256 of the presented key */
  findByHash(keyHash: string): Promise<ApiKeyRecord | undefined>;
}
