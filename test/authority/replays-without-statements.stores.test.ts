/** Tests which replays run PostgreSQL statements. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { TableReplayCache } from '../../lambdas/authority/store/replay-cache.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { PostgresApprovals } from '../../lambdas/operators/store/postgres-approvals.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import type { PostgresTools } from '../../lambdas/postgres/attempts.ts';
import type { OpenDatabase } from '../../lambdas/postgres/connection.ts';
import { Copies } from '../payments/copies.ts';
import { change, paymentRequest } from '../payments/payment-fixtures.ts';
import { createDatabase, openTestDatabase } from '../postgres/store-database.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { REPLAY_CACHE, TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';

const METADATA = { customer: 'Ada Lovelace' };

let database: OpenDatabase;
let copies: Copies;
let world: World;
let statements: string[];
let seen: string[];
beforeAll(async () => {
  database = openTestDatabase(await createDatabase());
});
afterAll(() => database.close());
beforeEach(() => {
  copies = new Copies(database);
  world = new World();
  [statements, seen] = [[], []];
});

let made = 0;
function newRequest() {
  made += 1;
  return paymentRequest(`cached-${made}`, { metadata: METADATA });
}

/** The in-process cache of a new process is empty. */
function newProcess(client = copies.tables.client) {
  const { clock } = copies;
  const pacing = { clock, entropy: countingEntropy() };
  const carrying = copies.carrying();
  const counted: PostgresTools = {
    ...carrying,
    database: {
      ...carrying.database,
      run: (statement) => {
        statements.push(statement.name);
        return database.run(statement);
      },
    },
  };
  const store = new PostgresStore(counted);
  const observer = {
    hit: () => void seen.push('hit'),
    missed: () => void seen.push('missed'),
    notStored: () => void seen.push('not stored'),
  };
  return {
    clock,
    store,
    effects: new PostgresApprovals(counted, store),
    copies: new DynamoDbStore(client, TABLES, pacing),
    replays: new TableReplayCache({ client, table: REPLAY_CACHE, ...pacing, observer }),
  };
}

test('a replay in another process runs no statement, and contains the metadata', async () => {
  const request = newRequest();
  const first = await world.answered(request, newProcess());
  expect(statements).not.toEqual([]);
  statements = [];
  const replayed = await world.answered(request, newProcess());
  expect(replayed).toEqual({ ...first, kind: 'replay' });
  expect(replayed.body).toMatchObject({ metadata: METADATA });
  expect(await world.pay({ ...request, fingerprint: newRequest().fingerprint }, newProcess())).toMatchObject({
    kind: 'replay',
  });
  const other = { ...request, fingerprint: paymentRequest('other', { amountMinor: 7 }).fingerprint };
  expect(await world.pay(other, newProcess())).toEqual({ kind: 'payload_mismatch' });
  expect(statements).toEqual([]);
  expect(seen).toEqual(['hit', 'hit', 'hit']);
});

test('the replay of a refund runs no statement, and contains its reason', async () => {
  const request = newRequest();
  await world.answered(request, newProcess());
  const refund = change(request, 'r', { kind: 'refund', amountMinor: 400, reason: 'Ada asked for it' });
  const first = await world.change(refund, newProcess());
  invariant(first.kind === 'first', 'the refund was not executed');
  statements = [];
  const replayed = await world.change(refund, newProcess());
  expect(replayed).toMatchObject({ kind: 'replay', source: 'cache', answer: first.answer });
  expect(JSON.stringify(replayed)).toContain('Ada asked for it');
  expect(statements).toEqual([]);
});

test('a replay reads the reason of the refund from PostgreSQL if DynamoDB has no copy of the refund', async () => {
  const request = newRequest();
  await world.answered(request, newProcess());
  const refund = change(request, 'r', { kind: 'refund', amountMinor: 400, reason: 'Ada asked for it' });
  const first = await world.change(refund, newProcess());
  invariant(first.kind === 'first', 'the refund was not executed');
  await copies.loseCopies(request.paymentId, 3, 4);
  statements = [];
  expect(await world.change(refund, newProcess())).toMatchObject({ source: 'cache', answer: first.answer });
  expect(statements).not.toEqual([]);
});

test('after an erasure, a replay runs no statement, and states that the data was erased', async () => {
  const request = newRequest();
  await world.answered(request, newProcess());
  expect(await copies.erase(request.paymentId)).toBe(true);
  statements = [];
  const replayed = await world.answered(request, newProcess());
  expect(JSON.stringify(replayed)).not.toContain('Ada');
  expect(replayed.body).toMatchObject({ details_erased: true });
  expect(statements).toEqual([]);
});

test('a replay reads the data of the payment from PostgreSQL if DynamoDB has no copy of the payment', async () => {
  const request = newRequest();
  const first = await world.answered(request, newProcess());
  await copies.loseCopies(request.paymentId, 1, 2);
  statements = [];
  expect(await world.answered(request, newProcess())).toEqual({ ...first, kind: 'replay' });
  expect(statements).toEqual(['payment-read']);
});

test('if a process crashes between the commit and the cache entry, the replay reads PostgreSQL', async () => {
  const request = newRequest();
  const never = new Promise<never>(() => undefined);
  const committed = Promise.withResolvers<void>();
  const dying = copies.tables.clientWith((name, apply, command) => {
    const { TableName } = (command as { readonly input: { readonly TableName?: string } }).input;
    if (name !== 'PutCommand' || TableName !== REPLAY_CACHE) return apply();
    committed.resolve();
    return never;
  });
  void world.pay(request, newProcess(dying));
  await committed.promise;
  statements = [];
  expect(await world.answered(request, newProcess())).toMatchObject({ kind: 'replay', body: { metadata: METADATA } });
  expect(statements).toContain('record-select');
  expect(seen).toEqual(['missed']);
  expect(world.processor.charges(request.paymentId)).toHaveLength(1);
});
