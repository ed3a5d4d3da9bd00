import { AmbiguousError, NotBegunError, RetryableError } from '../kernel/faults.ts';
import { MAX_ATTEMPTS } from '../kernel/platform/attempts.ts';
import type { Clock } from '../kernel/world.ts';
import type { Database } from './database.ts';
import { DatabaseFault } from './faults.ts';

/** Time for which a database that does not respond is not called, in milliseconds. */
const REST_MS = 5_000;

/**
 * Returns a database that refuses calls for a short time after all attempts of a call have found it unavailable. Each
 * attempt can wait for a timeout, so a job would otherwise spend its time on this database, and would not reach the
 * payments in the other databases:
 *
 *   a  ── attempts 1 to 5 ✗ ── rest: calls fail immediately ── attempt ✗ ── rest ── attempt ✓
 *   b  ── … ────────────────── calls ✓ ──────────────────────────────────── calls ✓
 */
export function restingDatabase(database: Database, clock: Pick<Clock, 'nowMs'>): Database {
  let failures = 0;
  let failedAtMs = 0;
  const call = async <T>(send: () => Promise<T>): Promise<T> => {
    if (failures >= MAX_ATTEMPTS && Math.abs(clock.nowMs() - failedAtMs) < REST_MS)
      throw new NotBegunError(DatabaseFault.unavailable, 'the database has just been unavailable', {
        retryAfterSeconds: REST_MS / 1000,
      });
    try {
      const result = await send();
      failures = 0;
      return result;
    } catch (error) {
      failures = isUnavailable(error) ? failures + 1 : 0;
      failedAtMs = clock.nowMs();
      throw error;
    }
  };
  return {
    run: (statement) => call(() => database.run(statement)),
    transaction: (work) => call(() => database.transaction(work)),
  };
}

function isUnavailable(error: unknown): boolean {
  if (error instanceof AmbiguousError) return true;
  return error instanceof RetryableError && error.code === DatabaseFault.unavailable;
}
