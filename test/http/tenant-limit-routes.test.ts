import { expect, test } from '@jest/globals';
import { keyOfTenant } from '../api-docs/provoked-problems.ts';
import { Api, as, dataOf, UNKNOWN_TENANT } from '../world/api.ts';

const PATH = '/v1/admin/limits';
const RAISED = { mode: 'live', kind: 'payments', rate: 200, burst: 400 } as const;

test('a tenant has the limits of the deployment until it gets its own', async () => {
  const { api, tenant } = await keyOfTenant();
  const limits = async () => dataOf(await api.get(`${PATH}?tenant=${tenant}`));
  const deployed = [
    { kind: 'payments', rate: 100, burst: 200, is_own: false },
    { kind: 'reads', rate: 100, burst: 200, is_own: false },
    { kind: 'processor_reads', rate: 10, burst: 20, is_own: false },
    { kind: 'admin', rate: 10, burst: 20, is_own: false },
  ];
  const ofMode = (mode: string) => deployed.map((limit) => ({ object: 'limit', tenant, mode, ...limit }));
  expect(await limits()).toEqual([...ofMode('live'), ...ofMode('test')]);

  const set = await api.write(PATH, 'set', { tenant, ...RAISED });
  const own = { object: 'limit', tenant, ...RAISED, is_own: true };
  expect([set.status, set.body]).toEqual([200, own]);
  expect(await limits()).toEqual([own, ...ofMode('live').slice(1), ...ofMode('test')]);

  const reset = await api.write(PATH, 'reset', { tenant, ...RAISED, rate: null, burst: null });
  expect(reset.body).toEqual(ofMode('live')[0]);
  expect(await limits()).toEqual([...ofMode('live'), ...ofMode('test')]);
});

test('a retried change returns the stored response, does not undo a later change, and is not logged again', async () => {
  const { api, tenant } = await keyOfTenant();
  const first = await api.write(PATH, 'first', { tenant, ...RAISED });
  await api.write(PATH, 'later', { tenant, ...RAISED, rate: 50 });
  const again = await api.write(PATH, 'first', { tenant, ...RAISED });
  expect([again.text, again.headers['Idempotency-Replayed']]).toEqual([first.text, 'true']);
  expect((await api.write(PATH, 'first', { tenant, ...RAISED, rate: 51 })).status).toBe(422);
  expect(dataOf(await api.get(`${PATH}?tenant=${tenant}`))[0]).toMatchObject({ rate: 50, burst: 400 });
  const entries = dataOf(await api.get(`/v1/admin/activity?tenant=${tenant}&mode=live`));
  expect(entries.filter(({ action }) => action === 'limit.changed')).toMatchObject([
    { about: ['payments'], details: { rate: '50', burst: '400' } },
    {
      about: ['payments'],
      details: { rate: '200', burst: '400' },
      caused_by: { type: 'operator', operator: 'Ada Example' },
    },
  ]);
});

test('a retried change of a key or a limit gets its stored response even if the authority for payments is a different store', async () => {
  const { api: here, tenant, body, made } = await keyOfTenant();
  const api = here.with({ effects: new Api().world.tools.effects });
  const sent = [await api.write(PATH, 'k', { tenant, ...RAISED }), await api.write(PATH, 'k', { tenant, ...RAISED })];
  expect(sent.map(({ status }) => status)).toEqual([200, 200]);
  expect(sent.map(({ headers }) => headers['Idempotency-Replayed'])).toEqual([undefined, 'true']);
  expect((await api.write(PATH, 'k', { tenant, ...RAISED, rate: 51 })).status).toBe(422);
  const again = await api.write('/v1/admin/keys', 'k', body);
  expect([again.status, again.body]).toEqual([201, { ...made.body, secret: null }]);
});

test('equal concurrent requests change the limit once', async () => {
  const { api, tenant } = await keyOfTenant();
  const sent = await Promise.all(['k', 'k', 'k'].map((key) => api.write(PATH, key, { tenant, ...RAISED })));
  expect(new Set(sent.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  const entries = dataOf(await api.get(`/v1/admin/activity?tenant=${tenant}&mode=live`));
  expect(entries.filter(({ action }) => action === 'limit.changed')).toHaveLength(1);
});

test('a request with a malformed limit, an unknown tenant or a role other than owner changes nothing', async () => {
  const { api, tenant } = await keyOfTenant();
  for (const [param, change] of [
    ['rate', { rate: 0 }],
    ['rate', { rate: 10_001 }],
    ['rate', { rate: undefined }],
    ['burst', { burst: 1.5 }],
    ['burst', { burst: null }],
    ['kind', { kind: 'all' }],
    ['mode', { mode: 'prod' }],
    ['tenant', { tenant: 'shop' }],
  ] as const) {
    const { body } = await api.write(PATH, 'k', { tenant, ...RAISED, ...change });
    expect([change, body]).toEqual([change, expect.objectContaining({ code: 'invalid_request', param })]);
  }
  const unknown = await api.write(PATH, 'k', { tenant: UNKNOWN_TENANT, ...RAISED });
  expect(unknown.body).toMatchObject({ status: 404, code: 'not_found' });
  const approver = 'ok_approverapproverapprover';
  api.registerOperator(approver, { operator: 'Ben Example', role: 'approver' });
  expect((await api.write(PATH, 'k', { tenant, ...RAISED }, as(approver))).status).toBe(403);
  expect(dataOf(await api.get(`${PATH}?tenant=${tenant}`, as(approver))).some((limit) => limit['is_own'])).toBe(false);
  // Refusals are not stored.
  expect((await api.write(PATH, 'k', { tenant, ...RAISED })).status).toBe(200);
});
