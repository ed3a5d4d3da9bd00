import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DeleteTableCommand, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pMap from 'p-map';
import { stackOutput } from '../../cli/deployment.ts';
import { NO_BOUNDS } from '../../lambdas/archive/domain/judge-chain.ts';
import { archivedRows } from '../../lambdas/archive/store/archived-lines.ts';
import { S3Objects } from '../../lambdas/archive/store/s3-objects.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { s3Client } from '../../lambdas/kernel/platform/s3.ts';
import { deploy, PAYONCE } from '../../local/cdk.ts';
import { switchEventSources } from '../../local/event-sources.ts';
import { connect, type LocalKeys } from '../../local/local-aws.ts';
import { runJob } from '../jobs/run-job.ts';
import { ApiClient } from '../support/api-client.ts';
import { payonce } from '../support/command-line.ts';
import { CREDENTIALS, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';

const ENVIRONMENT = 'drill';
/** Limits the number of payments on a slow machine. */
const PAYMENT_PAUSE_MS = 2_000;
const local = localAws();
const target = {
  environment: ENVIRONMENT,
  endpoint: local.awsEndpoint,
  region: local.region,
  credentials: CREDENTIALS,
};
let directory: string;
// The directory is created in a hook, so that a skipped test creates none.
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'payonce-drill-'));
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

async function stopArchiver(): Promise<void> {
  const archiver = await stackOutput(target, 'service', 'archiverFunction');
  await switchEventSources(new LambdaClient(target), archiver ?? '', 'Disabled');
}

/** The two deploys take minutes, so this test runs only in `npm run prove`. */
whole(test, { slice: test.skip })(
  'the runbook rebuilds a lost Ledger from the archive; the processor’s books show which rows are still missing',
  async () => {
    const before = await deployWith({});
    const { tenantId, apiKey, operatorKey } = before;
    const api = new ApiClient(before, apiKey);
    const kept = await api.payUntilSucceeded({ key: 'kept' });
    const held = await api.payUntilAnswered({ key: 'held', body: { capture: 'manual' } });
    const isHeld = async (status: string) =>
      (await api.send('GET', `/v1/payments/${String(held.json['id'])}`)).json['status'] === status || undefined;
    await until(() => isHeld('requires_capture'));
    const shownKept = await api.send('GET', `/v1/payments/${String(kept.json['id'])}`);
    const bucket = (await stackOutput(target, 'data', 'archiveBucket')) ?? '';
    const archive = archivedRows(new S3Objects(s3Client(target), bucket), NO_BOUNDS);
    for (const { json } of [kept, held])
      await until(
        async () => (await archive.chain(`PAY#${String(json['id'])}`, undefined)).rows.length >= 2 || undefined,
      );

    // The idempotency records must be older than the rebuilt Ledger. They are restored first, because the local AWS can
    // restore only the current rows.
    const to = String(Math.floor(Date.now() / 1000));
    const others = await command('tables', 'restore', '--only', 'idempotency,registry', '--to', to);
    // Without the archiver, the archive lacks the newest rows when the table is lost.
    await stopArchiver();
    const forgotten = await api.payUntilSucceeded({ key: 'forgotten' });
    const over = new AbortController();
    const asked: string[] = [];
    const paying = (async () => {
      for (let number = 0; !over.signal.aborted; number += 1) {
        asked.push(`running-${number}`);
        await api.pay({ key: `running-${number}` }).catch(() => undefined);
        await sleep(PAYMENT_PAUSE_MS);
      }
    })();
    await until(async () => asked.length > 2 || undefined);
    const lost = before.tables.ledger;
    await dynamoDbClient().send(new UpdateTableCommand({ TableName: lost, DeletionProtectionEnabled: false }));
    await dynamoDbClient().send(new DeleteTableCommand({ TableName: lost }));
    const lostAtMs = Date.now();
    const met = asked.length;
    await until(async () => asked.length > met + 1 || undefined);

    const rebuilt = `${lost}-rebuilt`;
    const { restoredTables: ledger, ...copied } = await command('tables', 'rebuild', rebuilt);
    expect(copied).toMatchObject({ different: [], unreadable: [] });
    const { idempotency } = copied['restoreTo'] as { readonly idempotency: number };
    expect(idempotency).toBeLessThan(Number(to));
    const restoredTables = { ...(others['restoredTables'] as object), ...(ledger as object) };
    const adopted = { 'payonce:restoredTables': JSON.stringify(restoredTables), 'payonce:claimsLost': 'true' };
    const after = await deployWith(adopted, { tenantId, apiKey, operatorKey });
    expect(after.tables.ledger).toBe(rebuilt);
    over.abort();
    await paying;
    expect(await command('verify')).toMatchObject({ findings: [] });
    await command('tables', 'recover');
    await command('views', 'rebuild', '--state', join(directory, 'views.json'), '--settle', '60');

    const capture = `/v1/payments/${String(held.json['id'])}/capture`;
    await api.send('POST', capture, { headers: { 'idempotency-key': 'capture' } });
    await until(() => isHeld('succeeded'));
    expect((await api.send('GET', `/v1/payments/${String(kept.json['id'])}`)).text).toBe(shownKept.text);
    expect((await api.send('GET', `/v1/payments/${String(forgotten.json['id'])}`)).status).toBe(404);
    await api.payUntilSucceeded({ key: 'new' });

    const system = { ...local, ...after };
    await runJob(system, 'resolve');
    // A run compares only full minutes, and the lost charges may be in the current minute.
    await until(async () => minute(Date.now()) > minute(lostAtMs) || undefined);
    await runJob(system, 'reconcile-recent');
    const { Items = [] } = await documentClient(dynamoDbClient()).send(
      new ScanCommand({ TableName: after.tables.views, ConsistentRead: true }),
    );
    const mismatches = JSON.stringify(Items.filter(({ pk }) => String(pk).startsWith('MISMATCH')));
    expect(mismatches).toContain(String(forgotten.json['id']));
    for (const agreed of [kept, held]) expect(mismatches).not.toContain(agreed.json['id']);

    const retry = async (key: string): Promise<void> => {
      const { json } = await api.payUntilSucceeded({ key });
      expect(await api.charges(json['id'])).toHaveLength(1);
      if (key === 'forgotten') expect(json['id']).toBe(forgotten.json['id']);
    };
    await pMap(['forgotten', ...asked], retry, { concurrency: 5 });
  },
);
