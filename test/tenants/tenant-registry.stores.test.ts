/** Tests the guarantee "valid credentials". */
import { createHash } from 'node:crypto';
import { PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { ALL_SCOPES, Scopes } from '../../lambdas/kernel/contract/api.ts';
import { type TenantId, tenantId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemClock, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import { DynamoDbOperatorKeys } from '../../lambdas/tenants/store/operator-registry.ts';
import { idOfApiKey, TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { knownTenants } from '../../lambdas/tenants/store/tenant-owners.ts';
import { DynamoDbApiKeyRegistry } from '../../lambdas/tenants/store/tenant-registry.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';

const client = documentClient(dynamoDbClient());
let table = '';
let administration: TenantAdministration;
let registry: DynamoDbApiKeyRegistry;
let shop: TenantId;

beforeAll(async () => {
  const tables = await createTables('registry');
  table = tables.registry;
  administration = new TenantAdministration(client, tables, 'test');
  registry = new DynamoDbApiKeyRegistry(client, table, { clock: systemClock, entropy: systemEntropy });
  shop = await administration.createTenant('Shop');
});

const find = (key: string) => registry.findByHash(createHash('sha256').update(key).digest('hex'));
const paymentsKey = (): Promise<string> =>
  administration.createApiKey({ name: 'Test', tenantId: shop, mode: 'test', scopes: ALL_SCOPES });

test('a tenant id is known only after the tenant is created', async () => {
  const isTenant = knownTenants(client, table, { clock: systemClock, entropy: systemEntropy });
  const local = tenantId('ten_local');
  expect([await isTenant(shop), await isTenant(local)]).toEqual([true, false]);
  await administration.createTenant('Local', { id: local });
  expect([await isTenant(local), await isTenant(shop), await isTenant(tenantId('ten_'))]).toEqual([true, true, false]);
  await administration.createTenant('Another', { id: local });
  expect(await administration.listTenants()).toContainEqual(expect.objectContaining({ id: local, name: 'Local' }));
});

describe('an API key', () => {
  test('is found immediately by its hash, with its tenant, mode and scopes', async () => {
    const key = await administration.createApiKey({
      name: 'Test',
      tenantId: shop,
      mode: 'live',
      scopes: [Scopes.paymentsRead],
    });
    expect(key).toMatch(/^sk_live_[\w-]{43}$/);
    expect(await find(key)).toMatchObject({ tenantId: shop, mode: 'live', scopes: ['payments:read'] });
    expect(await find(`${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`)).toBeUndefined();
  });

  test('contains its mode and is unique', async () => {
    const [one, two] = [await paymentsKey(), await paymentsKey()];
    expect(one).toMatch(/^sk_test_/);
    expect(one).not.toBe(two);
  });

  test('is not stored in the table, except for its last characters', async () => {
    const key = await paymentsKey();
    const { Items } = await client.send(new ScanCommand({ TableName: table, ConsistentRead: true }));
    const stored = JSON.stringify(Items);
    expect(stored).toContain(`"hint":"${key.slice(-4)}"`);
    expect(stored).not.toContain(key.slice('sk_test_'.length, -4));
  });

  test('is found as revoked after its revocation, and cannot be revoked again', async () => {
    const key = await paymentsKey();
    expect(await administration.revokeKey(idOfApiKey(key))).toBe(true);
    const record = await find(key);
    expect(record?.revokedAtMs).toEqual(expect.any(Number));
    expect(await administration.revokeKey(idOfApiKey(key))).toBe(false);
    expect(await find(key)).toEqual(record);
  });

  test('is listed by its id, with its name, expiry and day of last use', async () => {
    const tenant = await administration.createTenant('Listed');
    const expiresAtMs = Date.now() + 600_000;
    const key = await administration.createApiKey({
      name: 'Web shop',
      tenantId: tenant,
      mode: 'test',
      scopes: ALL_SCOPES,
      expiresAtMs,
    });
    const id = idOfApiKey(key);
    const [unused] = await administration.listApiKeys(tenant);
    expect(unused).toMatchObject({ id, name: 'Web shop', expiresAtMs });
    expect(unused?.lastUsedOn).toBeUndefined();
    await registry.noteUse(id, '2026-03-01');
    await registry.noteUse(id, '2026-03-02');
    expect(await administration.listApiKeys(tenant)).toMatchObject([{ id, lastUsedOn: '2026-03-02' }]);
  });

  test('that is rolled gets a successor with the same name, scopes and lifetime, and expires after the overlap', async () => {
    const lifetimeMs = 24 * 60 * 60 * 1000;
    const expiresAtMs = Date.now() + lifetimeMs;
    const old = await administration.createApiKey({
      name: 'Web shop',
      tenantId: shop,
      mode: 'test',
      scopes: [Scopes.paymentsRead],
      expiresAtMs,
    });
    const fromMs = Date.now();
    const successor = await administration.rollKey(idOfApiKey(old), 60);
    const untilMs = Date.now();
    const [before, after] = [await find(old), await find(successor ?? '')];
    expect(before?.expiresAtMs).toBeGreaterThanOrEqual(fromMs + 60_000);
    expect(before?.expiresAtMs).toBeLessThanOrEqual(untilMs + 60_000);
    expect(after).toMatchObject({ tenantId: shop, mode: 'test', scopes: ['payments:read'] });
    const listed = await administration.listApiKeys(shop);
    expect(listed.find(({ id }) => id === idOfApiKey(successor ?? ''))?.name).toBe('Web shop');
    expect(after?.expiresAtMs).toBeGreaterThanOrEqual(expiresAtMs);
    expect(after?.expiresAtMs).toBeLessThanOrEqual(untilMs + lifetimeMs);
  });

  test('can be rolled only once, even by concurrent calls; a roll never extends the lifetime of the old key', async () => {
    const old = await administration.createApiKey({
      name: 'Web shop',
      tenantId: shop,
      mode: 'test',
      scopes: [],
      expiresAtMs: Date.now() + 600_000,
    });
    const id = idOfApiKey(old);
    const { expiresAtMs } = (await find(old)) ?? {};
    expect(await administration.rollKey(id, 3_600)).toEqual(expect.any(String));
    expect((await find(old))?.expiresAtMs).toBe(expiresAtMs);
    expect(await administration.rollKey(id, 0)).toBeUndefined();
    const successor = await administration.createApiKey({ name: 'Web shop', tenantId: shop, mode: 'test', scopes: [] });
    const rolls = [1, 2, 3].map(() => administration.rollKey(idOfApiKey(successor), 0));
    const made = (await Promise.all(rolls)).filter((each) => each !== undefined);
    expect(made).toHaveLength(1);
    expect(await administration.summaryOf(idOfApiKey(successor))).toMatchObject({
      rolledTo: idOfApiKey(made[0] ?? ''),
    });
    expect(await administration.rollKey(idOfApiKey('sk_test_none'), 0)).toBeUndefined();
  });

  test('cannot be revoked if it does not exist, and the attempt stores no row', async () => {
    expect(await administration.revokeKey(idOfApiKey('sk_test_none'))).toBe(false);
    expect(await find('sk_test_none')).toBeUndefined();
  });

  test('is rejected if its row is unreadable', async () => {
    const keyHash = createHash('sha256').update('sk_test_odd').digest('hex');
    await client.send(
      new PutCommand({
        TableName: table,
        Item: {
          pk: `KEY#${idOfApiKey('sk_test_odd')}`,
          sk: 'KEY',
          tenantId: shop,
          mode: 'test',
          scopes: ['everything'],
        },
      }),
    );
    await expect(registry.findByHash(keyHash)).rejects.toThrow(/scopes/);
  });
});

describe('an operator key', () => {
  const operators = () => new DynamoDbOperatorKeys(client, table, { clock: systemClock, entropy: systemEntropy });
  const findOperator = (key: string) => operators().findOperator(createHash('sha256').update(key).digest('hex'));

  test('is found with its name and role, rolled and revoked by its id, and not accepted as a tenant key', async () => {
    const key = await administration.createOperatorKey({ operator: 'Ada Example', role: 'approver' });
    expect(key).toMatch(/^ok_[\w-]{43}$/);
    expect(await findOperator(key)).toEqual({ operator: 'Ada Example', role: 'approver' });
    expect(await find(key)).toBeUndefined();
    expect(await findOperator(await paymentsKey())).toBeUndefined();

    const successor = (await administration.rollKey(idOfApiKey(key), 0)) ?? '';
    expect((await findOperator(key))?.expiresAtMs).toBeLessThanOrEqual(Date.now());
    expect(await findOperator(successor)).toEqual({ operator: 'Ada Example', role: 'approver' });
    expect(await administration.revokeKey(idOfApiKey(successor))).toBe(true);
    expect((await findOperator(successor))?.revokedAtMs).toEqual(expect.any(Number));
    const listed = await administration.listOperatorKeys();
    expect(listed.map(({ id }) => id)).toEqual(expect.arrayContaining([idOfApiKey(key), idOfApiKey(successor)]));
  });
});

describe('a tenant', () => {
  test('lists only its own keys, without the secrets', async () => {
    const mine = await administration.createTenant('Mine');
    const other = await administration.createTenant('Mine');
    expect(mine).not.toBe(other);
    const key = await administration.createApiKey({ name: 'Test', tenantId: mine, mode: 'test', scopes: ALL_SCOPES });
    await administration.createApiKey({ name: 'Test', tenantId: other, mode: 'test', scopes: ALL_SCOPES });
    const listed = await administration.listApiKeys(mine);
    expect(listed).toMatchObject([{ mode: 'test', scopes: ALL_SCOPES, hint: key.slice(-4) }]);
    expect(JSON.stringify(listed)).not.toContain(key);
  });

  test('must exist before it gets a key', async () => {
    const stranger = tenantId(`ten_${'a'.repeat(16)}`);
    await expect(
      administration.createApiKey({ name: 'Test', tenantId: stranger, mode: 'test', scopes: ALL_SCOPES }),
    ).rejects.toThrow(`There is no tenant ${stranger}.`);
    expect(await administration.listApiKeys(stranger)).toEqual([]);
  });
});
