import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { RegistryRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { fingerprintOf } from '../../../../lambdas/kernel/fingerprint.ts';
import { storedOperationId } from '../../../../lambdas/kernel/ids.ts';
import { approve } from '../../../../lambdas/operators/use/approve.ts';
import { changeByOperator } from '../../../../lambdas/operators/use/change-by-operator.ts';
import { correctLedger } from '../../../../lambdas/operators/use/correct-ledger.ts';
import { changeIdOf } from '../../../../lambdas/payments/ids.ts';
import type { CreatePayment } from '../../../../lambdas/payments/use/create-payment.ts';
import { paymentRequest } from '../../../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../../../support/causes.ts';
import { TABLES } from '../../tables.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

const LIMIT = { aboveMinor: { '*': 500 }, lifetimeMs: 3_600_000 };
const BEN = { name: 'Ben Example', person: 'Ben Example', identity: 'key_ben' };

let harness: World;
let world: ReturnType<typeof watched>;
let request: CreatePayment;
beforeEach(async () => {
  harness = new World();
  world = watched(harness);
  Object.assign(world.world, { settings: { emailsADay: 1, approvals: { ...LIMIT, aboveMinor: 500 } } });
  request = paymentRequest('corrected');
  await harness.pay(request);
});

async function correct(key: string, waits: boolean): Promise<void> {
  await correctLedger(
    { ...harness.tools, ...(waits ? { approvals: LIMIT } : {}) },
    {
      cause: BY_OPERATOR,
      by: OPERATOR,
      operationId: storedOperationId(`cor_${key}`),
      fingerprint: fingerprintOf(harness.tools.digest, { body: {}, query: {} }),
      payment: request.paymentId,
      reason: 'Booked twice',
      asked: { kind: 'correction', change: { kind: 'reverse', sequence: 2 } },
    },
  );
}

async function refund(key: string, amountMinor: number, waits: boolean): Promise<void> {
  const { paymentId } = request;
  const { digest } = harness.tools;
  await changeByOperator(
    { ...harness.tools, ...(waits ? { approvals: LIMIT } : {}) },
    {
      kind: 'refund',
      operationId: changeIdOf(digest, 'refund', paymentId, [key]),
      requestId: storedOperationId(`chr_${key}`),
      paymentId,
      fingerprint: fingerprintOf(digest, { body: {}, query: {} }),
      amountMinor,
      reason: 'Asked by phone',
      by: OPERATOR,
      cause: BY_OPERATOR,
      receivedAtMs: harness.clock.nowMs(),
    },
  );
}

const row = () => harness.store.database.items(TABLES.registry, RegistryRow.approvals)[0] ?? {};
const rewrite = (changes: object) =>
  harness.store.database.client.send(new PutCommand({ TableName: TABLES.registry, Item: { ...row(), ...changes } }));
const wrong = () => world.all().flatMap(({ oracle, what }) => (oracle.startsWith('a second person') ? [what] : []));

describe('a correction above the limit', () => {
  test('takes effect only if a second person approves it before the approval request expires', async () => {
    await correct('waits', true);
    expect(wrong()).toEqual([]);
    const { id } = row() as { readonly id: string };
    await approve(harness.tools, { id, by: BEN, cause: BY_OPERATOR });
    expect(wrong()).toEqual([]);
    const { end } = row() as { readonly end: object };
    await rewrite({ end: { ...end, by: { ...BEN, name: OPERATOR.name } } });
    expect(wrong()).toEqual(['was decided by the person who requested it']);
    await rewrite({ end, expiresAtMs: 0 });
    expect(wrong()).toEqual(['was decided after its expiry']);
    await rewrite({ end: { ...end, verdict: 'rejected' }, expiresAtMs: Number.MAX_SAFE_INTEGER });
    expect(wrong()).toEqual(['is rejected, but has 1 effects']);
  });

  test('must not have an effect if its stored approval request shows no approval', async () => {
    await correct('restored', true);
    const { id } = row() as { readonly id: string };
    await approve(harness.tools, { id, by: BEN, cause: BY_OPERATOR });
    const { end: _lost, ...open } = row();
    await harness.store.database.client.send(new PutCommand({ TableName: TABLES.registry, Item: open }));
    expect(wrong()).toEqual(['is undefined, but has 1 effects']);
  });

  test('must not take effect without a second person', async () => {
    await correct('alone', false);
    expect(wrong()).toEqual(['cor_alone over 1000 took effect without a second person']);
  });
});

describe('a refund that an operator requests', () => {
  test('takes effect above the limit only if a second person approves it', async () => {
    await refund('waits', 600, true);
    expect(wrong()).toEqual([]);
    const { id } = row() as { readonly id: string };
    await approve(harness.tools, { id, by: BEN, cause: BY_OPERATOR });
    expect(harness.processor.charges(request.paymentId)[0]?.refunds).toMatchObject([{ amountMinor: 600 }]);
    expect(wrong()).toEqual([]);
    const { end } = row() as { readonly end: object };
    await rewrite({ end: { ...end, verdict: 'rejected' } });
    expect(wrong()).toEqual(['is rejected, but has 1 effects']);
  });

  test('needs an approval if it exceeds the limit together with earlier refunds by operators', async () => {
    await refund('first', 300, true);
    expect(wrong()).toEqual([]);
    await refund('second', 300, false);
    const id = changeIdOf(harness.tools.digest, 'refund', request.paymentId, ['second']);
    expect(wrong()).toEqual([`${id} over 600 took effect without a second person`]);
  });

  test('may exceed the limit together with refunds that others created at the processor', async () => {
    await harness.processor.inside.refund(harness.chargeOf(request), 600, 'succeeded');
    await refund('small', 100, false);
    expect((await harness.chain(request)).transitions.map(({ type }) => type)).toContain('refund.completed');
    expect(harness.processor.charges(request.paymentId)[0]?.refunds).toHaveLength(2);
    expect(wrong()).toEqual([]);
  });
});
