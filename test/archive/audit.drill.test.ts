import { DeleteTableCommand, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, expect, test } from '@jest/globals';
import pMap from 'p-map';
import { ExitCode } from '../../cli/failure.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { ApiClient } from '../support/api-client.ts';
import { payonce } from '../support/command-line.ts';
import { dynamoDbClient, localAws } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';

/** Runs the walkthrough of docs/operate/audit.md. */

const local = localAws();
let client: ReturnType<typeof documentClient>;

beforeAll(() => {
  client = documentClient(dynamoDbClient());
});
async function command(...words: readonly string[]): Promise<{ code: number; document: Record<string, unknown> }> {
  const { code, said } = await payonce(local, ...words, '--json', '--operator', 'Ada Example');
  // If the command fails, it prints a sentence after the JSON document.
  const document: unknown = JSON.parse(said.slice(0, said.lastIndexOf('}') + 1));
  return { code, document: document as Record<string, unknown> };
}

test('a manually changed row is reported, put back and explained, and then all chains pass verification', async () => {
  const from = Math.floor(Date.now() / 1000);
  const api = new ApiClient(local, local.apiKey);
  const keys = Array.from({ length: whole(100, { slice: 10 }) }, (_, index) => `audit-${index}`);
  const payments = await pMap(keys, (key) => api.payUntilSucceeded({ key }), { concurrency: 5 });
  const payment = String(payments[3]?.json['id']);
  // Excludes rows that other tests on the same stack change by hand.
  const own = new Set(payments.map(({ json }) => `PAY#${String(json['id'])}`));
  const findingsOf = async (...words: readonly string[]) => {
    const { document } = await command('verify', ...words);
    return (document['findings'] as { readonly chain: string }[]).filter(({ chain }) => own.has(chain));
  };
  const verify = () => findingsOf('--from', String(from));
  expect(await verify()).toEqual([]);
  const shown = await api.send('GET', `/v1/payments/${payment}`);

  const Key = { pk: `PAY#${payment}`, sk: 'T#000002' };
  const { Item: original = {} } = await client.send(new GetCommand({ TableName: local.tables.ledger, Key }));
  const inside = original['payment'] as Record<string, unknown>;
  const forged = { ...original, payment: { ...inside, amountCapturedMinor: 1 } };
  await client.send(new PutCommand({ TableName: local.tables.ledger, Item: forged }));

  expect(await verify()).toMatchObject([
    { kind: 'chain_broken', chain: Key.pk, sequence: 2, what: 'changed' },
    { kind: 'row_differs', chain: Key.pk, sort: Key.sk, fields: ['payment.amountCapturedMinor'] },
  ]);
  expect(await command('verify', '--payment', payment)).toMatchObject({ code: 1 });

  const why = ['--reason', 'Ticket 4711'];
  expect(await command('tables', 'restore-row', `${payment}/2`, ...why)).toMatchObject({
    code: 0,
    document: { outcome: 'put' },
  });
  const { Item: now } = await client.send(new GetCommand({ TableName: local.tables.ledger, Key }));
  expect(now).toEqual(original);
  expect(await verify()).toEqual([]);
  expect((await api.send('GET', `/v1/payments/${payment}`)).text).toBe(shown.text);
  const log = await command('activity', 'list');
  expect(log.document['data']).toContainEqual(
    expect.objectContaining({
      action: 'row.put_back',
      about: [payment],
      caused_by: { type: 'command', operator: 'Ada Example' },
      details: expect.objectContaining({ row: 'T#000002', reason: 'Ticket 4711' }),
    }),
  );

  const table = `Ledger-rebuilt-${crypto.randomUUID().slice(0, 8)}`;
  expect(await command('tables', 'rebuild', table)).toMatchObject({
    code: 0,
    document: { different: [], unreadable: [] },
  });
  const { Item: rebuilt } = await client.send(new GetCommand({ TableName: table, Key }));
  expect(rebuilt).toEqual(original);
  expect(await findingsOf('--table', table)).toEqual([]);
  // The command refuses a table with a Stream, because a Ledger in use has one.
  expect(await payonce(local, 'tables', 'rebuild', table)).toMatchObject({ code: ExitCode.refused });
  await dynamoDbClient().send(new UpdateTableCommand({ TableName: table, DeletionProtectionEnabled: false }));
  await dynamoDbClient().send(new DeleteTableCommand({ TableName: table }));

  const access = ['--url', local.apiUrl, '--key', local.operatorKey];
  const words = ['annotate', payment, '--reason', 'Row 2 was changed by hand; ticket 4711', '--transition', '2'];
  expect(await command(...words, ...access)).toMatchObject({ code: 0, document: { annotates: 2 } });
  expect((await api.send('GET', `/v1/payments/${payment}`)).json).toMatchObject({ annotations: 1 });
  expect(await command('verify', '--payment', payment)).toMatchObject({ code: 0, document: { rows: 3, findings: [] } });
});
