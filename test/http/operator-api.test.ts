/** Tests the guarantee "named actors". */
import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from '@jest/globals';
import type { KeyId } from '../../lambdas/kernel/cause.ts';
import { ROLES } from '../../lambdas/kernel/contract/api.ts';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { idOfApiKey } from '../../lambdas/tenants/store/tenant-administration.ts';
import { DynamoDbApiKeyRegistry, keyRowKey } from '../../lambdas/tenants/store/tenant-registry.ts';
import { keyOfTenant } from '../api-docs/provoked-problems.ts';
import { Api, as, dataOf, OPERATOR_KEY, UNKNOWN_TENANT } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';

const OTHER = 'ok_zyxwvutsrqponmlkjihgfe';

describe('an operator', () => {
  test('may read in every role, and make corrections in every role except viewer', async () => {
    const api = new Api();
    const payment = await api.paid('k');
    const statuses = [];
    for (const role of ROLES) {
      const key = `ok_${role.padEnd(30, 'x')}`;
      api.registerOperator(key, { role, operator: role });
      const read = await api.get('/v1/admin/jobs', as(key));
      const act = await api.correct(`c-${role}`, { payment, reverses: 2, dry_run: true }, as(key));
      statuses.push([role, read.status, act.status]);
    }
    expect(statuses).toEqual([
      ['viewer', 200, 403],
      ['operator', 200, 200],
      ['approver', 200, 200],
      ['owner', 200, 200],
    ]);
  });

  test('is recorded by name and key id in transitions and in the activity log', async () => {
    const api = new Api();
    const payment = await api.paid('k');
    const made = await api.correct('c', { payment, reverses: 2 });
    expect(made.body).toMatchObject({ operator: 'Ada Example' });
    const caused = { type: 'operator', operator: 'Ada Example', identity: idOfApiKey(OPERATOR_KEY) };
    const transitions = await api.get(`/v1/payments/${payment}/transitions`);
    expect(dataOf(transitions).at(-1)).toMatchObject({ type: 'ledger.corrected', caused_by: caused });
    const entries = await api.get('/v1/admin/activity?tenant=ten_desk&mode=test');
    expect(dataOf(entries)).toMatchObject([{ action: 'correction.made', caused_by: caused }]);
    await api.run('r');
    expect(dataOf(await api.get('/v1/admin/activity'))).toMatchObject([
      { action: 'job.run_requested', caused_by: caused },
    ]);
  });

  test('gets the same response body whether their key is revoked, expired or unknown', async () => {
    const api = new Api();
    const nowMs = api.clock.nowMs();
    api.registerOperator('ok_revokedrevokedrevokedrev', { revokedAtMs: nowMs });
    api.registerOperator('ok_expiredexpiredexpiredexp', { expiresAtMs: nowMs });
    const bodies = [];
    for (const key of ['ok_revokedrevokedrevokedrev', 'ok_expiredexpiredexpiredexp', OTHER, 'ok_short', '']) {
      const { status, body } = await api.get('/v1/admin/jobs', as(key));
      bodies.push({ ...body, request_id: '', status });
    }
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    expect(bodies[0]).toMatchObject({ status: 401, code: 'unauthorized' });
  });

  test('cannot access tenant data with an operator key without naming a tenant', async () => {
    const api = new Api();
    const payment = await api.paid('k');
    for (const path of ['/v1/payments', `/v1/payments/${payment}`, '/v1/balances', '/v1/events', '/v1/orders'])
      expect((await api.get(path, as(OPERATOR_KEY))).status).toBe(401);
  });

  test('gets the stored response when retrying with another API key of the same person', async () => {
    const api = new Api();
    const payment = await api.paid('k');
    api.registerOperator(OTHER, { operator: 'Ada Example' });
    const first = await api.correct('c', { payment, reverses: 2 });
    const again = await api.correct('c', { payment, reverses: 2 }, as(OTHER));
    expect([again.text, again.headers['Idempotency-Replayed']]).toEqual([first.text, 'true']);
  });
});

