import type { Credit, Reservation } from '../lambdas/orders/parties/shop-api.ts';
import type {
  Charge,
  Dispute,
  Refund,
  SandboxEvent,
  SwitchedFailures,
} from '../lambdas/processors/sandbox/sandbox-api.ts';
import type { MailBooks } from './mail-books.ts';

/** Stripe recognizes keys for at least 24 hours. */
export const KEY_RETENTION_MS = 24 * 60 * 60 * 1_000;

export const PAGE_SIZE = 100;

export interface KeyedRequest {
  readonly key: string;
  readonly fingerprint: string;
}

export interface KeyClaim {
  readonly chargeId: string;
  readonly fingerprint: string;
}

export interface BookedCharge {
  readonly charge: Charge;
  /** A change is conditional on the version that was read. */
  readonly version: number;
}

export interface BookedOperation extends KeyedRequest {
  readonly body: string;
  readonly appliedAtMs: number;
}

interface BookedChange {
  readonly charge: Charge;
  readonly events: readonly SandboxEvent[];
  readonly operation?: BookedOperation | undefined;
}

interface BookedEvent {
  readonly event: SandboxEvent;
  readonly attempts: number;
  readonly delivered: boolean;
}

/** `created` is in Unix seconds. */
export type Place = Pick<Charge, 'created' | 'id'>;

/** A period in Unix seconds. `from` is inclusive, and `to` is exclusive. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

export interface ChargePage {
  /** At most {@link PAGE_SIZE} charges. */
  readonly charges: readonly Charge[];
  readonly more: boolean;
}

export interface ChargeBooks {
  /** Undefined if there is no claim or it has expired. */
  claimOf(key: string, nowMs: number): Promise<KeyClaim | undefined>;
  /**
   * Writes a new charge with its event. With a key, writes only if the key has no unexpired claim. The loser of two
   * concurrent writes gets 'key_taken'.
   */
  add(
    charge: Charge,
    event: SandboxEvent,
    request: KeyedRequest | undefined,
    nowMs: number,
  ): Promise<'added' | 'key_taken'>;
  charge(id: string): Promise<BookedCharge | undefined>;
  chargesOfKey(key: string): Promise<readonly Charge[]>;
  chargesOfPayment(paymentId: string): Promise<readonly Charge[]>;
  /** Lists by creation time, then by id. `after` must be in the period. */
  chargesOfPeriod(period: Period, after: Place | undefined): Promise<ChargePage>;
  /** The part is a refund or dispute. */
  chargeOfPart(id: string): Promise<string | undefined>;
}

export interface ChangeBooks {
  /** After the key's retention, may still return it. */
  operation(chargeId: string, key: string): Promise<BookedOperation | undefined>;
  /**
   * Writes the change, its events and its operation in one transaction. Returns 'conflict' and writes nothing if the
   * charge no longer has the version in `seen`, or if an unexpired operation with the same key exists.
   */
  change(seen: BookedCharge, change: BookedChange): Promise<'changed' | 'conflict'>;
  event(id: string): Promise<BookedEvent | undefined>;
  eventsOfCharge(chargeId: string): Promise<readonly BookedEvent[]>;
  /** An event stays delivered after its first 2xx response. */
  noteDelivery(eventId: string, sent: number, taken: boolean): Promise<void>;
}

/** `charges` are new charges; `changes` are captures, voids and refunds. */
export type TroubledCalls = 'charges' | 'changes';

export interface FaultInjection {
  /** The result includes this request. */
  countSend(key: string, nowMs: number): Promise<number>;
  switchFailures(calls: TroubledCalls, failures: SwitchedFailures): Promise<void>;
  switchedFailures(calls: TroubledCalls): Promise<SwitchedFailures>;
  takeSwitchedFailure(calls: TroubledCalls): Promise<string | undefined>;
}

export interface EntryClaim {
  readonly entryId: string;
  readonly fingerprint: string;
}

/** Keys never expire. */
export interface EntryBooks<E extends Reservation | Credit> {
  claimOf(key: string): Promise<EntryClaim | undefined>;
  /**
   * Writes an entry. With a key, writes only if the key has no claim. The loser of two concurrent writes gets
   * 'key_taken'.
   */
  add(entry: E, request: KeyedRequest | undefined): Promise<'added' | 'key_taken'>;
  entry(id: string): Promise<E | undefined>;
  /** The last write wins, so concurrent writers must write equal entries. */
  replace(entry: E): Promise<void>;
  entriesOfOrder(order: string): Promise<readonly E[]>;
}

export interface ShopBooks {
  readonly stock: EntryBooks<Reservation>;
  readonly credits: EntryBooks<Credit>;
}

/**
 * Stores all data of the sandbox. All reads are strongly consistent, so that a test can count the charges immediately
 * after a request. Times are Unix milliseconds unless stated otherwise.
 */
export interface Books extends ChargeBooks, ChangeBooks, FaultInjection, ShopBooks, MailBooks {}

export const NO_FAILURES: SwitchedFailures = { count: 0, source: 'tok_ok' };

export function newParts(before: Charge, after: Charge): readonly (Refund | Dispute)[] {
  const known = new Set([...before.refunds, ...before.disputes].map(({ id }) => id));
  return [...after.refunds, ...after.disputes].filter(({ id }) => !known.has(id));
}

/** Ids are compared by code units, as DynamoDB compares keys. */
export function byPlace(a: Place, b: Place): number {
  return a.created - b.created || (a.id < b.id ? -1 : Number(a.id > b.id));
}
