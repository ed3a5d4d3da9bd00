import { PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { DynamoDbExpiredRecords, DynamoDbTimeToLive } from '../../lambdas/operators/store/dynamodb-expired-records.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { DynamoDbOwners } from '../../lambdas/tenants/store/tenant-owners.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeExpiredRecords } from './expired-records-suite.ts';

const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
const client = () => documentClient(dynamoDbClient());

describeExpiredRecords('dynamodb', async () => {
  const { idempotency: table } = await createTables('purge');
  return {
    records: new DynamoDbExpiredRecords(client(), table, pacing),
    put: async ({ key, status, expiresAtSeconds }) => {
      const expiry = expiresAtSeconds === undefined ? {} : { expiresAt: expiresAtSeconds };
      await client().send(new PutCommand({ TableName: table, Item: { pk: key, status, ...expiry } }));
    },
    keys: async () => {
      const { Items = [] } = await client().send(new ScanCommand({ TableName: table }));
      return Items.map(({ pk }) => String(pk));
    },
  };
});

describe('DynamoDB upkeep', () => {
  let tables: Awaited<ReturnType<typeof createTables>>;
  beforeAll(async () => {
    tables = await createTables('upkeep');
  });

  test('reports time to live as enabled for tables that are deployed with it, and as disabled for other tables', async () => {
    const deployed = emulatedAws().tables;
    const asked = {
      idempotency: deployed.idempotency,
      registry: deployed.registry,
      without: tables.registry,
    };
    expect(await new DynamoDbTimeToLive(client(), asked, pacing).states()).toEqual([
      { table: 'idempotency', isOn: true },
      { table: 'registry', isOn: true },
      { table: 'without', isOn: false },
    ]);
  });

  test('lists each pair of tenant and mode that ever had an API key, without duplicates, page by page', async () => {
    const administration = new TenantAdministration(client(), tables, 'test');
    const tenants = [await administration.createTenant('A'), await administration.createTenant('B')];
    const made = tenants.flatMap((tenant) =>
      (['test', 'live', 'test'] as const).map((mode) => [tenant, mode] as const),
    );
    for (const [tenant, mode] of made)
      await administration.createApiKey({ name: 'Test', tenantId: tenant, mode, scopes: [] });
    const owners = new DynamoDbOwners(client(), tables.registry, pacing);

    const reported: string[] = [];
    let after: string | undefined;
    for (let page = 0; page < 3; page += 1) {
      const found = await owners.list(after, 3);
      for (const { name, owner } of found) {
        expect(name).toBe(`${owner.tenantId}#${owner.mode}`);
        reported.push(name);
      }
      after = found.at(-1)?.name ?? after;
    }
    expect(reported).toEqual(tenants.flatMap((tenant) => [`${tenant}#live`, `${tenant}#test`]).toSorted());
  });
});
