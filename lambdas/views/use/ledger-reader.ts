import type { PaymentId } from '../../kernel/ids.ts';
import type { TransitionType } from '../../payments/domain/payment.ts';
import type { Account, Posting } from '../../payments/domain/posting.ts';
import type { ApiKeyRecord } from '../../tenants/api-key-registry.ts';

/** Owner of a ledger: one tenant in one mode. */
export type BooksOwner = Pick<ApiKeyRecord, 'tenantId' | 'mode'>;

/** Position of an entry in the ledger, ordered by time, payment, sequence and leg. */
export interface EntryPosition {
  readonly occurredAtMs: number;
  readonly paymentId: PaymentId;
  readonly sequence: number;
  /** Index of the posting in its transition, from 0. */
  readonly leg: number;
}

/** Compares two positions by time, then payment, sequence and leg. */
export function byPosition(left: EntryPosition, right: EntryPosition): number {
  if (left.occurredAtMs !== right.occurredAtMs) return left.occurredAtMs - right.occurredAtMs;
  if (left.paymentId !== right.paymentId) return left.paymentId < right.paymentId ? -1 : 1;
  return left.sequence - right.sequence || left.leg - right.leg;
}

export interface LedgerEntry extends EntryPosition, Posting {
  readonly type: TransitionType;
}

export interface EntryQuery extends BooksOwner {
  readonly account?: Account;
  readonly currency?: string;
  /** Start of the time range (inclusive), in Unix milliseconds. */
  readonly fromMs?: number;
  /** End of the time range (exclusive), in Unix milliseconds. */
  readonly untilMs?: number;
  /** Position after which the page begins. */
  readonly after?: EntryPosition;
  readonly limit: number;
}

export interface BalanceQuery extends BooksOwner {
  /** Time before which entries are included, in Unix milliseconds. @default all entries are included */
  readonly untilMs?: number;
}

export interface Balance {
  readonly account: Account;
  readonly currency: string;
  /** Minor units. */
  readonly debitMinor: number;
  /** Minor units. */
  readonly creditMinor: number;
}

/** Reads entries and balances from the ledger. A balance is the sum of its entries. */
export interface LedgerReader {
  /**
   * Lists entries in the order of their positions.
   *
   * @throws RetryableError when entries cannot be read now
   * @throws TerminalError `currency_too_rare` when the range has too many entries in other currencies between those in
   * `currency`
   */
  entries(query: EntryQuery): Promise<readonly LedgerEntry[]>;
  /**
   * Returns the balances of an owner.
   * @throws RetryableError when balances cannot be read now
   * @throws TerminalError `balance_too_large` when a sum exceeds the largest safe integer
   */
  balances(query: BalanceQuery): Promise<readonly Balance[]>;
}
