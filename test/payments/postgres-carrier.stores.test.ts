/** Tests the guarantee "carried rows". */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { TRACING } from '../../lambdas/kernel/contract/environment.ts';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import { ownerToken, type PaymentId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { TRANSITION_TYPES } from '../../lambdas/payments/domain/payment.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { paymentPartition } from '../../lambdas/payments/store/items.ts';
import { PostgresEffects } from '../../lambdas/payments/store/postgres-effects.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import { carriedUntilMs } from '../../lambdas/postgres/carried-until.ts';
import type { Carrier } from '../../lambdas/postgres/carry.ts';
import { Outbox } from '../../lambdas/postgres/outbox.ts';
import { timestamp } from '../../lambdas/postgres/values.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { createDatabase, heldBeforeCommit, openTestDatabase, type StoreDatabase } from '../postgres/store-database.ts';
import { timedOut } from '../support/faulty-client.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { chainOfAllKinds, firstWithNotes, refundAfter } from './carried-chain.ts';
import { Copies, effectOf } from './copies.ts';
import { completedRecord, openRecord, outcomeTransition, paymentIdFor, pendingTransition } from './payment-fixtures.ts';

let database: StoreDatabase;
let copies: Copies;
beforeAll(async () => {
  database = openTestDatabase(await createDatabase());
});
afterAll(() => database.close());
beforeEach(async () => {
  copies = new Copies(database);
  await database.run(sql('DELETE FROM outbox'));
});

let made = 0;
function newPayment(): { readonly id: PaymentId; readonly pending: Transition; readonly paid: Transition } {
  made += 1;
  const id = paymentIdFor(`carried-${made}`);
  const pending = pendingTransition(id);
  return { id, pending, paid: outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' }) };
}

describe('a copy', () => {
  const TRACE = 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1';
  const TRACE_ID = '_X_AMZN_TRACE_ID';
  const traced = (trace: string): unknown => Object.assign(process.env, { [TRACING]: 'true', [TRACE_ID]: trace });
  afterEach(() => {
    delete process.env[TRACING];
    delete process.env[TRACE_ID];
  });

  test('equals the rows that the DynamoDB store writes, for each type of transition and kind of subject', async () => {
    const { id } = newPayment();
    const chain = chainOfAllKinds(id);
    expect(new Set(chain.map(({ type }) => type))).toEqual(new Set(TRANSITION_TYPES));
    const expected = new Stores(copies.clock);
    for (const part of [chain.slice(0, 11), chain.slice(11)]) {
      await expected.recordEffect(effectOf(part));
      await copies.write(...part);
      // The first part has no trace, the second part has a sampled trace, and the poller runs in another trace.
      traced(TRACE);
    }
    traced(TRACE.replace('5759', '1111'));
    await copies.poll();
    expect(copies.ledger(id)).toStrictEqual(expected.database.items(TABLES.ledger, paymentPartition(id)));
    expect(copies.details(id)).toStrictEqual(expected.database.items(TABLES.registry, `DETAILS#${id}`));
    expect(copies.details(id).length).toBeGreaterThan(6);
    expect(copies.ledger(id).filter(({ trace }) => trace === TRACE).length).toBeGreaterThan(6);
    expect(await copies.outbox(id)).toEqual([]);
  });

  test('contains the sums unchanged even if only a later version can read their format', async () => {
    const { id, pending } = newPayment();
    await copies.write(pending);
    const later = `replace(body::text, '"sums":""', '"sums":"01020304050607"')::json`;
    await database.owner.run(sql(`UPDATE transition SET body = ${later} WHERE chain_id = $1`, id));
    await copies.carrier().carry(id);
    expect(copies.ledger(id)).toMatchObject([{ sums: Uint8Array.from([1, 2, 3, 4, 5, 6, 7]) }]);
  });

  test('is written by the owner after the commit, in one transaction; the claim alone is not copied', async () => {
    const { id, pending, paid } = newPayment();
    const calls: string[] = [];
    const client = copies.tables.clientWith((command, apply) => {
      calls.push(command);
      return apply();
    });
    const store = new PostgresStore(copies.carrying(copies.carrier(client)));
    await store.claim({ record: openRecord(id), pending });
    expect(calls).toEqual([]);
    await store.commit({ record: completedRecord(id), expects: 'open', transition: paid });
    expect(calls).toEqual(['TransactWriteCommand']);
    expect(copies.copied(id)).toEqual([1, 2]);
    expect(await copies.outbox(id)).toEqual([]);
  });

  test('includes the claim of a dead owner, once the owner that took the claim over has committed', async () => {
    const { id, pending, paid } = newPayment();
    const stale = openRecord(id);
    await new PostgresStore(copies.tools()).claim({ record: stale, pending });
    const store = new PostgresStore(copies.carrying());
    const owner = ownerToken('owner-b');
    expect(await store.takeOver({ stale, owner, leaseExpiresAtMs: 99 })).toEqual({ kind: 'taken' });
    const record = completedRecord(id, { owner });
    expect(await store.commit({ record, expects: 'open', transition: paid })).toEqual({ kind: 'committed' });
    expect(copies.copied(id)).toEqual([1, 2]);
  });

  test('is written in the order of the chain, even if the chain needs several transactions', async () => {
    const chain = chainOfAllKinds(newPayment().id);
    const [first] = chain;
    invariant(first !== undefined, 'the chain is empty');
    await copies.write(...chain);
    const written: unknown[] = [];
    copies.tables.listen((changes) => written.push(...changes.flatMap(({ after }) => after?.['sequence'] ?? [])));
    await copies.carrier().carry(first.payment.id);
    expect(written).toEqual(chain.map(({ sequence }) => sequence));
  });

  test('that fails leaves the commit intact; the poller writes it later', async () => {
    const { id, pending, paid } = newPayment();
    const down = copies.tables.clientWith(() => Promise.reject(timedOut()));
    const carrier = copies.carrier(down);
    const store = new PostgresStore(copies.carrying(carrier));
    await store.claim({ record: openRecord(id), pending });
    const commit = { record: completedRecord(id), expects: 'open', transition: paid } as const;
    expect(await store.commit(commit)).toEqual({ kind: 'committed' });
    expect(copies.failures).toMatchObject([{ code: 'store_ambiguous' }]);
    const effects = new PostgresEffects(copies.carrying(carrier), store);
    const other = newPayment();
    expect(await effects.recordEffect(effectOf([other.pending, other.paid]))).toEqual({ kind: 'recorded' });
    await copies.poll(carrier);
    expect(copies.states).toMatchObject([{ oldestMs: expect.any(Number) }]);
    await copies.poll();
    expect([copies.copied(id), copies.copied(other.id)]).toEqual([
      [1, 2],
      [1, 2],
    ]);
    expect(copies.states.at(-1)).toEqual({ oldestMs: undefined, stopped: 0 });
  });

  test('starts no call after its deadline, and leaves the remaining rows to the poller', async () => {
    const chain = chainOfAllKinds(newPayment().id);
    const [first] = chain;
    invariant(first !== undefined, 'the chain is empty');
    await copies.write(...chain);
    const calls: string[] = [];
    const slow = (ended: 'applied' | 'lost') =>
      copies.tables.clientWith((command, apply) => {
        calls.push(command);
        copies.clock.advance(2_000);
        return ended === 'applied' ? apply() : Promise.reject(timedOut());
      });
    const carryFor = (client: Parameters<Copies['carrier']>[0]) =>
      copies
        .carrier(client)
        .until(copies.clock.nowMs() + 3_000)
        .carry(first.payment.id);
    await expect(carryFor(slow('lost'))).rejects.toMatchObject({ code: 'store_ambiguous' });
    expect(calls).toHaveLength(2);
    await expect(carryFor(slow('applied'))).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(calls).toHaveLength(4);
    await copies.poll();
    expect(copies.copied(first.payment.id)).toHaveLength(chain.length);
  });
});

test('a row is copied even if its transaction commits after a newer row was copied; until then, the copies are reported as complete only for earlier times', async () => {
  const [late, early] = [newPayment(), newPayment()];
  const createdAtMs = copies.clock.nowMs();
  const written = Promise.withResolvers<undefined>();
  const released = Promise.withResolvers<undefined>();
  const slow = heldBeforeCommit(database, async () => {
    written.resolve(undefined);
    await released.promise;
  });
  const claim = new PostgresStore(copies.tools(slow)).claim({ record: openRecord(late.id), pending: late.pending });
  await written.promise;
  copies.clock.advance(60_000);
  await copies.write(early.pending);
  await copies.poll();
  expect([copies.copied(late.id), copies.copied(early.id)]).toEqual([[], [1]]);
  const beforeReadMs = copies.clock.nowMs();
  const { oldestMs } = await new Outbox(copies.tools()).state();
  expect(oldestMs).toBeUndefined();
  expect(carriedUntilMs({ oldestMs, beforeReadMs })).toBeLessThan(createdAtMs);
  released.resolve(undefined);
  expect(await claim).toEqual({ kind: 'claimed' });
  expect(await new Outbox(copies.tools()).state()).toMatchObject({ oldestMs: createdAtMs });
  await copies.poll();
  expect(copies.copied(late.id)).toEqual([1]);
});

describe('a chain that does not match its copies in the Ledger', () => {
  /** The outcome in the Ledger differs from the outcome in PostgreSQL. */
  async function forked() {
    const { id, pending, paid } = newPayment();
    const rival = outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_2' });
    await copies.write(pending);
    await copies.carrier().carry(id);
    const dynamodb = new Stores(copies.clock, copies.tables);
    await dynamodb.recordEffect(effectOf([rival]));
    await copies.write(paid, refundAfter(paid));
    return { id, rival };
  }
  const outcomeOf = (id: PaymentId) => copies.ledger(id)[1]?.['hash'];

  test('is stopped with one alarm, and its copies stay unchanged; other chains are still copied and compared', async () => {
    const { id, rival } = await forked();
    const forkedAtMs = copies.clock.nowMs();
    const other = newPayment();
    copies.clock.advance(3_600_000);
    await copies.write(other.pending);
    for (let pass = 0; pass < 3; pass += 1) expect(await copies.poll()).toBeGreaterThan(forkedAtMs);
    expect(copies.stops).toEqual([[id, 2]]);
    expect(outcomeOf(id)).toEqual(rival.hash);
    expect(copies.copied(id)).toEqual([1, 2]);
    expect(copies.copied(other.id)).toEqual([1]);
    // The age of the oldest uncopied row does not include the rows of the stopped chain.
    expect(copies.states.at(-1)).toEqual({ oldestMs: undefined, stopped: 1 });
    expect(await copies.carrier().carry(id)).toBe('stopped');
  });

  test('keeps the copies of personal data that a restored PostgreSQL lacks, until an erasure', async () => {
    const { id } = newPayment();
    const first = firstWithNotes(id);
    await copies.write(first, refundAfter(first));
    await copies.poll();
    const copied = copies.details(id);
    expect(copied.length).toBeGreaterThan(1);
    // PostgreSQL is restored to the point in time after the first transition, and the payment continues.
    for (const table of ['transition', 'posting', 'details'])
      await database.owner.run(sql(`DELETE FROM ${table} WHERE chain_id = $1 AND sequence > 1`, id));
    await copies.write(outcomeTransition(first, { kind: 'succeeded', chargeId: 'ch_1' }));
    for (let pass = 0; pass < 2; pass += 1) expect(await copies.carrier().carry(id)).toBe('stopped');
    expect(copies.details(id)).toEqual(copied);
    // PostgreSQL contains no personal data, as after a restore to a point in time before the data was written.
    await database.run(sql('DELETE FROM details WHERE chain_id = $1', id));
    for (let pass = 0; pass < 2; pass += 1) expect(await copies.erase(id)).toBe(true);
    expect(copies.details(id)).toEqual([]);
    expect((await copies.outbox(id)).filter(({ kind }) => kind === 'erasure')).toHaveLength(1);
  });

  test('can be erased, and stays erased when it is copied again', async () => {
    const { id } = await forked();
    expect(copies.details(id)).not.toEqual([]);
    expect(await copies.erase(id)).toBe(true);
    expect(copies.details(id)).toEqual([]);
    expect((await copies.outbox(id)).map(({ kind }) => kind)).toContain('erasure');
    expect(await copies.erase(id)).toBe(true);
    await copies.loseCopies(id, 2);
    await database.run(sql('UPDATE outbox SET stopped_at = NULL WHERE chain_id = $1', id));
    await copies.poll();
    expect([copies.copied(id), copies.details(id)]).toEqual([[1, 2, 3], []]);
    expect(await copies.outbox(id)).toEqual([]);
  });

  test('is copied again after an operator has removed the cause', async () => {
    const { id } = await forked();
    await copies.poll();
    // An operator restores the Ledger to a point in time before the differing row was written.
    await copies.loseCopies(id, 2);
    await database.run(sql('UPDATE outbox SET stopped_at = NULL WHERE chain_id = $1', id));
    await copies.poll();
    expect(copies.copied(id)).toEqual([1, 2, 3]);
    expect(await copies.outbox(id)).toEqual([]);
  });

  test('is stopped if the Ledger lacks the preceding row', async () => {
    const { id, pending, paid } = newPayment();
    await copies.write(pending);
    await database.run(sql('DELETE FROM outbox WHERE chain_id = $1', id));
    await copies.write(paid);
    expect(await copies.carrier().carry(id)).toBe('stopped');
    expect(copies.stops).toEqual([[id, 2]]);
    expect(copies.ledger(id)).toEqual([]);
  });
});

describe('the poller', () => {
  test('copies the oldest chains first, and starts no chain after its deadline', async () => {
    const payments = [newPayment(), newPayment()].toReversed();
    const carried: string[] = [];
    const carrier: Carrier = {
      carry: async (id) => {
        carried.push(id);
        copies.clock.advance(30_000);
        return 'carried';
      },
    };
    for (const { pending } of payments) {
      await copies.write(pending);
      copies.clock.advance(1);
    }
    await database.run(sql('UPDATE outbox SET shard = 7'));
    await copies.poll(carrier, copies.clock.nowMs() + 1);
    expect(carried).toEqual([payments[0]?.id]);
  });

  test('copies a chain that follows a whole page of failing chains', async () => {
    const { id, pending } = newPayment();
    await database.run(
      sql(
        `INSERT INTO outbox (chain_id, kind, sequence, shard, created_at)
        SELECT 'pay_broken' || number, 'transition', 1, 3, $1::timestamptz FROM generate_series(1, 100) AS number`,
        timestamp(copies.clock.nowMs() - 60_000),
      ),
    );
    await copies.write(pending);
    await database.run(sql('UPDATE outbox SET shard = 3'));
    await copies.poll();
    expect(copies.failures).toHaveLength(100);
    expect(copies.copied(id)).toEqual([1]);
  });
});

describe('an erasure', () => {
  /** Copies nothing, as if the process died right after its commit. */
  const DEAD: Carrier = { carry: async () => 'carried' };

  test('deletes the details in PostgreSQL and their copies, once, with one entry in the activity log', async () => {
    const { id } = newPayment();
    const first = firstWithNotes(id);
    await copies.write(first, refundAfter(first));
    await copies.carrier().carry(id);
    expect(copies.details(id)).toHaveLength(3);
    expect(await copies.erase(id)).toBe(true);
    expect(copies.details(id)).toEqual([]);
    expect(await database.run(sql('SELECT part FROM details WHERE chain_id = $1', id))).toEqual([]);
    expect(await copies.erase(id)).toBe(false);
    const entries = await database.run(sql(`SELECT action FROM activity WHERE body::text LIKE '%' || $1 || '%'`, id));
    expect(entries).toEqual([{ action: 'payment.erased' }]);
    expect(await copies.outbox(id)).toEqual([]);
  });

  test('is finished only after the copies are deleted', async () => {
    const { id } = newPayment();
    await copies.write(firstWithNotes(id));
    await copies.carrier().carry(id);
    const down = copies.tables.clientWith(() => Promise.reject(timedOut()));
    await expect(copies.erase(id, copies.carrier(down))).rejects.toMatchObject({ name: 'RetryableError' });
    expect(copies.details(id)).toHaveLength(1);
    expect(await copies.outbox(id)).toEqual([{ kind: 'erasure', sequence: expect.any(Number) }]);
    expect(await copies.erase(id)).toBe(true);
    expect(copies.details(id)).toEqual([]);
  });

  test('before the first copy prevents the copy of the erased details; details written later are copied', async () => {
    const { id } = newPayment();
    const first = firstWithNotes(id);
    await copies.write(first);
    expect(await copies.erase(id)).toBe(true);
    const refund = refundAfter(first);
    await copies.write(refund);
    await copies.poll();
    expect(copies.copied(id)).toEqual([1, 2]);
    expect(copies.details(id).map((row) => row[KeyAttribute.sort])).toEqual(['dec_1', 'ref_1']);
  });

  test('deletes the copied details only after all earlier transitions are copied, even if that takes several transactions', async () => {
    const { id } = newPayment();
    const [first, ...later] = chainOfAllKinds(id);
    invariant(first !== undefined, 'the chain is empty');
    await copies.write(first);
    await copies.carrier().carry(id);
    await copies.write(...later);
    await expect(copies.erase(id, DEAD)).rejects.toMatchObject({ code: 'erasure_unfinished' });
    const copiedAtDeletion: number[] = [];
    copies.tables.listen((changes) => {
      for (const { after } of changes) if (after === undefined) copiedAtDeletion.push(copies.copied(id).length);
    });
    await copies.carrier().carry(id);
    expect(copiedAtDeletion).toEqual([1 + later.length]);
    expect(copies.details(id)).toEqual([]);
  });

  test('deletes only earlier data, even if the copies are deleted after a second erasure and later writes', async () => {
    const { id } = newPayment();
    const first = firstWithNotes(id);
    await copies.write(first);
    await copies.carrier().carry(id);
    await expect(copies.erase(id, DEAD)).rejects.toMatchObject({ code: 'erasure_unfinished' });
    const refund = refundAfter(first);
    await copies.write(refund);
    await expect(copies.erase(id, DEAD)).rejects.toMatchObject({ code: 'erasure_unfinished' });
    expect((await copies.outbox(id)).map(({ kind }) => kind)).toEqual(['erasure', 'erasure', 'transition']);
    await copies.write(refundAfter(refund));
    await copies.poll();
    expect(copies.details(id).map((row) => row[KeyAttribute.sort])).toEqual(['dec_2', 'ref_2']);
  });
});
