import { beforeAll, expect, test } from '@jest/globals';
import { hasEnded, initialExport } from '../../lambdas/exports/domain/data-export.ts';
import { DynamoDbExports } from '../../lambdas/exports/store/dynamodb-exports.ts';
import { ALL_SCOPES } from '../../lambdas/kernel/contract/api.ts';
import type { TenantId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemClock, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { readBalances } from '../../lambdas/views/use/read-balances.ts';
import { ViewLedgerReader } from '../../lambdas/views/use/view-ledger-reader.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { signalProcess } from '../../local/processes.ts';
import { stackOutput } from '../events/event-listener.ts';
import { runJob } from '../jobs/run-job.ts';
import { ApiClient } from '../support/api-client.ts';
import { workersOf } from '../support/lambda-workers.ts';
import { dynamoDbClient, localAws } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';
import { bookRows } from './book-rows.ts';
import { requested } from './export-world.ts';

/** In `npm run prove`, the rows fill two parts of the file. */
const SETS = whole(2_400, { slice: 300 });
/**
 * The writer reads a transition for each row, which is slow on the local AWS. Therefore, the test uses few rows, each
 * with many entries.
 */
const PAIRS = 10;
/** False if the writer is killed before the first part. */
const HAS_PARTS = whole(true, { slice: false });
const AT_ONCE = 64;
const PAYMENTS = 4;

let aws: LocalAws;
let api: ApiClient;
let tenant: TenantId;

beforeAll(async () => {
  aws = localAws();
  const administration = new TenantAdministration(documentClient(dynamoDbClient()), aws.tables, 'test');
  tenant = await administration.createTenant('Exports');
  const named = { name: 'Test', tenantId: tenant, mode: 'test', scopes: ALL_SCOPES } as const;
  api = new ApiClient(aws, await administration.createApiKey(named));
});

const get = async (path: string) => (await api.send('GET', path)).json;

const deployedViews = () =>
  new DynamoDbViews(documentClient(dynamoDbClient()), aws.tables.views, { clock: systemClock, entropy: systemEntropy });

/** Writes rows as the projector does. There are no payments, because the export reads only the Views. */
async function writeBooks(count: number, fromMs: number): Promise<void> {
  const views = deployedViews();
  const rows = bookRows({ tenantId: tenant, mode: 'test' }, count, fromMs, PAIRS);
  for (let begin = 0; begin < count; begin += AT_ONCE)
    await Promise.all(rows.slice(begin, begin + AT_ONCE).map((row) => views.put([row])));
}

test('another writer completes the export of a killed writer, and the exported entries sum to the balances', async () => {
  for (let index = 0; index < PAYMENTS; index += 1)
    await api.pay({ key: `export-${index}`, body: { reference: `=order-${index}` } });
  await until(async () => ((await get('/v1/events?limit=100'))['data'] as unknown[]).length >= PAYMENTS || undefined);
  const yesterdayMs = Date.now() - 24 * 60 * 60 * 1000;
  await writeBooks(SETS, yesterdayMs);
  // An export excludes rows from the second in which it was requested.
  const writtenMs = Date.now();
  await until(async () => Date.now() > writtenMs + 1000 || undefined);
  const body = { kind: 'entries', from: dayOf(yesterdayMs), to: dayOf(Date.now()) };
  const made = await until(() => killedWriter(body));
  const path = `/v1/exports/${String(made['id'])}`;

  const done = await until(async () => {
    const found = await get(path);
    return found['status'] === 'completed' || found['status'] === 'failed' ? found : undefined;
  });
  expect(done).toMatchObject({ status: 'completed', rows: 2 * PAIRS * SETS + 2 * PAYMENTS });

  const text = await (await fetch(String(done['url']))).text();
  const [columns = [], ...lines] = text
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','));
  expect(lines).toHaveLength(2 * PAIRS * SETS + 2 * PAYMENTS);
  expect(new Set(lines.map((line) => line.slice(0, 8).join())).size).toBe(lines.length);
  const place = (name: string) => columns.indexOf(name);
  const sums = new Map<string, number>();
  for (const line of lines) {
    const name = [line[place('account')], line[place('currency')], line[place('direction')]].join(' ');
    sums.set(name, (sums.get(name) ?? 0) + Number(line[place('amount_minor')]));
  }
  // On a busy machine, the local AWS needs more time for these rows than a request may take.
  const ledger = new ViewLedgerReader(deployedViews());
  const balances = await readBalances(
    ledger,
    { tenantId: tenant, mode: 'test' },
    { untilMs: Number(made['until']) * 1000 },
  );
  expect(balances.length).toBeGreaterThan(1);
  for (const { account, currency, debitMinor, creditMinor } of balances) {
    const summed = ['debit', 'credit'].map((direction) => sums.get([account, currency, direction].join(' ')) ?? 0);
    expect([account, ...summed]).toEqual([account, debitMinor, creditMinor]);
  }
  expect(text).not.toMatch(/(?:^|,)[=+\-@]/m);
  expect(text).toContain("'=order-0");
}, 3_600_000); // Stops a test that hangs.

test('a job completes an export whose writer never started and that no caller reads', async () => {
  const client = documentClient(dynamoDbClient());
  const exports = new DynamoDbExports(client, aws.tables, { clock: systemClock, entropy: systemEntropy });
  const nowMs = Date.now();
  const id = `exp_${crypto.randomUUID().replaceAll('-', '')}`;
  const [from, to] = [dayOf(nowMs), dayOf(nowMs)];
  const key = { tenantId: tenant, mode: 'test' as const, id };
  const times = { fromMs: nowMs - 60_000, untilMs: nowMs, createdAtMs: nowMs - 60_000 };
  const asked = initialExport(requested(id, { ...key, from, to, ...times }));
  const actor = { by: 'command', operator: 'ada' } as const;
  const about = { chain: key, action: 'export.requested', actor, about: [id], occurredAtMs: nowMs } as const;
  expect(await exports.make(asked, about)).toEqual({ kind: 'written' });
  expect(await runJob(aws, 'sweep-webhooks')).toMatchObject({ status: 'succeeded', failed: 0 });
  const done = await until(async () => {
    const found = await exports.read(key);
    return found !== undefined && hasEnded(found) ? found : undefined;
  });
  expect(done).toMatchObject({ status: 'completed' });
  expect(await exports.open()).not.toContainEqual(key);
});

/** Undefined if the writer completed the export before it could be killed. */
async function killedWriter(body: object): Promise<Readonly<Record<string, unknown>> | undefined> {
  const made = await api.send('POST', '/v1/exports', {
    headers: { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
    body: JSON.stringify(body),
  });
  expect([made.status, made.json['status']]).toEqual([202, 'pending']);
  const path = `/v1/exports/${String(made.json['id'])}`;
  await until(async () => {
    const { rows, status } = await get(path);
    return status === 'completed' || (HAS_PARTS ? Number(rows) > 0 : status === 'running') || undefined;
  });
  const workers = workersOf(await stackOutput('service', 'exportWriterFunction'));
  if (workers.length === 0) return undefined;
  for (const worker of workers) signalProcess(worker, 'SIGKILL');
  return (await get(path))['status'] === 'running' ? made.json : undefined;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 'YYYY-MM-DD'.length);
}
