import { describe, expect, test } from '@jest/globals';
import { faultAnswer } from '../../lambdas/http/http-answer.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { MAX_ATTEMPTS } from '../../lambdas/kernel/platform/attempts.ts';
import { type PostgresTools, readRows, writeIf, writeRows } from '../../lambdas/postgres/attempts.ts';
import { type Statement, UniqueViolation } from '../../lambdas/postgres/database.ts';
import { DatabaseFault } from '../../lambdas/postgres/faults.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { sql } from './postgres-fixture.ts';
import { toolsOn } from './store-database.ts';

const STATEMENT = sql('UPDATE anything');
const LOST = new AmbiguousError(DatabaseFault.ambiguous, 'the response was lost');
const BUSY = new RetryableError(DatabaseFault.busy, 'a lock was not available');
const CONFLICT = new RetryableError(DatabaseFault.conflict, 'a concurrent transaction won');
const REFUSED = new TerminalError(DatabaseFault.refused, 'the statement was refused');
const TAKEN = new UniqueViolation('transition_pkey');

const always = (error: Error): readonly Error[] => Array.from({ length: MAX_ATTEMPTS + 1 }, () => error);

function failingWith(...errors: readonly Error[]): PostgresTools & { readonly attempts: () => number } {
  let attempts = 0;
  const run = async () => {
    const error = errors[attempts];
    attempts += 1;
    if (error !== undefined) throw error;
    return [{ found: attempts }];
  };
  return { ...toolsOn({ run, transaction: () => Promise.reject(REFUSED) }), attempts: () => attempts };
}

describe('a write', () => {
  test('is repeated after a conflict and a lost response, and returns the rows of the last attempt', async () => {
    expect(await writeRows(failingWith(CONFLICT, LOST), STATEMENT)).toEqual([{ found: 3 }]);
  });

  test.each([
    ['not applied, if all attempts conflicted', always(CONFLICT), 'RetryableError', MAX_ATTEMPTS],
    ['not applied, if the server was busy, without a retry', [BUSY], 'RetryableError', 1],
    ['never applicable, if the server refused it', [REFUSED], 'TerminalError', 1],
    ['possibly applied, if a response was lost among conflicts', [LOST, ...always(CONFLICT)], 'AmbiguousError', 5],
    ['possibly applied, if the server is busy after a lost response', [LOST, BUSY], 'AmbiguousError', 2],
    ['possibly applied, if the server refuses it after a lost response', [LOST, REFUSED], 'AmbiguousError', 2],
  ])('is reported as %s', async (_, errors, name, attempts) => {
    const tools = failingWith(...errors);
    await expect(writeRows(tools, STATEMENT)).rejects.toMatchObject({ name });
    expect(tools.attempts()).toBe(attempts);
  });

  test('that conflicts at each attempt results in a 503 response with Retry-After', async () => {
    const refused = await writeRows(failingWith(...always(CONFLICT)), STATEMENT).catch((error: unknown) => error);
    expect(faultAnswer(refused, 'req_1')).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
  });

  test('reports the violated unique constraint, and after a lost response also that the existing row may be its own', async () => {
    const taken = { kind: 'taken', constraint: 'transition_pkey' };
    expect(await writeIf(failingWith(CONFLICT, TAKEN), STATEMENT)).toEqual({ ...taken, mayBeOwn: false });
    expect(await writeIf(failingWith(LOST, TAKEN), STATEMENT)).toEqual({ ...taken, mayBeOwn: true });
  });
});

test('no attempt begins after the time limit', async () => {
  const clock = new SimulatedClock();
  const limits: unknown[] = [];
  const run = async ({ timeoutMs }: Statement) => {
    limits.push(timeoutMs);
    clock.advance(1_000);
    throw LOST;
  };
  const { pacing, database } = toolsOn({ run, transaction: () => Promise.reject(REFUSED) }, clock);
  const tools = { database, pacing: { ...pacing, untilMs: clock.nowMs() + 1_500 } };
  await expect(writeRows(tools, STATEMENT)).rejects.toMatchObject({ name: 'AmbiguousError' });
  expect(limits).toEqual([1_500, 500]);
  await expect(writeRows(tools, STATEMENT)).rejects.toMatchObject({ name: 'RetryableError' });
  expect(limits).toHaveLength(2);
});

test('a read is never reported as possibly applied', async () => {
  expect(await readRows(failingWith(LOST), STATEMENT)).toEqual([{ found: 2 }]);
  await expect(readRows(failingWith(...always(LOST)), STATEMENT)).rejects.toMatchObject({
    name: 'RetryableError',
  });
});