describe('the API key routes', () => {
  test('list a key, revoke it once by its id, and name the operator in the activity log', async () => {
    const api = new Api();
    const id = await api.storeOperatorKey(OTHER, { operator: 'Bob Example', role: 'operator' });
    expect(dataOf(await api.get('/v1/admin/keys'))).toMatchObject([{ id, name: 'Bob Example', revoked: null }]);

    const revoked = await api.revoke(id);
    api.clock.advance(60_000);
    const again = await api.revoke(id);

    expect([revoked.status, again.text]).toEqual([200, revoked.text]);
    expect(revoked.body['revoked']).toEqual(expect.any(Number));
    expect(dataOf(await api.get('/v1/admin/activity'))).toMatchObject([
      { action: 'operator_key.revoked', about: [id], caused_by: { type: 'operator', operator: 'Ada Example' } },
    ]);
    expect((await api.revoke(`key_${'a'.repeat(16)}`)).status).toBe(404);
    expect((await api.revoke(id, { revoked: false })).body).toMatchObject({
      code: 'invalid_request',
      param: 'revoked',
    });
  });

  test('refuse with 409 to revoke the last owner key, even if requests to revoke the last two are concurrent', async () => {
    const api = new Api();
    const owner = { operator: 'Ada Example', role: 'owner' } as const;
    const ids = [await api.storeOperatorKey(OTHER, owner), await api.storeOperatorKey(`${OTHER}2`, owner)];
    await api.storeOperatorKey(`${OTHER}3`, { operator: 'Bob Example', role: 'approver' });
    const soon = await api.storeOperatorKey(`${OTHER}4`, { ...owner, expiresAtMs: api.clock.nowMs() + 60_000 });
    expect((await api.revoke(soon)).status).toBe(200);

    const both = await Promise.all(ids.map((id) => api.revoke(id)));
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 409]));
    const kept = ids[both.findIndex(({ status }) => status === 409)] ?? '';
    const again = await api.revoke(kept);
    expect([again.status, again.body['code']]).toEqual([409, 'last_owner_key']);
    expect(dataOf(await api.get('/v1/admin/keys')).find(({ id }) => id === kept)).toMatchObject({ revoked: null });

    const successor = await api.storeOperatorKey(`${OTHER}5`, owner);
    expect((await api.revoke(kept)).status).toBe(200);
    expect((await api.revoke(successor)).body).toMatchObject({ code: 'last_owner_key' });
  });

  test('create a tenant key and show its secret only in the first response', async () => {
    const { api, tenant, body, made, id } = await keyOfTenant();
    const secret = String(made.body['secret']);
    expect([made.status, made.body]).toMatchObject([
      201,
      { id: idOfApiKey(secret), object: 'key', tenant, mode: 'live', name: 'Web shop', revoked: null, rolled_to: null },
    ]);
    const again = await api.write('/v1/admin/keys', 'k', body);
    expect([again.status, again.body]).toEqual([201, { ...made.body, secret: null }]);
    expect(again.headers['Idempotency-Replayed']).toBe('true');
    expect((await api.write('/v1/admin/keys', 'k', { ...body, mode: 'test' })).status).toBe(422);
    expect(dataOf(await api.get(`/v1/admin/keys?tenant=${tenant}`))).toMatchObject([{ id }]);
    const tables = Object.values(TABLES).map((table) => api.store.database.items(table));
    expect(JSON.stringify(tables)).not.toContain(secret);
    const stored = new DynamoDbApiKeyRegistry(api.store.database.client, TABLES.registry, {
      clock: api.clock,
      entropy: api.world.entropy,
    });
    expect((await api.with({ keys: stored }).get('/v1/payments', as(secret))).status).toBe(200);
    const unknown = await api.write('/v1/admin/keys', 'other', { ...body, tenant: UNKNOWN_TENANT });
    expect(unknown.body).toMatchObject({ status: 404, code: 'not_found' });
  });

  test('replace a tenant key only once, even after concurrent requests', async () => {
    const { api, tenant, id } = await keyOfTenant();
    const rolls = await Promise.all(['a', 'a', 'b', 'c'].map((key) => api.write(`/v1/admin/keys/${id}/roll`, key, {})));
    const [first, ...others] = rolls.filter(({ body }) => typeof body['secret'] === 'string');
    expect(others).toEqual([]);
    for (const { status, body } of rolls.filter((reply) => reply !== first))
      expect(status === 201 ? body['secret'] : body['code']).toBe(status === 201 ? null : 'key_ended');
    const keys = dataOf(await api.get(`/v1/admin/keys?tenant=${tenant}`));
    expect(keys).toHaveLength(2);
    expect(keys.find((key) => key['id'] === id)).toMatchObject({ rolled_to: first?.body['id'] });
  });

  test('can neither create nor replace an operator key, so that no owner can act as another person', async () => {
    const api = new Api();
    const id = await api.storeOperatorKey(OTHER, { operator: 'Bob Example', role: 'approver' });
    expect((await api.write(`/v1/admin/keys/${id}/roll`, 'r', {})).status).toBe(404);
    const body = { operator: 'Bob Example', role: 'approver' };
    expect((await api.write('/v1/admin/keys', 'k', body)).status).toBe(400);
  });

  test('list keys page by page', async () => {
    const { api, tenant, body } = await keyOfTenant();
    for (const key of ['a', 'b', 'c', 'd']) await api.write('/v1/admin/keys', key, body);
    const first = await api.get(`/v1/admin/keys?tenant=${tenant}&limit=3`);
    const after = String(dataOf(first).at(-1)?.['id']);
    const rest = await api.get(`/v1/admin/keys?tenant=${tenant}&limit=3&starting_after=${after}`);
    expect([first.body['has_more'], rest.body['has_more']]).toEqual([true, false]);
    const ids = [...dataOf(first), ...dataOf(rest)].map((key) => String(key['id']));
    expect([new Set(ids).size, ids]).toEqual([5, ids.toSorted()]);
  });

  test('list a key even if the rows of preceding keys were deleted', async () => {
    const { api, tenant, body } = await keyOfTenant();
    for (const key of ['a', 'b', 'c', 'd']) await api.write('/v1/admin/keys', key, body);
    const keys = dataOf(await api.get(`/v1/admin/keys?tenant=${tenant}`)).map((key) => key['id'] as KeyId);
    for (const id of keys.slice(0, 3)) {
      const Key = keyRowKey(RegistryRow.apiKey, id);
      await api.store.database.client.send(new DeleteCommand({ TableName: TABLES.registry, Key }));
    }
    const page = await api.get(`/v1/admin/keys?tenant=${tenant}&limit=1`);
    expect([dataOf(page).map(({ id }) => id), page.body['has_more']]).toEqual([keys.slice(3, 4), true]);
  });
});
