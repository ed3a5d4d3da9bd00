/** Imports a deployment's payments from DynamoDB into PostgreSQL. Tests the guarantee "moved payments". */
import { DeleteCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { STATE_VALID_MS } from '../../lambdas/authority/contract.ts';
import { cancelImport, copyChains } from '../../lambdas/authority/import-authority.ts';
import { readAuthorityState } from '../../lambdas/authority/store/authority-state.ts';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { type OperationId, ownerToken, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { detailsKey } from '../../lambdas/once/store/details-rows.ts';
import { recordKey } from '../../lambdas/once/store/record-items.ts';
import type { Approval } from '../../lambdas/operators/domain/approval.ts';
import { nextOrderTransitions } from '../../lambdas/orders/domain/order-transition.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { paymentPartition, transitionSort } from '../../lambdas/payments/store/items.ts';
import type { Effect } from '../../lambdas/payments/use/effect-store.ts';
import type { Statement } from '../../lambdas/postgres/database.ts';
import { correctionApproval } from '../operators/approving-store-suite.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { draftsOf, firstOf } from '../orders/order-store-suite.ts';
import { chainOfAllKinds } from '../payments/carried-chain.ts';
import {
  callback,
  completedRecord,
  openRecord,
  paymentIdFor,
  paymentRequest,
  pendingTransition,
} from '../payments/payment-fixtures.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { createDatabase, databaseOf, openTestDatabase, type StoreDatabase } from '../postgres/store-database.ts';
import { OPERATOR, requestedAt } from '../support/causes.ts';
import { ALL_DUE } from '../support/due.ts';
import { type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { Actor, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { SDK_ERRORS } from '../support/faulty-client.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { TABLES } from '../world/tables.ts';
import { MovingDeployment } from './moving-deployment.ts';

let database: StoreDatabase;
let moving: MovingDeployment;
beforeAll(async () => {
  database = openTestDatabase(await createDatabase());
});
afterAll(() => database.close());
beforeEach(async () => {
  moving = await new MovingDeployment(database).begin();
});

const QUIET = { segments: 2, progress: () => undefined };
const ALL = { afterSequence: 0, limit: 1_000 };
const stateOf = (of: MovingDeployment) => readAuthorityState(of.tools());
const countIn = async (table: string) =>
  Number((await database.run(sql(`SELECT count(*) FROM ${table}`)))[0]?.['count']);

describe('an import', () => {
  test('copies every kind of row: each PostgreSQL store returns the same as its DynamoDB counterpart', async () => {
    const { store } = moving.world;
    const chain = chainOfAllKinds(paymentIdFor('all-kinds'));
    await store.write(chain);
    const id = chain[0]?.payment.id;
    invariant(id !== undefined, 'the chain is empty');
    const at = chain[0]?.occurredAtMs ?? 0;

    // Claims: held, postponed, released, undecidable and completed.
    const ids = ['held', 'postponed', 'released', 'done'].map((key) => paymentIdFor(key));
    const [, postponed = id, released = id, done = id] = ids;
    for (const each of ids) {
      const pending = pendingTransition(each, `invoice #${each}`);
      const { tenantId, mode, reference = '' } = pending.payment;
      await store.claim({ record: openRecord(each), pending, reference: { name: { tenantId, mode, reference } } });
    }
    const stale = openRecord(postponed);
    await store.takeOver({ stale, owner: ownerToken('rival'), leaseExpiresAtMs: stale.leaseExpiresAtMs + 5 });
    const taken = await store.readRecord(chargeOperation(postponed));
    invariant(taken?.status === 'INPROGRESS', 'the claim is completed');
    await store.postponeClaim(taken, { dueAtMs: at + 99_000, undecidable: true });
    await store.release(chargeOperation(released), openRecord(released).owner);
    await store.commit({ record: completedRecord(done), expects: 'open' });

    const effect = (eventId: string, rest: Partial<Effect> = {}): Effect => ({
      record: {
        operationId: callbackOperation(systemDigest, 'memory', eventId),
        owner: ownerToken('owner'),
        recordedAtMs: at,
        expiresAtSeconds: Math.ceil(at / 1000) + 60,
      },
      transitions: [],
      ...rest,
    });
    const orphan = (eventId: string, isForeign: boolean) => ({
      operationId: effect(eventId).record.operationId,
      event: callback(eventId, 'ch_\u0000', 'charge "changed"'),
      reason: 'charge_unknown' as const,
      receivedAtMs: at,
      ...(isForeign ? { isForeign } : {}),
    });
    for (const eventId of ['evt_waiting', 'evt_foreign', 'evt_kept'])
      await store.recordEffect(effect(eventId, { orphan: orphan(eventId, eventId === 'evt_foreign') }));
    await store.giveUp(orphan('evt_kept', false));
    const inquiries = (['payer', 'bank', 'books'] as const).map((waitsFor, index) => ({
      operationId: storedOperationId(`ch_${index}`),
      paymentId: id,
      claimedAtMs: at,
      waitsFor,
    }));
    const unknown = { operationId: chargeOperation(id), paymentId: id, claimedAtMs: at };
    const undecided = { ...unknown, operationId: storedOperationId('ref_undecided') };
    const toReturn = [{ paymentId: id, chargeId: 'ch_stray', by: 'void' as const, foundAtMs: at }];
    await store.recordEffect(
      effect('evt_queues', {
        inquiries: [...inquiries, unknown, undecided],
        toReturn,
        hold: { paymentId: id, authorizedAtMs: at },
      }),
    );
    await store.postponeInquiry(undecided, { dueAtMs: at + 3_600_000, undecidable: true });

    const { orderId } = orderRequest('imported');
    const first = firstOf(orderId);
    const more = nextOrderTransitions(systemDigest, first, draftsOf(first), requestedAt(first.occurredAtMs + 5));
    await store.appendToOrder({ transitions: [first, ...more], open: { orderId, createdAtMs: at, sequence: 3 } });
    const correction = (key: string): OperationId => storedOperationId(`cor_${key}`);
    const recordOf = (operationId: OperationId) => ({
      operationId,
      paymentId: id,
      owner: ownerToken('o'),
      recordedAtMs: at,
    });
    const approvals: Approval[] = [];
    for (const [index, verdict] of ([undefined, 'rejected', 'approved'] as const).entries()) {
      const approval = correctionApproval(id, correction(`a${index}`), at + index);
      approvals.push(approval);
      await store.recordEffect({ record: recordOf(correction(`a${index}`)), transitions: [], approval });
      if (verdict === undefined) continue;
      const ended = { approval, end: { verdict, by: OPERATOR, atMs: at + 9 } };
      await store.recordEffect({ record: recordOf(approval.id), transitions: [], ended });
    }

    expect(await moving.finish()).toMatchObject({ kind: 'finished', different: [], differentRows: [] });
    const postgres = moving.postgres();
    const unreadable = (error: unknown): never => {
      throw error;
    };
    const [own, work] = [postgres.effects(), postgres.work(unreadable)];
    expect(await postgres.store.listTransitions(id, ALL)).toEqual(await store.listTransitions(id, ALL));
    expect(await postgres.orders().listOrderTransitions(orderId, ALL)).toEqual(
      await store.listOrderTransitions(orderId, ALL),
    );
    for (const each of ids) {
      const operationId = chargeOperation(each);
      expect(await postgres.store.readRecord(operationId)).toEqual(await store.readRecord(operationId));
      const rival = pendingTransition(paymentIdFor(`rival-${each}`), `invoice #${each}`);
      const { tenantId, mode, reference = '' } = rival.payment;
      const claim = {
        record: openRecord(rival.payment.id),
        pending: rival,
        reference: { name: { tenantId, mode, reference } },
      };
      expect(await postgres.store.claim(claim)).toEqual({ kind: 'reference_taken', paymentId: each });
    }
    for (const operationId of store.effectIds())
      expect(await own.readEffect(operationId)).toEqual(await store.readEffect(operationId));
    const idsOf = (claims: readonly { readonly operationId: OperationId }[]) =>
      claims.map(({ operationId }) => operationId).toSorted();
    for (const untilMs of [at + 98_000, at + 3_000_000, Number.MAX_SAFE_INTEGER]) {
      const due = { untilMs, limit: 100 };
      expect(idsOf(await work.staleClaims(due))).toEqual(idsOf(await store.staleClaims(due)));
      expect(idsOf(await work.unknownOutcomes(due))).toEqual(idsOf(await store.unknownOutcomes(due)));
      expect(idsOf(await work.routineInquiries(due))).toEqual(idsOf(await store.routineInquiries(due)));
    }
    expect(await work.undetermined(9)).toEqual(await store.undetermined(9));
    expect(await work.chargesToReturn(ALL_DUE)).toEqual(await store.chargesToReturn(ALL_DUE));
    expect(await postgres.orders().openOrders(ALL_DUE)).toEqual(await store.openOrders(ALL_DUE));
    expect((await postgres.holds.dueBefore(Number.MAX_SAFE_INTEGER, { limit: 9 })).rows.map(({ row }) => row)).toEqual(
      store.holdsLeft(),
    );
    for (const which of ['own', 'foreign'] as const)
      expect(await own.waiting(which, ALL_DUE)).toEqual(await store.waiting(which, ALL_DUE));
    expect(await countIn('orphan')).toBe(3);
    expect(await postgres.approvals.listApprovals({ limit: 9 })).toEqual(await store.listApprovals({ limit: 9 }));
    expect(approvals).toHaveLength(3);
    expect(await countIn('outbox')).toBe(0);
  });

  test('copies thousands of payments, resumes after interruptions, and finds nothing left to copy when repeated', async () => {
    const { world } = moving;
    const count = whole(10_000, { slice: 30 });
    for (let made = 0; made < count; made += 1) {
      const outcome = made % 10 === 0 ? 'tok_declined' : 'tok_ok';
      await world.pay(
        paymentRequest(`many-${made}`, { source: outcome, ...(made % 3 === 0 ? { reference: `r-${made}` } : {}) }),
      );
    }
    const [transitions, records] = [
      world.store.allTransitions().length,
      world.store.database.items(TABLES.idempotency).length,
    ];

    for (const share of [6, 3]) {
      let left = (count * 4) / share;
      const interrupted = {
        ...database,
        run: (statement: Statement) =>
          (left -= 1) > 0 ? database.run(statement) : Promise.reject(new Error('the connection is lost')),
      };
      await expect(copyChains(moving.tools({ database: interrupted }), QUIET)).rejects.toThrow(
        'the connection is lost',
      );
    }
    expect(await copyChains(moving.tools(), QUIET)).toMatchObject({ read: count, different: [] });
    expect(await copyChains(moving.tools(), QUIET)).toMatchObject({ read: count, appended: 0, different: [] });
    const finished = await moving.finish();
    expect(finished).toMatchObject({ kind: 'finished', read: count, appended: 0, different: [], differentRows: [] });
    expect('rows' in finished && finished.rows).toMatchObject({
      idempotency: records,
      reference: Math.ceil(count / 3),
    });
    expect(await countIn('transition')).toBe(transitions);
    expect(await moving.finish()).toEqual({ kind: 'postgres' });
    expect(await copyChains(moving.tools(), QUIET)).toEqual({ kind: 'postgres' });

    const { store } = await moving.start('postgres');
    const first = paymentRequest('many-1');
    const { answer } = (await world.pay(first, { store })) as { readonly answer?: object };
    expect(answer).toEqual(
      ((await world.store.readRecord(chargeOperation(first.paymentId))) as { readonly answer?: object }).answer,
    );
  });
});

describe('an import with a difference', () => {
  const id = paymentIdFor('differs');
  const ledgerKey = { [KeyAttribute.partition]: paymentPartition(id), [KeyAttribute.sort]: transitionSort(2) };
  const update = (TableName: string, Key: object, name: string, value: unknown) =>
    moving.world.store.database.client.send(
      new UpdateCommand({
        TableName,
        Key: { ...Key },
        UpdateExpression: 'SET #name = :value',
        ExpressionAttributeNames: { '#name': name },
        ExpressionAttributeValues: { ':value': value },
      }),
    );

  interface Difference {
    readonly name: string;
    readonly make: () => Promise<unknown>;
    readonly found: object;
  }
  const differences: readonly Difference[] = [
    {
      name: 'a transition that was changed in PostgreSQL',
      make: () => database.owner.run(sql(`UPDATE transition SET body = '{}' WHERE chain_id = $1 AND sequence = 2`, id)),
      found: { different: [{ chainId: id, because: 'differs' }] },
    },
    {
      name: 'a payment that only PostgreSQL has',
      make: async () => {
        for (const table of ['transition', 'posting'])
          await database.owner.run(
            sql(`UPDATE ${table} SET chain_id = $2 WHERE chain_id = $1`, id, paymentIdFor('other')),
          );
      },
      found: { different: [{ chainId: paymentIdFor('other'), because: 'differs' }] },
    },
    {
      name: 'postings without their transition',
      make: () => database.owner.run(sql('DELETE FROM transition WHERE chain_id = $1', id)),
      found: { different: [{ chainId: id, because: 'differs' }] },
    },
    {
      name: 'a transition that was changed in the Ledger',
      make: () => update(TABLES.ledger, ledgerKey, 'occurredAtMs', 1),
      found: { different: [{ chainId: id, because: 'broken' }] },
    },
    {
      name: 'personal data that does not match its commitment',
      make: () => update(TABLES.registry, detailsKey(id), 'details', { description: 'forged' }),
      found: { different: [{ chainId: id, because: 'details' }] },
    },
  ];

  test.each(sliceOf(differences, 2))('does not finish: $name', async ({ make, found }) => {
    const { world } = moving;
    await world.pay(paymentRequest('differs', { description: 'secret' }));
    await copyChains(moving.tools(), QUIET);
    await make();
    expect(await moving.finish()).toMatchObject({ kind: 'differs', ...found });
    expect(await stateOf(moving)).toEqual({ authority: 'dynamodb', isImporting: true });
    expect(await countIn('idempotency')).toBe(0);
    const { store } = await moving.start('dynamodb');
    await expect(world.pay(paymentRequest('later'), { store })).rejects.toMatchObject({ code: 'authority_importing' });
    expect(await cancelImport(moving.tools())).toBe(true);
    expect(await cancelImport(moving.tools())).toBe(false);
    world.clock.advance(STATE_VALID_MS);
    expect(await world.pay(paymentRequest('later'), { store })).toMatchObject({ kind: 'first' });
  });

  const changes: readonly (readonly [
    what: string,
    statement: string,
    table: string,
    key: Readonly<Record<string, unknown>>,
  ])[] = [
    ['a record', `UPDATE idempotency SET owner = 'another'`, 'idempotency', { operation_id: id }],
    ['a stored response', `UPDATE idempotency SET response = '{}'`, 'idempotency', { operation_id: id }],
    ['a reference', `UPDATE reference SET payment_id = 'pay_another'`, 'reference', { reference: 'r' }],
    [
      'an extra row',
      `INSERT INTO orphan VALUES ('cb_1', now(), 'charge_unknown', NULL, NULL, '{}')`,
      'orphan',
      { rows: 1, expected: 0 },
    ],
  ];
  test.each(sliceOf(changes, 2))(
    'does not finish if PostgreSQL changes during the import: %s',
    async (_, text, table, key) => {
      await moving.world.pay(paymentRequest('differs', { reference: 'r' }));
      let isChanged = false;
      const rival = {
        ...database,
        run: async (statement: Statement) => {
          if (!isChanged && statement.name === (table === 'orphan' ? 'import-count-work' : `import-compare-${table}`)) {
            isChanged = true;
            await database.run(sql(text));
          }
          return database.run(statement);
        },
      };
      expect(await moving.finish(moving.tools({ database: rival }))).toMatchObject({
        kind: 'differs',
        differentRows: [{ table, key: expect.objectContaining(key) }],
      });
      expect(await moving.finish()).toMatchObject({ kind: 'finished', differentRows: [] });
    },
  );

  test('does not finish if this version cannot read a row', async () => {
    await moving.world.pay(paymentRequest('differs'));
    const client = moving.world.store.database.clientWith(async (command, apply) => {
      const answer = await apply();
      if (command !== 'ScanCommand') return answer;
      const { Items = [], ...page } = answer as { readonly Items?: readonly object[] };
      return {
        ...page,
        Items: Items.map((item) => ('answer' in item ? { ...item, answer: 1 } : item)),
      } as typeof answer;
    });
    expect(await moving.finish(moving.tools({ client }))).toMatchObject({
      kind: 'differs',
      differentRows: [{ table: TABLES.idempotency, key: recordKey(chargeOperation(id)) }],
    });
  });

  test('finishes if personal data was erased in DynamoDB since an earlier copy, and erases it in PostgreSQL', async () => {
    await moving.world.pay(paymentRequest('differs', { description: 'secret' }));
    await copyChains(moving.tools(), QUIET);
    expect(await countIn('details')).toBe(1);
    await moving.world.store.database.client.send(
      new DeleteCommand({ TableName: TABLES.registry, Key: detailsKey(id) }),
    );
    expect(await moving.finish()).toMatchObject({ kind: 'finished' });
    expect(await countIn('details')).toBe(0);
  });
});

test('a deployment that began with PostgreSQL has nothing to import', async () => {
  await database.owner.run(sql('TRUNCATE transition'));
  const began = new MovingDeployment(database);
  await began.world.store.activity.recordSettings({ authority: 'postgres' });
  expect(await began.finish()).toEqual({ kind: 'postgres' });
  expect(await stateOf(began)).toEqual({ authority: 'postgres', isImporting: false });
});

test.each([
  ['canceled', (of: MovingDeployment) => cancelImport(of.tools()), { authority: 'dynamodb', isImporting: false }],
  ['replaced by another import', (of: MovingDeployment) => of.finish(), { authority: 'postgres', isImporting: false }],
] as const)('an import that is %s during its comparison does not finish', async (_, act, state) => {
  await moving.world.pay(paymentRequest('replaced'));
  let isDone = false;
  const rival = {
    ...database,
    run: async (statement: Statement) => {
      if (!isDone && statement.name === 'import-count-idempotency') {
        isDone = true;
        await act(moving);
      }
      return database.run(statement);
    },
  };
  expect(await moving.finish(moving.tools({ database: rival }))).toEqual({ kind: 'replaced' });
  expect(await stateOf(moving)).toMatchObject(state);
});

test('an import that is suspended during a statement does not repeat the statement after another import has finished', async () => {
  await moving.world.pay(paymentRequest('replaced'));
  const { clock } = moving.world;
  const seen: string[] = [];
  const suspended = {
    ...database,
    run: async (statement: Statement) => {
      seen.push(statement.name);
      if (statement.name !== 'import-clear-idempotency') return database.run(statement);
      await moving.finish();
      clock.advance(60_000);
      throw new RetryableError('store_unavailable', 'the connection was lost');
    },
  };
  expect(await moving.finish(moving.tools({ database: suspended }))).toEqual({ kind: 'replaced' });
  expect(seen.filter((name) => name.startsWith('import-clear'))).toEqual(['import-clear-idempotency']);
  expect(await countIn('idempotency')).toBe(1);
});

test('a running copy stops after an import has finished', async () => {
  await moving.world.pay(paymentRequest('replaced'));
  let isDone = false;
  const rival = {
    ...database,
    run: async (statement: Statement) => {
      if (!isDone && statement.name === 'chain-import') {
        isDone = true;
        await moving.finish();
      }
      return database.run(statement);
    },
  };
  expect(await copyChains(moving.tools({ database: rival }), QUIET)).toEqual({ kind: 'replaced' });
});

async function importWith(faults: readonly PlannedFault[]): Promise<HistoryRun> {
  const own = await new MovingDeployment(database).begin();
  const { world } = own;
  await world.pay(paymentRequest('history', { reference: 'r', description: 'secret' }));
  const open = paymentIdFor('open');
  await world.store.claim({ record: openRecord(open), pending: pendingTransition(open) });
  const plan = new FaultPlan(faults);
  const actor = new Actor('operator', plan);
  const client = world.store.database.clientWith((command, apply) => actor.call(command, SDK_ERRORS, apply));
  const first = await actor.run(() => own.finish(own.tools({ client, database: databaseOf(actor, database) })));
  const calls = plan.calm();
  const isFinished = (await stateOf(own))?.authority === 'postgres';
  const second = await own.finish();
  const { store } = await own.start('postgres');
  const replay = await world.pay(paymentRequest('history', { reference: 'r', description: 'secret' }), { store });
  const counts = await Promise.all(['transition', 'idempotency', 'reference', 'details'].map(countIn));
  const violations = [
    ...('result' in first && first.result.kind === 'finished' && !isFinished ? ['finished without an entry'] : []),
    ...('result' in first && first.result.kind === 'differs' ? ['a fault counts as a difference'] : []),
    ...(second.kind === (isFinished ? 'postgres' : 'finished') ? [] : [`the repetition: ${second.kind}`]),
    ...(counts.join() === '3,2,1,2' ? [] : [`rows: ${counts.join()}`]),
    ...(replay.kind === 'replay' ? [] : [`the replay: ${replay.kind}`]),
  ];
  return { calls, violations };
}

test('an import with a fault at any call is completed by a repetition', async () => {
  const { findings, histories } = await surveyFaults(importWith, { faults: 1, oneOf: 32 });
  expect(findings).toEqual([]);
  expect(histories).toBeGreaterThan(whole(200, { slice: 5 }));
});
