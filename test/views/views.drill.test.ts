import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DeleteCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ALL_SCOPES } from '../../lambdas/kernel/contract/api.ts';
import type { TenantId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { credentialVariables } from '../../local/emulator-environment.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { ApiClient } from '../support/api-client.ts';
import { dynamoDbClient, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';

let aws: LocalAws;
/** An API client of a tenant that no other test uses. */
let api: ApiClient;
let tenant: TenantId;

beforeAll(async () => {
  aws = localAws();
  const administration = new TenantAdministration(documentClient(dynamoDbClient()), aws.tables, 'test');
  tenant = await administration.createTenant('Views');
  api = new ApiClient(
    aws,
    await administration.createApiKey({ name: 'Test', tenantId: tenant, mode: 'test', scopes: ALL_SCOPES }),
  );
});

const get = async (path: string) => (await api.send('GET', path)).json;
const dataOf = (json: Record<string, unknown>) => json['data'] as Record<string, unknown>[];

const untilThere = (path: string, count: number) =>
  until(async () => {
    const data = dataOf(await get(path));
    return data.length === count ? data : undefined;
  });

const directory = mkdtempSync(join(tmpdir(), 'payonce-views-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function rebuild(...options: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  const environment = {
    ...process.env,
    AWS_ENDPOINT_URL: aws.awsEndpoint,
    AWS_REGION: aws.region,
    ...credentialVariables(aws.accessKeyId),
  };
  const command = [
    resolve('cli/payonce.mjs'),
    'views',
    'rebuild',
    '--state',
    join(directory, 'state.json'),
    ...options,
  ];
  return new Promise((done) => {
    execFile(process.execPath, command, { env: environment }, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : 1, output: stdout + stderr });
    });
  });
}

async function loseList(tenantId: string): Promise<number> {
  const client = documentClient(dynamoDbClient());
  let lost = 0;
  for (const shard of [0, 1, 2, 3]) {
    const { Items = [] } = await client.send(
      new QueryCommand({
        TableName: aws.tables.views,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': `PAYMENT#${tenantId}#test#${shard}` },
      }),
    );
    for (const { pk, sk } of Items as readonly Record<'pk' | 'sk', string>[]) {
      await client.send(new DeleteCommand({ TableName: aws.tables.views, Key: { pk, sk } }));
      lost += 1;
    }
  }
  return lost;
}

describe('a payment on the deployed stack', () => {
  test('appears in the list, entries, balances and events with the same content as in a read by id', async () => {
    const metadata = { z: '1', a: '2', receipt_email: 'views@example.com' };
    const paid = await api.pay({ key: 'views-1', body: { reference: 'views', metadata } });
    const id = String(paid.json['id']);
    await untilThere('/v1/payments?reference=views&status=succeeded', 1);
    await untilThere('/v1/payments?email=Views@example.com', 1);
    const listed = await api.send('GET', '/v1/payments');

    expect(paid.status).toBe(201);
    expect(listed.text).toBe(`{"object":"list","data":[${paid.text}],"has_more":false}`);
    expect(await untilThere('/v1/ledger/entries', 2)).toMatchObject([{ payment: id }, { payment: id }]);

    const headers = { 'idempotency-key': 'views-r' };
    expect((await api.send('POST', `/v1/payments/${id}/refunds`, { headers })).status).toBe(201);
    const events = await untilThere('/v1/events', 2);
    expect(events.map(({ type }) => type)).toEqual(['refund.completed', 'payment.completed']);
    for (const event of events) expect(await get(`/v1/events/${String(event['id'])}`)).toEqual(event);
    const balances = await untilThere('/v1/balances', 3);
    expect(balances.map(({ account, balance }) => [account, balance])).toEqual([
      ['processor_clearing', 0],
      ['merchant_payable', 1000],
      ['refunds', 1000],
    ]);
    const [head] = dataOf(await get('/v1/payments'));
    expect(head).toEqual(await get(`/v1/payments/${id}`));
    expect(head).toMatchObject({ amount_refunded: 1000 });
  });
});

/** No events are in transit here, so the comparison need not wait for events to settle. */
test('a comparison reports rows lost from the views, and a rebuild restores them', async () => {
  const paid = String((await api.pay({ key: 'views-lost' })).json['id']);
  const before = await until(async () => {
    const { text } = await api.send('GET', '/v1/payments?limit=100');
    return text.includes(paid) ? text : undefined;
  });
  const lost = await loseList(tenant);
  const compared = await rebuild('--compare', '--settle', '0', '--segments', '2');
  const rebuilt = await rebuild();

  expect(lost).toBeGreaterThan(0);
  expect(compared.output).toContain('of 2 segments done');
  expect([compared.code, compared.output]).toEqual([1, expect.stringContaining(`PAYMENT#${tenant}#test#`)]);
  expect([rebuilt.code, rebuilt.output]).toEqual([0, expect.stringContaining('The Views agree with the Ledger.')]);
  expect((await api.send('GET', '/v1/payments?limit=100')).text).toBe(before);
});
