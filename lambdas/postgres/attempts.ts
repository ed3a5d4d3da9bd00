import { AmbiguousError, isFault, NotBegunError, RetryableError } from '../kernel/faults.ts';
import { exhausted, MAX_ATTEMPTS, type Pacing, pause, timeLeftMs } from '../kernel/platform/attempts.ts';
import { type Database, type Row, type Runner, type Statement, UniqueViolation } from './database.ts';
import { DatabaseFault } from './faults.ts';

export interface PostgresTools {
  readonly database: Database;
  readonly pacing: Pacing;
  /**
   * Called after each write of transitions, except claims, with the id of the payment or order, and the time at which
   * the write began, in Unix milliseconds. Never rejects.
   * @default nothing is called
   */
  readonly committed?: ((chainId: string, beganMs: number) => Promise<unknown>) | undefined;
}

/** Tools that run each statement in its own transaction. */
export type StatementTools = Pick<PostgresTools, 'pacing'> & { readonly database: Runner };

/**
 * Runs a statement that writes, and repeats it after a fault. The statement must be conditional, so that a repetition
 * has no second effect if the first attempt was applied and its response was lost.
 *
 * @throws UniqueViolation if a row already has the same values in the columns of a unique constraint
 * @throws RetryableError when no attempt was applied, AmbiguousError when an attempt may have been applied,
 * TerminalError when no attempt can succeed
 */
export async function writeRows({ database, pacing }: StatementTools, statement: Statement): Promise<readonly Row[]> {
  return repeated(pacing, (timeoutMs) =>
    database.run(timeoutMs === undefined ? statement : { ...statement, timeoutMs }),
  );
}

/**
 * Runs an attempt, and repeats it after a fault, as {@link writeRows} does for a statement.
 *
 * @param attempt receives the remaining time in milliseconds, if the time is limited
 * @throws the faults of {@link writeRows}, and every other error of an attempt unchanged
 */
export async function repeated<T>(pacing: Pacing, attempt: (timeoutMs?: number) => Promise<T>): Promise<T> {
  let mayBeApplied = false;
  let lastError: unknown;
  for (let number = 0; number < MAX_ATTEMPTS; number += 1) {
    if (number > 0) await pause(pacing, number);
    const timeoutMs = timeLeftMs(pacing);
    if (timeoutMs <= 0) break;
    try {
      return await (Number.isFinite(timeoutMs) ? attempt(timeoutMs) : attempt());
    } catch (error) {
      lastError = error;
      if (error instanceof AmbiguousError) mayBeApplied = true;
      else if (mayBeApplied && error instanceof UniqueViolation)
        throw new UniqueViolation(error.constraint, { cause: error, mayBeOwn: true });
      else if (mayBeApplied && isFault(error) && !isWorthRepeating(error)) throw exhausted(error, true);
      else if (!isWorthRepeating(error)) throw error;
    }
  }
  throw exhausted(lastError, mayBeApplied);
}

/** @throws RetryableError when the database cannot be read now, TerminalError when a retry cannot succeed */
export async function readRows(tools: StatementTools, statement: Statement): Promise<readonly Row[]> {
  try {
    return await writeRows(tools, statement);
  } catch (error) {
    throw error instanceof AmbiguousError ? exhausted(error, false) : error;
  }
}

/**
 * A statement that failed with `busy` is not repeated, because it has already waited at the server for as long as the
 * limits allow. A call that was refused before it began (NotBegunError) is not repeated either.
 */
function isWorthRepeating(error: unknown): boolean {
  if (error instanceof NotBegunError) return false;
  return error instanceof AmbiguousError || (error instanceof RetryableError && error.code !== DatabaseFault.busy);
}

/**
 * If the outcome is not `applied`, the last attempt wrote nothing, but an earlier attempt whose response was lost may
 * have been applied: after `taken` if `mayBeOwn` is true, and after `refused`.
 */
export type ConditionalWrite =
  | { readonly kind: 'applied' }
  /** The condition of the statement does not hold, so it returned no row. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'taken'; readonly constraint: string; readonly mayBeOwn: boolean };

/** Runs a statement that returns a row if its condition holds. @throws the faults of {@link writeRows} */
export async function writeIf(tools: PostgresTools, statement: Statement): Promise<ConditionalWrite> {
  try {
    const rows = await writeRows(tools, statement);
    return { kind: rows.length > 0 ? 'applied' : 'refused' };
  } catch (error) {
    if (error instanceof UniqueViolation) {
      const { constraint, mayBeOwn } = error;
      return { kind: 'taken', constraint, mayBeOwn };
    }
    throw error;
  }
}
