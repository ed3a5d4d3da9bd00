import { beforeAll, expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { idOfApiKey, TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { type LocalAws, tenantWithKeys } from '../../local/local-aws.ts';
import { createTables, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';

let tables: LocalAws['tables'];
let administration: TenantAdministration;

beforeAll(async () => {
  tables = await createTables('local-keys');
  administration = new TenantAdministration(documentClient(dynamoDbClient()), tables, 'test');
});

test('a start reuses the keys of the previous run, and replaces rolled, revoked and missing keys', async () => {
  const first = await tenantWithKeys(emulatedAws(), tables, undefined);
  expect(await tenantWithKeys(emulatedAws(), tables, first)).toEqual(first);

  await administration.rollKey(idOfApiKey(first.apiKey), 0);
  const second = await tenantWithKeys(emulatedAws(), tables, first);
  expect(second.apiKey).not.toBe(first.apiKey);
  expect(second.operatorKey).toBe(first.operatorKey);

  await administration.revokeKey(idOfApiKey(second.operatorKey));
  const third = await tenantWithKeys(emulatedAws(), tables, second);
  expect([third.apiKey, third.operatorKey === second.operatorKey]).toEqual([second.apiKey, false]);

  const keys = await administration.listApiKeys(tenantId(third.tenantId));
  expect(keys.map(({ id }) => id)).toContain(idOfApiKey(third.apiKey));
});
