import { expect, test } from '@jest/globals';
import { DatabaseError } from 'pg';
import { UniqueViolation } from '../../lambdas/postgres/database.ts';
import { faultOf, faultOfConnecting, isUsableAfter, sqlState } from '../../lambdas/postgres/faults.ts';

function errorOf(code: string, details: object = {}): DatabaseError {
  return Object.assign(new DatabaseError(`the server's message`, 0, 'error'), { severity: 'ERROR', code, ...details });
}

const UNAVAILABLE = ['RetryableError', 'store_unavailable', 2, false] as const;
const BUSY = ['RetryableError', 'store_busy', 5, true] as const;
const CONFLICT = ['RetryableError', 'store_conflict', 1, true] as const;
const AMBIGUOUS = ['AmbiguousError', 'store_ambiguous', 2, false] as const;
const REFUSED = ['TerminalError', 'store_refused', undefined, true] as const;
const lost = new Error('Connection terminated unexpectedly');

test.each([
  { cause: 'serialization_failure', error: errorOf('40001'), fault: CONFLICT },
  { cause: 'deadlock_detected', error: errorOf('40P01'), fault: CONFLICT },
  { cause: 'lock_not_available', error: errorOf('55P03'), fault: BUSY },
  { cause: 'query_canceled', error: errorOf('57014'), fault: BUSY },
  { cause: 'disk_full', error: errorOf('53100'), fault: BUSY },
  { cause: 'too_many_connections', error: errorOf('53300'), fault: BUSY },
  { cause: 'admin_shutdown', error: errorOf('57P01'), fault: UNAVAILABLE },
  { cause: 'crash_shutdown', error: errorOf('57P02'), fault: UNAVAILABLE },
  { cause: 'cannot_connect_now', error: errorOf('57P03'), fault: UNAVAILABLE },
  { cause: 'idle_session_timeout', error: errorOf('57P05'), fault: UNAVAILABLE },
  { cause: 'idle_in_transaction_session_timeout', error: errorOf('25P03'), fault: UNAVAILABLE },
  { cause: 'transaction_timeout', error: errorOf('25P04'), fault: UNAVAILABLE },
  { cause: 'read_only_sql_transaction', error: errorOf('25006'), fault: UNAVAILABLE },
  { cause: 'connection_failure', error: errorOf('08006'), fault: AMBIGUOUS },
  { cause: "a pooler's protocol_violation", error: errorOf('08P01'), fault: AMBIGUOUS },
  { cause: 'a lost connection', error: lost, fault: AMBIGUOUS },
  { cause: 'statement_completion_unknown', error: errorOf('40003'), fault: AMBIGUOUS },
  { cause: 'check_violation', error: errorOf('23514'), fault: REFUSED },
  { cause: 'syntax_error', error: errorOf('42601'), fault: REFUSED },
  { cause: 'insufficient_privilege', error: errorOf('42501'), fault: REFUSED },
  { cause: 'in_failed_sql_transaction', error: errorOf('25P02'), fault: REFUSED },
  { cause: 'internal_error', error: errorOf('XX000'), fault: REFUSED },
])('the error $cause during a commit is classified as $fault', ({ error, fault }) => {
  const found = faultOf(error, 'committing');
  const [name, code, retryAfterSeconds, isUsable] = fault;
  expect(found).toMatchObject({ name, code, retryAfterSeconds, cause: error });
  expect(isUsableAfter(found)).toBe(isUsable);
  // The server's message can quote values of rows.
  expect(found.message).not.toContain(error.message);
});

test.each([{ error: lost }, { error: errorOf('08006') }, { error: errorOf('40003') }])(
  'nothing was applied if the connection is lost before COMMIT: $error.code',
  ({ error }) =>
    expect(faultOf(error, 'uncommitted')).toMatchObject({ name: 'RetryableError', code: 'store_unavailable' }),
);

test.each([
  { progress: 'committing', name: 'AmbiguousError' },
  { progress: 'uncommitted', name: 'RetryableError' },
] as const)(
  'an internal error of Aurora DSQL is reported as $name if the transaction is $progress',
  ({ progress, name }) => {
    const found = faultOf(errorOf('XX000'), progress, 'dsql');
    expect(found).toMatchObject({ name });
    expect(faultOf(errorOf('40001'), progress, 'dsql')).toMatchObject({ code: 'store_conflict' });
  },
);

test('a unique violation names its constraint', () => {
  const violation = faultOf(errorOf('23505', { constraint: 'reference_pkey' }), 'committing');
  expect(violation).toBeInstanceOf(UniqueViolation);
  expect(violation).toMatchObject({ constraint: 'reference_pkey' });
  expect(isUsableAfter(violation)).toBe(true);
  expect(sqlState(violation)).toBe('23505');
});

test.each([
  { cause: 'too_many_connections', error: errorOf('53300'), fault: BUSY },
  { cause: 'cannot_connect_now', error: errorOf('57P03'), fault: UNAVAILABLE },
  { cause: 'invalid_password', error: errorOf('28P01'), fault: UNAVAILABLE },
  { cause: 'connection_failure', error: errorOf('08006'), fault: UNAVAILABLE },
  { cause: 'no route', error: Object.assign(new Error('connect'), { code: 'EHOSTUNREACH' }), fault: UNAVAILABLE },
  { cause: 'a timeout', error: new Error('timeout exceeded when trying to connect'), fault: UNAVAILABLE },
  { cause: 'invalid_catalog_name', error: errorOf('3D000'), fault: REFUSED },
  { cause: 'internal_error', error: errorOf('XX000'), fault: REFUSED },
  {
    cause: 'an unavailable server of Aurora DSQL',
    error: errorOf('XX000'),
    fault: UNAVAILABLE,
    engine: 'dsql' as const,
  },
])('$cause while connecting: $fault', ({ error, engine, fault: [name, code, retryAfterSeconds] }) => {
  expect(faultOfConnecting(error, engine)).toMatchObject({ name, code, retryAfterSeconds });
});

test.each([
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
])('a server with an invalid certificate is not retried: %s', (code) => {
  const fault = faultOfConnecting(Object.assign(new Error('certificate'), { code }));
  expect(fault).toMatchObject({ name: 'TerminalError', code: 'store_untrusted' });
});
