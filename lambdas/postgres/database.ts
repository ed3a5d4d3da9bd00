/** A statement with numbered parameters (`$1`). */
export interface Statement {
  /**
   * The name of the prepared statement. Must be unique for each text. The server plans the statement once per
   * connection.
   */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  /**
   * Timeout of the response, in milliseconds. After a timeout, the connection is closed.
   * @default the limit of the connection
   */
  readonly timeoutMs?: number;
}

export type Row = Readonly<Record<string, unknown>>;

/**
 * Time limits of a transaction, in milliseconds: for waiting for a lock, and for pausing between two statements. A
 * function that freezes or is killed keeps its locks until the server ends its session, so each limit is shorter than
 * the time limit of a request.
 */
export const TRANSACTION_LIMITS = { lockMs: 4_000, idleMs: 5_000 } as const;

export interface Runner {
  /**
   * @throws UniqueViolation if a row already has the same values in the columns of a unique constraint; nothing was
   * applied
   * @throws RetryableError if nothing was applied and a retry may succeed
   * @throws AmbiguousError if the statement may have been applied
   * @throws TerminalError if a retry cannot succeed
   */
  run(statement: Statement): Promise<readonly Row[]>;
}

/** Each statement of `run` is a transaction of its own. */
export interface Database extends Runner {
  /**
   * Runs the statements of `work` in one transaction, and rolls back if `work` throws. `work` must await nothing but
   * its statements: a function that waits, freezes or ends inside a transaction keeps the locks of its rows.
   *
   * @throws AmbiguousError if the connection was lost during `COMMIT`, and the errors of `run`
   */
  transaction<T>(work: (transaction: Runner) => Promise<T>): Promise<T>;
}

/** The constraint shows the caller which condition failed. */
export class UniqueViolation extends Error {
  override readonly name = 'UniqueViolation';
  readonly constraint: string;
  /** Whether an earlier attempt, whose response was lost, may have written the row. */
  readonly mayBeOwn: boolean;

  constructor(constraint: string, options: { readonly cause?: unknown; readonly mayBeOwn?: boolean } = {}) {
    super(`a row violates the unique constraint ${constraint}`, options);
    this.constraint = constraint;
    this.mayBeOwn = options.mayBeOwn ?? false;
  }
}
