import { types } from 'node:util';
import { AmbiguousError, isFault, RetryableError, TerminalError } from '../kernel/faults.ts';
import { UniqueViolation } from './database.ts';
import type { Engine } from './dsql.ts';

/** The codes of database faults, by which callers decide whether and when to retry. */
export const DatabaseFault = {
  /** A concurrent transaction won. The same transaction can be retried immediately. */
  conflict: 'store_conflict',
  /** A row is locked, or a limit of the server is reached. The call has already waited; the caller retries later. */
  busy: 'store_busy',
  /** The connection failed. A retry opens another connection. */
  unavailable: 'store_unavailable',
  ambiguous: 'store_ambiguous',
  refused: 'store_refused',
  /** The server's certificate cannot be verified, or the server has none. */
  untrusted: 'store_untrusted',
} as const;

const RETRY_AFTER_SECONDS = { conflict: 1, busy: 5, unavailable: 2 } as const;

/**
 * SQLSTATEs after which nothing was applied and a retry may succeed (PostgreSQL documentation, appendix A). The server
 * reports them before it commits, also in response to `COMMIT`. If an administrator ends a session during the commit
 * itself, the server sends a warning instead of an error, and the connection is lost.
 */
const NOT_APPLIED: readonly (readonly [states: RegExp, kind: keyof typeof RETRY_AFTER_SECONDS])[] = [
  // serialization_failure, deadlock_detected
  [/^40(?:001|P01)$/, 'conflict'],
  // lock_not_available; query_canceled by statement_timeout; insufficient resources, for example too_many_connections
  [/^(?:55P03|57014|53...)$/, 'busy'],
  // The server is shutting down, has crashed, is starting or is a former primary; or an administrator or a time limit
  // ended the session.
  [/^(?:57P0.|25P0[34]|25006)$/, 'unavailable'],
];
/**
 * SQLSTATEs of an unknown outcome: connection exceptions (for example between a pooler and the server), and
 * statement_completion_unknown.
 */
const UNKNOWN_OUTCOME = /^(?:08...|40003)$/;
/**
 * SQLSTATE of "server unavailable" on Aurora DSQL: the commit may have succeeded (user guide, "Troubleshooting"). Other
 * servers use this state for internal errors.
 */
const DSQL_UNAVAILABLE = 'XX000';
const UNIQUE_VIOLATION = '23505';
/** invalid_authorization_specification, invalid_password */
const LOGIN_REFUSED = /^28/;
/** Codes of failed TLS handshakes (Node.js, "X509 certificate error codes" and `ERR_TLS_…`). */
const TLS_REFUSED = /^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH)/;
/** Messages of `pg` for a server without TLS. */
const TLS_MISSING = /SSL connection/;

/** The progress of a transaction when its connection failed. */
export type Progress =
  /** The server cannot have committed: nothing was sent, or `COMMIT` was not sent yet. */
  | 'uncommitted'
  /** `COMMIT` was sent, or a statement that is a transaction by itself. */
  | 'committing';

/** Converts an error from the driver to an error that `Runner.run` throws. */
export function faultOf(error: unknown, progress: Progress, engine: Engine = 'postgres'): Error {
  const state = sqlState(error);
  if (state === undefined || isConnectionLost(state, engine)) return connectionLost(error, progress);
  if (state === UNIQUE_VIOLATION) return new UniqueViolation(constraintOf(error), { cause: error });
  return faultOfState(state, error);
}

/** No statement was sent. */
export function faultOfConnecting(error: unknown, engine: Engine = 'postgres'): Error {
  const state = sqlState(error);
  if (state === undefined && isUntrusted(error))
    return new TerminalError(DatabaseFault.untrusted, 'the identity of the database server cannot be verified', {
      cause: error,
    });
  // Treat a refused login as transient: during a rotation, the secret and the server can have different passwords.
  if (state === undefined || isConnectionLost(state, engine) || LOGIN_REFUSED.test(state))
    return connectionLost(error, 'uncommitted');
  return faultOfState(state, error);
}

function isConnectionLost(state: string, engine: Engine): boolean {
  return UNKNOWN_OUTCOME.test(state) || (engine === 'dsql' && state === DSQL_UNAVAILABLE);
}

export function isLoginRefused(error: unknown): boolean {
  return LOGIN_REFUSED.test(sqlState(error) ?? '');
}

export function sqlState(error: unknown): string | undefined {
  if (isServerError(error)) return error.code;
  return error instanceof Error && error.cause !== undefined ? sqlState(error.cause) : undefined;
}

interface ServerError extends Error {
  readonly code: string;
  readonly constraint?: string;
}

/**
 * Recognizes an error from the server by its fields. `instanceof` would fail if an application has its own copy of the
 * driver.
 */
function isServerError(error: unknown): error is ServerError {
  return error instanceof Error && 'severity' in error && 'code' in error && typeof error.code === 'string';
}

/** Reports whether a connection can run further statements after a fault. */
export function isUsableAfter(fault: Error): boolean {
  return !isFault(fault) || (fault.code !== DatabaseFault.unavailable && fault.code !== DatabaseFault.ambiguous);
}

function faultOfState(state: string, cause: unknown): Error {
  const kind = NOT_APPLIED.find(([states]) => states.test(state))?.[1];
  if (kind === undefined)
    return new TerminalError(DatabaseFault.refused, `the database refused a statement (SQLSTATE ${state})`, { cause });
  return new RetryableError(
    DatabaseFault[kind],
    `the database cannot run the statement now (SQLSTATE ${state}); nothing was written`,
    { cause, retryAfterSeconds: RETRY_AFTER_SECONDS[kind] },
  );
}

function connectionLost(cause: unknown, progress: Progress): Error {
  const options = { cause, retryAfterSeconds: RETRY_AFTER_SECONDS.unavailable };
  return progress === 'committing'
    ? new AmbiguousError(DatabaseFault.ambiguous, 'it is not known whether the database committed', options)
    : new RetryableError(DatabaseFault.unavailable, 'the database is unavailable; nothing was written', options);
}

function isUntrusted(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return TLS_REFUSED.test(code) || TLS_MISSING.test(error.message);
}

function constraintOf(error: unknown): string {
  return (isServerError(error) ? error.constraint : undefined) ?? 'unknown';
}
