/** Tests the guarantee "waiting duplicates". */
import { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { ownerToken } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { PostgresEffects } from '../../lambdas/payments/store/postgres-effects.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import type { Effect } from '../../lambdas/payments/use/effect-store.ts';
import { type OpenDatabase, SCHEMA } from '../../lambdas/postgres/connection.ts';
import type { Database, Row } from '../../lambdas/postgres/database.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { asFunctions, createDatabase, openTestDatabase, toolsOn } from '../postgres/store-database.ts';
import { until } from '../support/until.ts';
import { completedRecord, openRecord, outcomeTransition, paymentIdFor, pendingTransition } from './payment-fixtures.ts';

const DUPLICATES = 20;

let url: string;
let database: OpenDatabase;
beforeAll(async () => {
  url = await createDatabase();
  database = openTestDatabase(url, { connections: DUPLICATES + 2, statementMs: 0 });
});
afterAll(() => database.close());

/** Returns a function that builds the effect of the payment's callback for an owner. */
async function callbackOf(key: string): Promise<(owner: string) => Effect> {
  const id = paymentIdFor(key);
  const pending = pendingTransition(id);
  await new PostgresStore(toolsOn(database)).claim({ record: openRecord(id), pending });
  const transitions = [outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' })];
  const operationId = callbackOperation(systemDigest, 'memory', key);
  return (owner) => ({
    record: { operationId, paymentId: id, owner: ownerToken(owner), recordedAtMs: 0 },
    transitions,
  });
}

function effectsOn(on: Database): PostgresEffects {
  return new PostgresEffects(toolsOn(on), new PostgresStore(toolsOn(on)));
}

/**
 * The statements have no time limits, because a limit could end a wait on a busy machine.
 * @param beforeCommit awaited before each statement commits
 */
function patient(beforeCommit: () => Promise<void> = async () => undefined): Database {
  const limits = ['lock_timeout', 'idle_in_transaction_session_timeout'];
  return {
    run: (statement) =>
      database.transaction(async (transaction) => {
        for (const name of limits) await transaction.run(sql(`SET LOCAL ${name} = 0`));
        const rows = await transaction.run(statement);
        await beforeCommit();
        return rows;
      }),
    transaction: (work) => database.transaction(work),
  };
}

/** `heldOpen` commits no statement until `commit` is called. `begun` resolves when a statement is ready to commit. */
function holdOpen() {
  const commit = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const heldOpen = patient(async () => {
    begun.resolve();
    await commit.promise;
  });
  return { heldOpen, begun: begun.promise, commit: commit.resolve };
}

function deliverAgain(effectOf: (owner: string) => Effect) {
  const effects = effectsOn(patient());
  const owners = Array.from({ length: DUPLICATES - 1 }, (_, index) => `duplicate-${index}`);
  return Promise.all(owners.map((owner) => effects.recordEffect(effectOf(owner))));
}

async function untilWaiting(count: number): Promise<void> {
  await until(async () => {
    const [row] = await database.run(
      sql(
        `SELECT count(*) AS waiting FROM pg_locks JOIN pg_stat_activity USING (pid)
          WHERE NOT granted AND datname = current_database()`,
      ),
    );
    return row?.['waiting'] === count ? true : undefined;
  });
}

async function outcomesOf(key: string): Promise<readonly string[]> {
  const transitions = await effectsOn(database).listTransitions(paymentIdFor(key), { afterSequence: 0, limit: 9 });
  return transitions.map(({ type }) => type);
}

describe('of 20 concurrent deliveries of one callback', () => {
  test('19 wait for the row lock of the first, and replay its record after the commit', async () => {
    const effectOf = await callbackOf('held-open');
    const { heldOpen, begun, commit } = holdOpen();
    const first = effectsOn(heldOpen).recordEffect(effectOf('first'));
    await begun;
    const others = deliverAgain(effectOf);
    await untilWaiting(DUPLICATES - 1);
    expect(await outcomesOf('held-open')).toEqual(['payment.created']);
    commit();
    expect(await first).toEqual({ kind: 'recorded' });
    const { record } = effectOf('first');
    expect(await others).toEqual(Array.from({ length: DUPLICATES - 1 }, () => ({ kind: 'recorded_before', record })));
    expect(await outcomesOf('held-open')).toEqual(['payment.created', 'payment.completed']);
  });

  test('exactly one other delivery records the effect if the process of the first one dies before its commit', async () => {
    const effectOf = await callbackOf('killed');
    const socket = new Socket();
    const client = new Client({
      connectionString: asFunctions(url),
      stream: () => socket,
      options: `-c search_path=${SCHEMA}`,
    });
    client.on('error', () => undefined);
    await client.connect();
    await client.query('BEGIN');
    const dying: Database = {
      run: async ({ text, values }) => (await client.query<Row>(text, [...values])).rows,
      transaction: (work) => database.transaction(work),
    };
    expect(await effectsOn(dying).recordEffect(effectOf('first'))).toEqual({ kind: 'recorded' });
    const others = deliverAgain(effectOf);
    await untilWaiting(DUPLICATES - 1);
    socket.destroy();
    const kinds = (await others).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'recorded')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'recorded_before')).toHaveLength(DUPLICATES - 2);
    expect(await outcomesOf('killed')).toEqual(['payment.created', 'payment.completed']);
  });
});

test('a repeated request that arrives during the commit waits for it, and finds the stored response', async () => {
  const id = paymentIdFor('committing');
  const pending = pendingTransition(id);
  const storeOn = (on: Database) => new PostgresStore(toolsOn(on));
  await storeOn(database).claim({ record: openRecord(id), pending });
  const { heldOpen, begun, commit } = holdOpen();
  const transition = outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' });
  const committed = storeOn(heldOpen).commit({ record: completedRecord(id), expects: 'open', transition });
  await begun;
  const repeated = storeOn(patient()).claim({ record: openRecord(id, { owner: ownerToken('repeated') }), pending });
  await untilWaiting(1);
  commit();
  expect(await committed).toEqual({ kind: 'committed' });
  expect(await repeated).toEqual({ kind: 'record_exists', record: completedRecord(id) });
});
