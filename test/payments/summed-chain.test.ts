import { BatchGetCommand, DeleteCommand, type DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { LedgerRow } from '../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { NO_SUMS } from '../../lambdas/payments/domain/payment-sums.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import { begunBytes } from '../../lambdas/payments/store/sums-item.ts';
import type { ChangePaymentOutcome } from '../../lambdas/payments/use/change-payment.ts';
import { MAX_CHAIN } from '../../lambdas/payments/use/payment-chain.ts';
import { readSummed } from '../../lambdas/payments/use/summed-chain.ts';
import { inTurn, whole } from '../support/slice.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';
import { change, paymentRequest } from './payment-fixtures.ts';

const DAY_MS = 24 * 60 * 60_000;
/** Number of refunds before the change under test. */
const EARLIER = whole(20, { slice: 6 });
const LEFT_MINOR = 100_000 - EARLIER * 100;

let harness: World;
let reads: number;
beforeEach(() => {
  harness = new World();
  reads = 0;
});

const request = paymentRequest('summed', { amountMinor: 100_000 });
const refund = (key: string, amountMinor = 100, reason?: string) =>
  change(request, key, { kind: 'refund', amountMinor, ...(reason === undefined ? {} : { reason }) });
const statusOf = (outcome: ChangePaymentOutcome) => ('answer' in outcome ? outcome.answer.status : outcome.kind);

/** Counts the reads of whole chains. */
async function make(asked: Parameters<World['change']>[0]): Promise<ChangePaymentOutcome> {
  const store = harness.storeMethods();
  const listTransitions: typeof store.listTransitions = (id, page) => {
    if (page.afterSequence === 0) reads += 1;
    return store.listTransitions(id, page);
  };
  return harness.change(asked, { store: { ...store, listTransitions } });
}

async function payAndRefund(): Promise<string> {
  await harness.pay(request);
  for (let number = 0; number < EARLIER; number += 1) await make(refund(`earlier-${number}`, 100, 'Returned'));
  expect(reads).toBe(0);
  return harness.chargeOf(request);
}

type Row = Readonly<Record<string, unknown>>;
const rows = (): readonly Row[] =>
  harness.store.database.items(TABLES.ledger, `${LedgerRow.payment}${request.paymentId}`);

async function rewrite(edit: (row: Row) => Row): Promise<void> {
  for (const row of rows()) {
    await harness.store.database.client.send(new PutCommand({ TableName: TABLES.ledger, Item: edit(row) }));
  }
}

/** An older version wrote rows without sums. */
const removeSums = () => rewrite(({ sums: _sums, begun: _begun, ...older }) => older);

async function deleteRows(lost: readonly Row[]): Promise<void> {
  const keys = [KeyAttribute.partition, KeyAttribute.sort];
  for (const row of lost) {
    const Key = Object.fromEntries(keys.map((name) => [name, row[name]]));
    await harness.store.database.client.send(new DeleteCommand({ TableName: TABLES.ledger, Key }));
  }
}

const refundedMinor = async () => (await harness.chain(request)).state.payment.amountRefundedMinor;

describe('a change that is decided from the sums in the newest transition', () => {
  test('is refused without a read of the chain if it exceeds the amount that earlier refunds left', async () => {
    await payAndRefund();
    expect(await make(refund('all', LEFT_MINOR + 1))).toMatchObject({
      kind: 'refused',
      refusal: { kind: 'exceeds', leftMinor: LEFT_MINOR },
    });
    expect(statusOf(await make(refund('rest', LEFT_MINOR)))).toBe(201);
    expect(reads).toBe(0);
  });

  test('cannot use the amount that a pending refund reserves', async () => {
    await payAndRefund();
    await harness.dieBeforeChange(refund('pending', LEFT_MINOR - 8_000));
    expect(await make(refund('more', 8_001))).toMatchObject({ refusal: { kind: 'exceeds', leftMinor: 8_000 } });
    expect(statusOf(await make(refund('less', 8_000)))).toBe(201);
    expect(reads).toBe(0);
  });

  test('never begins a second time under a key whose record has expired', async () => {
    await payAndRefund();
    harness.clock.advance(9 * DAY_MS);
    for (let number = 0; number < EARLIER; number += 1) {
      const again = refund(`earlier-${number}`, 100, 'Returned');
      harness.store.deleteRecord(again.operationId);
      expect(await make(again)).toMatchObject({ kind: 'key_expired' });
    }
    expect(await refundedMinor()).toBe(EARLIER * 100);
    expect(harness.refundedAtProcessor(request)).toBe(EARLIER * 100);
  });

  test('takes over a pending refund whose record is lost, but only for the same request', async () => {
    await payAndRefund();
    await harness.dieAfterChange(refund('lost', 300, 'Broken'));
    harness.store.deleteRecord(refund('lost').operationId);
    expect(await make(refund('lost', 300, 'Other'))).toEqual({ kind: 'payload_mismatch' });
    expect(statusOf(await make(refund('lost', 300, 'Broken')))).toBe(201);
    expect(harness.refundedAtProcessor(request)).toBe(EARLIER * 100 + 300);
  });

  test('records a refund that was made directly at the processor, and is sent afterwards', async () => {
    const charge = await payAndRefund();
    await harness.processor.inside.refund(charge, 500);
    expect(statusOf(await make(refund('mine')))).toBe(201);
    // The whole chain is read before the send, and again at the commit, because a transition was appended in between.
    expect(reads).toBe(2);
    expect(await refundedMinor()).toBe((EARLIER + 1) * 100 + 500);
    expect(statusOf(await make(refund('next')))).toBe(201);
    expect(reads).toBe(2);
  });

  test('is not sent if a dispute withdrew the money, even without the callback of the dispute', async () => {
    const charge = await payAndRefund();
    await harness.processor.inside.dispute(charge, LEFT_MINOR);
    const late = refund('late');
    expect(statusOf(await make(late))).toBe(409);
    expect(harness.processor.sends(late.operationId)).toBe(0);
    expect((await harness.chain(request)).state.payment.disputes).toHaveLength(1);
  });

  test('reads the whole chain if a refund at the processor replaces a failed refund of the same amount', async () => {
    const charge = await payAndRefund();
    await harness.processor.inside.endRefund(refund('earlier-3').operationId, 'failed');
    await harness.processor.inside.refund(charge, 100);
    expect(statusOf(await make(refund('mine', 150)))).toBe(201);
    const { refunds } = (await harness.chain(request)).state;
    expect(refunds.get(refund('earlier-3').operationId)).toMatchObject({ status: 'failed' });
    expect(refunds.size).toBe(EARLIER + 2);
  });

  test('causes no read of the chain if the processor refuses it, and neither does the next change', async () => {
    await payAndRefund();
    await harness.processor.inside.failNextChange(1, 'tok_declined');
    expect(statusOf(await make(refund('refused')))).toBe(402);
    expect(statusOf(await make(refund('next')))).toBe(201);
    expect(reads).toBe(0);
  });

  test('is refused without a read of the chain during a pending capture, even after many failed captures', async () => {
    const held = paymentRequest('held', { capture: 'manual' });
    await harness.pay(held);
    const capture = (key: string) => change(held, key, { kind: 'capture' });
    for (let number = 0; number < 5; number += 1) {
      await harness.processor.inside.failNextChange(1, 'tok_declined');
      expect(statusOf(await make(capture(`failed-${number}`)))).toBe(402);
    }
    await harness.dieBeforeChange(capture('pending'));
    expect(await make(change(held, 'cancel', { kind: 'cancel' }))).toMatchObject({
      refusal: { kind: 'change_in_progress' },
    });
    expect(reads).toBe(0);
    harness.clock.advance(60_000);
    expect(statusOf(await make(capture('pending')))).toBe(200);
  });
});

describe('rows of an older version, without sums,', () => {
  inTurn(test, { place: 0, of: 3, otherwise: test.skip })(
    'cause at most one read of the whole chain for each bucket of changes, because the next transitions have sums',
    async () => {
      await payAndRefund();
      await removeSums();
      expect(await make(refund('all', LEFT_MINOR + 1))).toMatchObject({
        refusal: { kind: 'exceeds', leftMinor: LEFT_MINOR },
      });
      expect(statusOf(await make(refund('first-0')))).toBe(201);
      expect(reads).toBe(2);
      // Changes are divided into 16 buckets by operation id. A row of an older version does not list the changes of its
      // bucket, so the whole chain is read once for each bucket.
      for (let number = 1; number < 60; number += 1) expect(statusOf(await make(refund(`first-${number}`)))).toBe(201);
      const before = reads;
      expect(before).toBeLessThanOrEqual(2 + 16);
      for (let number = 60; number < 80; number += 1) expect(statusOf(await make(refund(`first-${number}`)))).toBe(201);
      expect(reads - before).toBeLessThanOrEqual(1);
      expect(await refundedMinor()).toBe((EARLIER + 80) * 100);
    },
  );

  test('prevent a second effect under a key whose record has expired', async () => {
    await payAndRefund();
    await removeSums();
    await make(refund('new'));
    harness.clock.advance(9 * DAY_MS);
    for (let number = 0; number < EARLIER; number += 1) {
      const again = refund(`earlier-${number}`, 100, 'Returned');
      harness.store.deleteRecord(again.operationId);
      expect(await make(again)).toMatchObject({ kind: 'key_expired' });
    }
    expect(harness.refundedAtProcessor(request)).toBe((EARLIER + 1) * 100);
  });
});

describe.each([
  ['from the sums', false],
  ['from the whole chain', true],
])('a payment with lost rows, whose changes are decided %s,', (_name, isFolded) => {
  test('repeats no refund whose first transition is lost', async () => {
    await payAndRefund();
    const begun = rows().filter(({ type }) => type === 'refund.pending');
    await deleteRows(begun.slice(0, -2));
    if (isFolded) await removeSums();
    harness.clock.advance(9 * DAY_MS);
    for (let number = 0; number < EARLIER - 2; number += 1) {
      const again = refund(`earlier-${number}`, 100, 'Returned');
      harness.store.deleteRecord(again.operationId);
      expect(await make(again)).toMatchObject({ kind: 'key_expired' });
    }
    expect(harness.refundedAtProcessor(request)).toBe(EARLIER * 100);
  });

  test('does not resend a refund that failed at the processor, even after the failure of another refund', async () => {
    await payAndRefund();
    await harness.processor.inside.failNextChange(1, 'tok_declined');
    expect(statusOf(await make(refund('refused')))).toBe(402);
    const { length } = rows();
    const lost = refund('lost', 500);
    expect(statusOf(await make(lost))).toBe(201);
    await harness.processor.inside.endRefund(lost.operationId, 'failed');
    await deleteRows(rows().slice(length));
    harness.store.deleteRecord(lost.operationId);
    if (isFolded) await removeSums();
    const sends = harness.processor.sends(lost.operationId);
    expect(statusOf(await make(lost))).toBe(402);
    expect(harness.processor.sends(lost.operationId)).toBe(sends);
    expect(await refundedMinor()).toBe(EARLIER * 100);
    expect(harness.refundedAtProcessor(request)).toBe(EARLIER * 100);
  });
});

test('a change of a payment is refused if its chain is too long to be read', async () => {
  await payAndRefund();
  const { paymentId, operationId } = refund('next');
  const { newest } = await harness.chain(request);
  const long: Parameters<typeof readSummed>[0] = {
    ...harness.storeMethods(),
    readEnds: async () => {
      const ends = await harness.store.readEnds(paymentId, operationId);
      return ends && { ...ends, newest: { ...ends.newest, sequence: MAX_CHAIN } };
    },
    listTransitions: async (_id, { limit }) => Array.from({ length: limit }, () => newest),
  };
  await expect(readSummed(long, request, { paymentId, operationId }, 'without notes')).rejects.toThrow(
    `${MAX_CHAIN} or more transitions`,
  );
});

describe('stored sums', () => {
  test.each(['sums', 'begun'])(
    'are ignored if the format of the attribute `%s` is unknown, and the whole chain is read instead',
    async (name) => {
      await payAndRefund();
      await rewrite((row) => (name in row ? { ...row, [name]: new Uint8Array(name === 'sums' ? 7 : 3) } : row));
      expect(await make(refund('all', LEFT_MINOR + 1))).toMatchObject({
        refusal: { kind: 'exceeds', leftMinor: LEFT_MINOR },
      });
      expect(reads).toBe(1);
    },
  );

  test('cannot contain an operation if the number of its first transition does not fit into two bytes', () => {
    const marks = [2 ** 16 - 1];
    expect(() => begunBytes({ starts: [2 ** 16], marks })).toThrow('two bytes');
    expect(begunBytes({ starts: [2 ** 16 - 1], marks })).toEqual(Uint8Array.from([255, 255, 255, 255]));
  });

  test('are covered by the hash of the transition', async () => {
    await payAndRefund();
    const { transitions, newest } = await harness.chain(request);
    expect(firstBrokenLink(systemDigest, transitions)).toBeUndefined();
    const { sums = NO_SUMS, ...without } = newest;
    for (const edited of [without, { ...newest, sums: { ...sums, reservedMinor: 5 } }]) {
      expect(firstBrokenLink(systemDigest, [...transitions.slice(0, -1), edited])).toBe(newest.sequence);
    }
  });

  test('are read again if DynamoDB returns unprocessed keys', async () => {
    await payAndRefund();
    const { client } = harness.store.database;
    let batches = 0;
    const send: typeof client.send = async (command: Parameters<typeof client.send>[0]) => {
      if (!(command instanceof BatchGetCommand)) return client.send(command);
      batches += 1;
      return batches > 1 ? client.send(command) : { UnprocessedKeys: command.input.RequestItems };
    };
    const partly = Object.create(client, { send: { value: send } }) as DynamoDBDocumentClient;
    const store = new Stores(harness.clock, { client: partly });
    const asked = refund('next');
    expect(statusOf(await harness.change(asked, { store, effects: store }))).toBe(201);
    expect(batches).toBe(2);
  });
});
