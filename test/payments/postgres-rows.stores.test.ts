import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ActivityDraft } from '../../lambdas/activity/domain/activity.ts';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { ownerToken, type PaymentId, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { firstBrokenLink, type Transition } from '../../lambdas/payments/domain/transition.ts';
import { PostgresEffects } from '../../lambdas/payments/store/postgres-effects.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import type { OpenDatabase } from '../../lambdas/postgres/connection.ts';
import type { Database, Row } from '../../lambdas/postgres/database.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { createDatabase, openTestDatabase, toolsOn } from '../postgres/store-database.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { completedRecord, openRecord, outcomeTransition, paymentIdFor, pendingTransition } from './payment-fixtures.ts';

const PAGE = { afterSequence: 0, limit: 9 };

let database: OpenDatabase;
let store: PostgresStore;
let effects: PostgresEffects;
beforeAll(async () => {
  database = openTestDatabase(await createDatabase());
  store = new PostgresStore(toolsOn(database));
  effects = new PostgresEffects(toolsOn(database), store);
});
afterAll(() => database.close());

const rows = (text: string, ...values: readonly unknown[]): Promise<readonly Row[]> =>
  database.run(sql(text, ...values));

async function claimed(key: string): Promise<{ readonly id: PaymentId; readonly pending: Transition }> {
  const id = paymentIdFor(key);
  const pending = pendingTransition(id);
  await store.claim({ record: openRecord(id), pending });
  return { id, pending };
}

function effectOf(id: PaymentId, name: string, transitions: readonly Transition[] = []) {
  const operationId = callbackOperation(systemDigest, 'memory', `${id}-${name}`);
  return { record: { operationId, paymentId: id, owner: ownerToken(name), recordedAtMs: 0 }, transitions };
}

const paid = (pending: Transition): Transition => outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' });

describe('a payment on PostgreSQL', () => {
  test('is claimed and committed with one statement each, and replayed with two', async () => {
    const names: string[] = [];
    const counting: Database = {
      run: (statement) => {
        names.push(statement.name);
        return database.run(statement);
      },
      transaction: (work) => database.transaction(work),
    };
    const counted = new PostgresStore(toolsOn(counting));
    const id = paymentIdFor('counted');
    const pending = pendingTransition(id, 'counted');
    const name = { tenantId: tenantId('ten_fixture'), mode: 'test' as const, reference: 'counted' };
    const claim = { record: openRecord(id), pending, reference: { name } };
    await counted.claim(claim);
    await counted.commit({ record: completedRecord(id), expects: 'open', transition: paid(pending) });
    expect(names).toEqual(['payment-claim', 'record-complete']);
    await counted.claim({ ...claim, record: openRecord(id, { owner: ownerToken('rival') }) });
    expect(names.slice(2)).toEqual(['payment-claim', 'record-select']);
  });

  test('rejects an effect with a transition whose postings do not balance, and writes no part of it', async () => {
    const { id, pending } = await claimed('unbalanced');
    const whole = paid(pending);
    const effect = effectOf(id, 'callback', [{ ...whole, postings: whole.postings.slice(1) }]);
    await expect(effects.recordEffect(effect)).rejects.toMatchObject({ code: 'store_refused' });
    expect(await effects.readEffect(effect.record.operationId)).toBeUndefined();
    expect(await store.listTransitions(id, PAGE)).toEqual([pending]);
    expect(await rows('SELECT leg FROM posting WHERE chain_id = $1', id)).toEqual([]);
    expect(await effects.recordEffect(effectOf(id, 'callback', [whole]))).toEqual({ kind: 'recorded' });
  });

  test('keeps a processor’s message with U+0000, quotes and non-Latin characters, and its chain stays valid', async () => {
    const { id, pending } = await claimed('message');
    const message = 'a\u0000b "c" \\u0000 \\ ’ 決済 🙂';
    const declined = outcomeTransition(pending, { kind: 'declined', failure: { code: 'declined', message } });
    const answer = { status: 402, headers: { 'x-note': 'é' }, body: JSON.stringify({ message }) };
    const record = completedRecord(id, { answer });
    expect(await store.commit({ record, expects: 'open', transition: declined })).toEqual({ kind: 'committed' });
    const chain = await store.listTransitions(id, PAGE);
    expect(chain).toEqual([pending, declined]);
    expect(firstBrokenLink(systemDigest, chain)).toBeUndefined();
    expect(await store.readRecord(record.operationId)).toEqual(record);
  });

  test('adds one outbox row for each transition, at the claim and at the commit', async () => {
    const { id, pending } = await claimed('announced');
    const announced = () => rows('SELECT sequence FROM outbox WHERE chain_id = $1 ORDER BY sequence', id);
    expect(await announced()).toEqual([{ sequence: 1 }]);
    const fenced = { record: completedRecord(id, { owner: ownerToken('rival') }), transition: paid(pending) };
    expect(await store.commit({ ...fenced, expects: 'open' })).toMatchObject({ kind: 'fenced' });
    expect(await announced()).toEqual([{ sequence: 1 }]);
    await store.commit({ record: completedRecord(id), expects: 'open', transition: paid(pending) });
    expect(await announced()).toEqual([{ sequence: 1 }, { sequence: 2 }]);
  });

  test('stores personal data only in details rows, so that their deletion erases the data', async () => {
    const { id } = await claimed('erased');
    const [row] = await rows('SELECT body::text FROM transition WHERE chain_id = $1', id);
    expect(row?.['body']).not.toContain('two shirts');
    expect((await store.readPayment(id))?.first.first?.description).toBe('two shirts');
    await rows('DELETE FROM details WHERE chain_id = $1', id);
    const erased = (await store.readPayment(id))?.first.first;
    expect(erased?.detailsErased).toBe(true);
    expect(erased?.description).toBeUndefined();
  });
});

describe('an operator’s effect on PostgreSQL', () => {
  const draft: ActivityDraft = {
    chain: { tenantId: tenantId('ten_fixture'), mode: 'test' },
    action: 'annotation.made',
    actor: BY_REQUEST,
    about: ['ann_1'],
    occurredAtMs: 0,
  };
  const log = () => rows('SELECT sequence, action FROM activity ORDER BY sequence');

  test('is written with its entry in the activity log, and only once', async () => {
    const { id } = await claimed('logged');
    const effect = { ...effectOf(id, 'first'), activity: draft };
    expect(await effects.recordEffect(effect)).toEqual({ kind: 'recorded' });
    expect(await effects.recordEffect(effect)).toEqual({ kind: 'recorded' });
    const rival = { ...effect, record: { ...effect.record, owner: ownerToken('rival') } };
    expect(await effects.recordEffect(rival)).toMatchObject({ kind: 'recorded_before' });
    expect(await effects.recordEffect({ ...effectOf(id, 'second'), activity: draft })).toEqual({ kind: 'recorded' });
    const entry = { action: 'annotation.made' };
    expect(await log()).toEqual([
      { sequence: 1, ...entry },
      { sequence: 2, ...entry },
    ]);
  });

  test('is not written if a rival’s entry takes the position in the activity log first', async () => {
    const { id } = await claimed('outpaced');
    let isFirst = true;
    const outpaced: Database = {
      run: async (statement) => {
        if (statement.name === 'effect-record' && isFirst) {
          isFirst = false;
          await effects.recordEffect({ ...effectOf(id, 'rival'), activity: draft });
        }
        return database.run(statement);
      },
      transaction: (work) => database.transaction(work),
    };
    const effect = { ...effectOf(id, 'outpaced'), activity: draft };
    const before = await log();
    const racing = new PostgresEffects(toolsOn(outpaced), store);
    expect(await racing.recordEffect(effect)).toEqual({ kind: 'transition_exists' });
    expect(await effects.readEffect(effect.record.operationId)).toBeUndefined();
    expect(await log()).toHaveLength(before.length + 1);
  });
});
