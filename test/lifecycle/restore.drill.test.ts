/** Tests the guarantee "restored tables". */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeleteTableCommand, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { deploy, PAYONCE } from '../../local/cdk.ts';
import { connect, type LocalKeys } from '../../local/local-aws.ts';
import { runJob } from '../jobs/run-job.ts';
import { type ApiAnswer, ApiClient } from '../support/api-client.ts';
import { payonce } from '../support/command-line.ts';
import { dynamoDbClient, localAws } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';

const ENVIRONMENT = 'restored';
const local = localAws();
let directory: string;
// The directory is created in a hook, so that a skipped test creates none.
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'payonce-restore-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function deployWith(settings: Readonly<Record<string, string>>, keys?: LocalKeys) {
  const context = { ...PAYONCE.context, 'payonce:environment': ENVIRONMENT, ...settings };
  const run = { access: local, directory, report: () => undefined };
  const outputs = await deploy(run, { context });
  return connect(local, outputs, { environment: ENVIRONMENT, ...(keys === undefined ? {} : { keys }) });
}

async function command(...words: readonly string[]): Promise<Record<string, unknown>> {
  const { code, said } = await payonce(local, ...words, '--environment', ENVIRONMENT, '--json');
  if (code !== 0) throw new Error(said);
  return JSON.parse(said) as Record<string, unknown>;
}

const minute = (timeMs: number): number => Math.floor(timeMs / 60_000);

async function lose(TableName: string): Promise<void> {
  await dynamoDbClient().send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: false }));
  await dynamoDbClient().send(new DeleteTableCommand({ TableName }));
}

/**
 * The local AWS can restore only the current rows, so the test first restores the tables, then continues the traffic,
 * and then deletes the original tables. The two deploys take minutes, so this test runs only in `npm run prove`.
 */
whole(test, { slice: test.skip })(
  'the runbook restores three lost tables so that processor, books and responses agree, and finds a lost payment',
  async () => {
    const before = await deployWith({});
    const { tenantId, apiKey, operatorKey } = before;
    const api = new ApiClient(before, apiKey);
    const kept = await api.payUntilSucceeded({ key: 'kept', body: { reference: 'invoice-1' } });
    const held = await api.payUntilAnswered({ key: 'held', body: { capture: 'manual' } });
    const shown = async ({ json }: ApiAnswer) => (await api.send('GET', `/v1/payments/${String(json['id'])}`)).json;
    await until(async () => (await shown(held))['status'] === 'requires_capture' || undefined);

    const to = Math.floor(Date.now() / 1000);
    const { restoredTables } = await command('tables', 'restore', '--to', String(to));
    const retried = await api.payUntilSucceeded({ key: 'retried' });
    const forgotten = await api.payUntilSucceeded({ key: 'forgotten' });
    const forgottenByMs = Date.now();
    const headers = { 'idempotency-key': 'refund', 'content-type': 'application/json' };
    const refund = { headers, body: '{"amount":400}' };
    const refunds = `/v1/payments/${String(kept.json['id'])}/refunds`;
    await api.send('POST', refunds, refund);
    await until(async () => (await shown(kept))['amount_refunded'] === 400 || undefined);
    for (const table of ['idempotency', 'ledger', 'registry'] as const) await lose(before.tables[table]);

    const adopted = { 'payonce:restoredTables': JSON.stringify(restoredTables), 'payonce:claimsLost': 'true' };
    const after = await deployWith(adopted, { tenantId, apiKey, operatorKey });
    expect(after.tables).toMatchObject({ ledger: `${before.tables.ledger}-r${to}`, views: before.tables.views });
    expect(after.apiKey).toBe(before.apiKey);
    // The archive contains rows that the restored Ledger lacks, and newer rows have the keys of lost rows. No chain is
    // broken.
    const verified = await payonce(local, 'verify', '--environment', ENVIRONMENT, '--json');
    // Standard error adds a sentence about the findings after the JSON document. It is removed here.
    const document = verified.said.slice(0, verified.said.lastIndexOf('}') + 1);
    const { findings } = JSON.parse(document) as {
      readonly findings: readonly { kind: string; chain: string }[];
    };
    const isOfRestore = (kind: string) => ['row_missing', 'row_differs', 'lines_differ'].includes(kind);
    expect([verified.code, findings.filter(({ kind }) => !isOfRestore(kind))]).toEqual([1, []]);
    const missing = findings.filter(({ kind }) => kind === 'row_missing').map(({ chain }) => chain);
    expect(missing).toContain(`PAY#${String(forgotten.json['id'])}`);
    await command('tables', 'recover');
    await command('views', 'rebuild', '--state', join(directory, 'views.json'), '--settle', '60');

    const replayed = await api.payUntilAnswered({ key: 'kept', body: { reference: 'invoice-1' } });
    expect(replayed.text).toBe(kept.text);
    const again = await api.payUntilSucceeded({ key: 'retried' });
    expect(again.json['id']).toBe(retried.json['id']);
    expect(await api.charges(retried.json['id'])).toHaveLength(1);
    expect((await api.send('GET', `/v1/payments/${String(forgotten.json['id'])}`)).status).toBe(404);
    const refunded = await api.send('POST', refunds, refund);
    // The refund's key is already used if a resolver run has recorded the refund from the processor's books.
    if (refunded.status !== 201) expect(refunded.json).toMatchObject({ code: 'idempotency_key_expired' });
    const [charge] = await api.charges(kept.json['id']);
    expect(charge).toMatchObject({ amount_refunded: 400 });
    const capture = `/v1/payments/${String(held.json['id'])}/capture`;
    await api.send('POST', capture, { headers: { 'idempotency-key': 'capture' } });
    await until(async () => (await shown(held))['status'] === 'succeeded' || undefined);
    await api.payUntilSucceeded({ key: 'new' });

    await runJob({ ...local, ...after }, 'resolve');
    // A run compares only full minutes, and the forgotten charge may be in the current minute.
    await until(async () => (minute(Date.now()) > minute(forgottenByMs) ? true : undefined));
    await runJob({ ...local, ...after }, 'reconcile-recent');
    const { Items = [] } = await documentClient(dynamoDbClient()).send(
      new ScanCommand({ TableName: after.tables.views, ConsistentRead: true }),
    );
    const mismatches = Items.filter(({ pk }) => String(pk).startsWith('MISMATCH'));
    expect(JSON.stringify(mismatches)).toContain(String(forgotten.json['id']));
    for (const agreed of [kept, held, retried]) expect(JSON.stringify(mismatches)).not.toContain(agreed.json['id']);

    expect((await api.payUntilAnswered({ key: 'forgotten' })).json['id']).toBe(forgotten.json['id']);
    expect(await api.charges(forgotten.json['id'])).toHaveLength(1);
  },
);
