/** Tests which authority a deployment selects, and which stores a function gets. */
import { describe, expect, test } from '@jest/globals';
import { configuredAuthority } from '../../lambdas/authority/configured-authority.ts';
import { POSTGRES_AUTHORITY } from '../../lambdas/authority/contract.ts';
import type { AuthorityPlatform } from '../../lambdas/authority/postgres-authority.ts';
import { COMMIT_SECONDS } from '../../lambdas/kernel/contract/timing.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { MAX_ATTEMPTS } from '../../lambdas/kernel/platform/attempts.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Statement } from '../../lambdas/postgres/database.ts';
import { DatabaseFault } from '../../lambdas/postgres/faults.ts';
import { effectOf } from '../payments/copies.ts';
import { paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { QUIET_INSTRUMENTS } from '../support/quiet-instruments.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { emptyTables } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

function platformWith(settings: string | undefined, statements: Statement[] = []): AuthorityPlatform {
  return {
    variables: { [POSTGRES_AUTHORITY]: settings },
    clock: new SimulatedClock(),
    entropy: countingEntropy(),
    digest: systemDigest,
    documents: emptyTables().client,
    instruments: QUIET_INSTRUMENTS,
    secretsManager: () => Promise.reject(new Error('unexpected read of a secret before the first statement')),
    openDatabase: () => ({
      run: async (statement) => {
        statements.push(statement);
        return [];
      },
      transaction: () => Promise.reject(new Error('unexpected transaction')),
    }),
  };
}

describe('configuredAuthority', () => {
  test('returns no PostgreSQL stores without the setting', async () => {
    expect((await configuredAuthority(platformWith(undefined), TABLES)).postgres).toBeUndefined();
  });

  test('returns stores that read from the configured database', async () => {
    const statements: Statement[] = [];
    const { postgres } = await configuredAuthority(platformWith('{"secretId":"database"}', statements), TABLES);

    expect(await postgres?.store.readRecord('pay_1' as never)).toBeUndefined();
    expect(statements.map(({ values }) => values)).toEqual([['pay_1']]);
  });

  test('returns stores that read from a cluster of Aurora DSQL, which needs no secret', async () => {
    const statements: Statement[] = [];
    const settings = '{"host":"abc123.dsql.eu-west-1.on.aws"}';
    const { postgres } = await configuredAuthority(platformWith(settings, statements), TABLES);
    expect(await postgres?.store.readRecord('pay_1' as never)).toBeUndefined();
    expect(statements).toHaveLength(1);
  });

  test('returns stores that finish a commit, and try its copy, within the time that a request reserves for both', async () => {
    const platform = platformWith('{"secretId":"database"}');
    const beganMs = platform.clock.nowMs();
    const copies: unknown[] = [];
    const run = async ({ name, timeoutMs }: Statement) => {
      await platform.clock.sleep(1_000);
      if (!name.startsWith('outbox')) return [{ written: 1 }];
      copies.push(timeoutMs);
      throw new RetryableError(DatabaseFault.unavailable, 'the connection was lost');
    };
    const openDatabase = () => ({ run, transaction: () => Promise.reject(new Error('unexpected transaction')) });
    const { postgres } = await configuredAuthority({ ...platform, openDatabase }, TABLES);

    const id = paymentIdFor('copied');
    await postgres?.effects().recordEffect(effectOf([pendingTransition(id)]));
    expect(copies).toEqual([2_000, 1_000]);
    expect(platform.clock.nowMs()).toBeLessThanOrEqual(beganMs + COMMIT_SECONDS * 1000);
  });

  test('returns stores that, of several databases, rarely call one that does not respond', async () => {
    const platform = platformWith('{"secretId":"first","shards":[{"name":"b","secretId":"b"}]}');
    const { clock } = platform;
    let faults = Number.POSITIVE_INFINITY;
    let attempts = 0;
    const openDatabase: AuthorityPlatform['openDatabase'] = ({ secretId }) => ({
      run: async () => {
        if (secretId === 'first') return [];
        attempts += 1;
        if (faults <= 0) return [];
        faults -= 1;
        await clock.sleep(3_000);
        throw new RetryableError(DatabaseFault.unavailable, 'no connection');
      },
      transaction: () => Promise.reject(new Error('unexpected transaction')),
    });
    const { postgres } = await configuredAuthority({ ...platform, openDatabase }, TABLES);
    const read = () => postgres?.effects().listTransitions(paymentIdFor('k'), { afterSequence: 0, limit: 1 });
    const beganMs = clock.nowMs();
    for (let number = 0; number < 100; number += 1)
      await expect(read()).rejects.toMatchObject({ code: 'store_unavailable' });
    expect([attempts, clock.nowMs() - beganMs < 20_000]).toEqual([MAX_ATTEMPTS, true]);
    await clock.sleep(5_000);
    await expect(read()).rejects.toThrow();
    expect(attempts).toBe(MAX_ATTEMPTS + 1);
    faults = 0;
    await expect(read()).rejects.toThrow();
    await clock.sleep(5_000);
    expect(await read()).toEqual([]);
    // After a single fault, the store retries immediately.
    faults = 1;
    expect(await read()).toEqual([]);
  });

  test.each([
    ['', 'POSTGRES_AUTHORITY must be JSON'],
    ['{}', 'POSTGRES_AUTHORITY.secretId is not set'],
    ['{"host":"db.example"}', 'POSTGRES_AUTHORITY.secretId is not set'],
    ['{"secretId":"s","port":0}', 'POSTGRES_AUTHORITY.port'],
    ['{"secretId":"s","hosts":"h"}', 'POSTGRES_AUTHORITY'],
  ])('rejects the setting %s and names the invalid part', async (settings, message) => {
    await expect(configuredAuthority(platformWith(settings), TABLES)).rejects.toThrow(message);
  });
});
