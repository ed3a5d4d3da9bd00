import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { ViewsRow } from '../../../../lambdas/kernel/contract/rows.ts';
import type { CreatePayment } from '../../../../lambdas/payments/use/create-payment.ts';
import { paymentRequest } from '../../../payments/payment-fixtures.ts';
import { TABLES } from '../../tables.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

let harness: World;
let world: ReturnType<typeof watched>;
let request: CreatePayment;
beforeEach(async () => {
  harness = new World();
  world = watched(harness);
  request = paymentRequest('mine');
  await harness.pay(request);
});

const wrong = () => world.all().flatMap(({ oracle, what }) => (oracle.startsWith('F10') ? [what] : []));

function addAnswer(status: number, path: string): void {
  const atMs = harness.clock.nowMs();
  const answer = { status, headers: {}, body: JSON.stringify({ id: request.paymentId }), atMs };
  world.calls.push({ step: 1, tenant: 'stranger', method: 'GET', path, sentAtMs: atMs, answer });
}

describe('an object of one tenant and mode', () => {
  test('must not be in a response to another tenant, unless an error repeats the id from the request', () => {
    addAnswer(404, `/v1/payments/${request.paymentId}`);
    expect(wrong()).toEqual([]);
    addAnswer(409, '/v1/payments');
    addAnswer(200, `/v1/payments/${request.paymentId}`);
    expect(wrong()).toEqual(Array(2).fill('an answer of ten_stranger#test contains an object of ten_fixture#test'));
  });

  test('must not be in an event of the other mode', () => {
    const { tenantId: tenant, paymentId: id } = request;
    const event = { event: { id: 'evt_1', sequence: 2, type: 'payment.completed' }, payment: { id } };
    const publish = (mode: string) =>
      world.published.push({ detailType: 'payment.completed.v1', detail: { tenant, mode, ...event }, atMs: 0 });
    publish('test');
    expect(wrong()).toEqual([]);
    publish('live');
    expect(wrong()).toEqual(['an event of ten_fixture#live contains an object of ten_fixture#test']);
  });

  test('must not be in a list of the other mode', async () => {
    const list = (mode: string) => {
      const pk = `${ViewsRow.event}${request.tenantId}#${mode}`;
      const Item = { pk, sk: 'evt_1', chain: request.paymentId, sequence: 2, body: '{}' };
      return harness.store.database.client.send(new PutCommand({ TableName: TABLES.views, Item }));
    };
    await list('test');
    expect(wrong()).toEqual([]);
    await list('live');
    expect(wrong()).toEqual([expect.stringMatching(/^the list .* of ten_fixture#live contains an object of/)]);
  });

  test('must not be sent to a processor of the other mode', () => {
    expect(wrong()).toEqual([]);
    const { processor } = harness;
    Object.assign(world.world.processors, { live: { ...processor, mode: 'live', inside: processor.inside } });
    expect(wrong()).toContain('a charge of test mode was sent to live');
    expect(wrong()).toContainEqual(expect.stringMatching(/^has ch_.*, which is in live$/));
  });
});
