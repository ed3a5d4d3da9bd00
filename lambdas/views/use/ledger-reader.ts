import type { PaymentId } from '../../kernel/ids.ts';
import type { TransitionType } from '../../payments/domain/payment.ts';
import type { Account, Posting } from '../../payments/domain/posting.ts';
import type { ApiKeyRecord } from '../../tenants/api-key-registry.ts';

export type BooksOwner = Pick<ApiKeyRecord, 'tenantId' | 'mode'>;

/** Position of an entry in the ledger, ordered by time, payment, sequence and leg. */
export interface EntryPosition {
  readonly occurredAtMs: number;
  readonly paymentId: PaymentId;
  readonly sequence: number;
  /** Index of the posting in its transition, from 0. */
  readonly leg: number;
}

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
  /** Inclusive. */
  readonly fromMs?: number;
  /** Exclusive. */
  readonly untilMs?: number;
  readonly after?: EntryPosition;
  readonly limit: number;
}

export interface BalanceQuery extends BooksOwner {
  /** Exclusive. @default all entries are included */
  readonly untilMs?: number;
}

export interface Balance {
  readonly account: Account;
  readonly currency: string;
  readonly debitMinor: number;
  readonly creditMinor: number;
}

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
   * @throws RetryableError when balances cannot be read now
   * @throws TerminalError `balance_too_large` when a sum exceeds the largest safe integer
   */
  balances(query: BalanceQuery): Promise<readonly Balance[]>;
}
