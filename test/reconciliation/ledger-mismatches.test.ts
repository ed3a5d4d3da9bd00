import { beforeEach, describe, expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { positionAt } from '../../lambdas/payments/use/transition-reader.ts';
import { recordComparison } from '../../lambdas/reconciliation/use/mismatch-view.ts';
import { API_KEY, Api, dataOf } from '../world/api.ts';
import { comparedPayment, differsBy } from './mismatch-fixtures.ts';

const PATH = '/v1/admin/mismatches';
const NOW = Date.UTC(2026, 2, 1, 12) / 1000;

let harness: Api;

beforeEach(() => {
  harness = new Api();
});

describe('the open mismatches', () => {
  const keep = (atMs: number, about = comparedPayment('k-1'), mismatch = differsBy(1250)) =>
    recordComparison({ views: harness.views, digest: systemDigest }, about, mismatch, atMs);

  test('are listed as the scheduled comparisons stored them', async () => {
    const about = comparedPayment('k-1');
    await keep(NOW * 1000);
    await keep((NOW + 3_600) * 1000);

    const reply = await harness.get(PATH);

    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      object: 'list',
      data: [
        {
          id: expect.stringMatching(/^mis_[0-9a-z]+_[a-z2-7]{26}$/),
          object: 'mismatch',
          tenant: 'ten_desk',
          mode: 'test',
          payment: null,
          payment_status: null,
          currency: 'EUR',
          processor_amount: 1250,
          ledger_amount: 1000,
          difference: 250,
          charges: ['ch_1'],
          kind: 'amounts_differ',
          processor: about.books,
          status: 'confirmed',
          first_seen: NOW,
          last_seen: NOW + 3_600,
        },
      ],
      has_more: false,
      compared_until: null,
    });
  });

  test('are listed with the time up to which everything was compared, even if there is no mismatch', async () => {
    await harness.store.jobMarks.moveMark('reconcile-recent', undefined, positionAt(NOW * 1000 + 999));
    expect((await harness.get(PATH)).body).toMatchObject({ data: [], compared_until: NOW });
  });

  test('are filtered by the creation time of their payments, and only operators can read them by id', async () => {
    const at = (second: number) => comparedPayment(`k-${second}`, { createdAtMs: second * 1000 + 500 });
    for (const second of [1, 2, 3]) await keep(1, at(second), differsBy(second));
    const amounts = async (query: string) =>
      dataOf(await harness.get(`${PATH}${query}`)).map(({ processor_amount: amount }) => amount);
    expect(await amounts('?created_from=2')).toEqual([3, 2]);
    expect(await amounts('?created_from=1&created_to=3')).toEqual([2, 1]);
    expect(await amounts('?created_to=1')).toEqual([]);

    const [newest] = dataOf(await harness.get(PATH));
    const path = `${PATH}/${String(newest?.['id'])}`;
    expect((await harness.get(path)).body).toEqual(newest);
    expect((await harness.get(path, { headers: { Authorization: `Bearer ${API_KEY}` } })).status).toBe(401);
  });

  test('are paged over all tenants and modes, including mismatches of charges without a payment', async () => {
    const { owner: _owner, ...nobodys } = comparedPayment('n', { subject: 'ch_9', createdAtMs: 5 });
    await keep(1, nobodys, differsBy(1));
    await keep(1, comparedPayment('k', { createdAtMs: 7 }), differsBy(2));
    await keep(1, comparedPayment('l', { owner: { tenantId: tenantId('ten_other'), mode: 'test' } }), differsBy(3));
    await keep(1, comparedPayment('m', { owner: { tenantId: tenantId('ten_desk'), mode: 'live' } }), differsBy(4));

    const first = await harness.get(`${PATH}?limit=3`);
    const second = await harness.get(`${PATH}?limit=3&starting_after=${String(dataOf(first).at(-1)?.['id'])}`);
    expect([first.body['has_more'], second.body['has_more']]).toEqual([true, false]);
    const seen = [...dataOf(first), ...dataOf(second)].map((each) => [
      each['tenant'],
      each['mode'],
      each['processor_amount'],
    ]);
    expect(seen).toHaveLength(4);
    expect(seen).toEqual(
      expect.arrayContaining([
        [null, null, 1],
        ['ten_desk', 'test', 2],
        ['ten_other', 'test', 3],
        ['ten_desk', 'live', 4],
      ]),
    );
  });

  test.each([
    ['limit=0', 'limit', 'invalid_request'],
    ['tenant=ten_other', 'tenant', 'unknown_parameter'],
    ['created_from=-1', 'created_from', 'invalid_request'],
    ['starting_after=pay_1', 'starting_after', 'invalid_request'],
  ])('cannot be listed with %s: the response is 400 and names %s', async (search, param, code) => {
    const reply = await harness.get(`${PATH}?${search}`);

    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ code, param });
  });
});
