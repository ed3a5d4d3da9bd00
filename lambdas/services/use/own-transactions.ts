import type { Answer } from '../../kernel/answer.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId, OwnerToken } from '../../kernel/ids.ts';

/** The second argument of a handler: the transaction, in which the engine also writes the operation's record. */
export interface TransactionEffect<Tx> {
  /**
   * The connection on which the transaction runs. The engine ends the transaction: the connection refuses `BEGIN`,
   * `COMMIT` and `ROLLBACK`, and every statement after the handler has returned.
   */
  readonly tx: Tx;
  /**
   * Id of the operation, the same for every attempt. Use it as the idempotency key for later calls to other systems;
   * the handler itself must make none.
   */
  readonly operationId: string;
}

export interface OwnRecord {
  readonly operationId: OperationId;
  /** The scope of the route, or the name of the consumer. */
  readonly scope: string;
  /** The idempotency key; for a consumer, the business key or the id of the event. */
  readonly key: string;
  /** Absent for an event. */
  readonly fingerprint?: Fingerprint;
  /** Token of a call, the same in all its attempts. Identifies the call's record after a lost response to `COMMIT`. */
  readonly owner: OwnerToken;
  readonly recordedAtMs: number;
  /** Absent for a business key, whose record never expires. */
  readonly expiresAtSeconds?: number;
}

export interface StoredRequest {
  readonly owner: OwnerToken;
  readonly fingerprint: Fingerprint;
  readonly answer: Answer;
  readonly expiresAtSeconds: number;
}

/** A transaction of the team's database, in which the engine writes the record and the handler its own rows. */
export interface OwnTransaction<Tx> {
  readonly tx: Tx;
  /**
   * Waits for a transaction that is writing the record of the same operation.
   *
   * @returns false when the operation has a record
   * @throws StillInProgress when the other transaction has not ended in time
   */
  claim(record: OwnRecord): Promise<boolean>;
  complete(record: OwnRecord, answer: Answer): Promise<void>;
}

export interface OwnTransactions<Tx> {
  /**
   * Rolls back when the work throws. After a conflict or a lost connection, runs the work again in a new transaction.
   *
   * @throws the errors from the work; RetryableError when nothing was committed; AmbiguousError when it is not known
   * whether the transaction was committed
   */
  run<T>(work: (transaction: OwnTransaction<Tx>) => Promise<T>): Promise<T>;
  readRequest(operationId: OperationId): Promise<StoredRequest | undefined>;
  /**
   * Deletes records and local vendor keys that expired before a time.
   *
   * @param atMost maximum number of deleted rows of each kind
   * @returns the number of deleted rows
   */
  deleteExpired(beforeMs: number, atMost: number): Promise<number>;
}

/** Thrown when a duplicate has waited for the first request, which has not ended in time. Nothing was written. */
export class StillInProgress extends Error {
  override readonly name = 'StillInProgress';

  constructor() {
    super('the first transaction of this operation has not ended');
  }
}
