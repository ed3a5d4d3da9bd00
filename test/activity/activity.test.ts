/** Tests the guarantee "named actors". */
import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  type ActivityChain,
  type ActivityDraft,
  type ActivityEntry,
  activityId,
  firstBrokenEntry,
  nextEntry,
} from '../../lambdas/activity/domain/activity.ts';
import { DynamoDbActivity } from '../../lambdas/activity/store/dynamodb-activity.ts';
import { entryOf, pageOfActivity, verifyActivity } from '../../lambdas/activity/use/activity-log.ts';
import { acceptedRun, runIdOf } from '../../lambdas/jobs/domain/job-run.ts';
import { DynamoDbJobRuns } from '../../lambdas/jobs/store/dynamodb-job-runs.ts';
import { type AcceptRun, acceptRun } from '../../lambdas/jobs/use/accept-run.ts';
import { ALL_SCOPES } from '../../lambdas/kernel/contract/api.ts';
import { LedgerRow } from '../../lambdas/kernel/contract/rows.ts';
import { storedOperationId, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { idOfApiKey, TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { DynamoDbWebhooks } from '../../lambdas/webhooks/store/dynamodb-webhooks.ts';
import { acceptReplay } from '../../lambdas/webhooks/use/replay-webhooks.ts';
import { BY_OPERATOR, BY_REQUEST } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { endpointNamed, SECRETS } from '../webhooks/webhook-fixtures.ts';
import { MemoryDynamoDb } from '../world/memory-dynamodb.ts';
import { TABLE_SHAPES, TABLES } from '../world/tables.ts';

const SHOP = { tenantId: tenantId('ten_shop'), mode: 'test' } as const;
const OTHER = { tenantId: tenantId('ten_other'), mode: 'test' } as const;
const ALL = { order: 'oldest_first', limit: 100 } as const;

const clock = new SimulatedClock();
const pacing = { clock, entropy: countingEntropy() };
let database: MemoryDynamoDb;
let log: DynamoDbActivity;

beforeEach(() => {
  database = new MemoryDynamoDb({ tables: TABLE_SHAPES, nowMs: () => clock.nowMs() });
  log = new DynamoDbActivity(database.client, TABLES, pacing);
});

const draft = (chain: ActivityChain, about: string): ActivityDraft => ({
  chain,
  action: 'correction.made',
  actor: BY_OPERATOR,
  about: [about],
  occurredAtMs: clock.nowMs(),
});

/** Before each of the first `times` transactions, a rival appends an entry to the chain. */
function overtaken(chain: ActivityChain, times: number) {
  let left = times;
  return database.clientWith(async (call, apply) => {
    if (call === 'TransactWriteCommand' && left > 0) {
      left -= 1;
      await log.record(draft(chain, `rival ${left}`));
    }
    return apply();
  });
}

/** A rival appends three entries. */
const RIVALS = Array<string>(3).fill('correction.made');

const actions = async (chain: ActivityChain) => (await log.listActivity(chain, ALL)).map(({ action }) => action);

describe('a chain of the activity log', () => {
  const entries = ['a', 'b', 'c'].reduce<readonly ActivityEntry[]>(
    (chain, about) => [...chain, nextEntry(systemDigest, chain.at(-1), draft(SHOP, about))],
    [],
  );
  const [first, second, third] = entries as [ActivityEntry, ActivityEntry, ActivityEntry];

  test('passes verification from its start and from its middle while unchanged', () => {
    expect(firstBrokenEntry(systemDigest, entries)).toBeUndefined();
    expect(firstBrokenEntry(systemDigest, [second, third], first)).toBeUndefined();
  });

  test.each<[string, ActivityEntry[], number]>([
    ['a name changed', [first, { ...second, actor: { ...BY_OPERATOR, operator: 'Eve' } }, third], 2],
    ['an action changed', [{ ...first, action: 'decision.made' }, second, third], 1],
    ['an entry of another chain', [first, second, { ...third, chain: 'deployment' }], 3],
    ['a detail added', [first, second, { ...third, details: { sequence: '2' } }], 3],
    ['the middle entry removed', [first, third], 2],
    ['two entries exchanged', [first, third, second], 2],
  ])('fails verification at its first invalid entry: %s', (_name, tampered, sequence) => {
    expect(firstBrokenEntry(systemDigest, tampered)).toBe(sequence);
  });

  test('passes verification in the table up to the first changed row, however long the chain is', async () => {
    for (let index = 0; index < 230; index += 1) await log.record(draft(SHOP, String(index)));
    expect(await verifyActivity({ log, digest: systemDigest }, SHOP)).toEqual({ entries: 230 });
    await database.client.send(
      new UpdateCommand({
        TableName: TABLES.ledger,
        Key: { pk: `${LedgerRow.activity}${SHOP.tenantId}#test`, sk: 'A#000000150' },
        UpdateExpression: 'SET about = :about',
        ExpressionAttributeValues: { ':about': ['forged'] },
      }),
    );
    expect(await verifyActivity({ log, digest: systemDigest }, SHOP)).toEqual({ entries: 149, broken: 150 });
    expect(await verifyActivity({ log, digest: systemDigest }, OTHER)).toEqual({ entries: 0 });
  });

  test('is verified completely, and listed in full pages, even if DynamoDB returns short pages', async () => {
    database = new MemoryDynamoDb({ tables: TABLE_SHAPES, nowMs: () => clock.nowMs(), pageBytes: 2_000 });
    log = new DynamoDbActivity(database.client, TABLES, pacing);
    for (let index = 0; index < 60; index += 1) await log.record(draft(SHOP, String(index)));
    expect(await verifyActivity({ log, digest: systemDigest }, SHOP)).toEqual({ entries: 60 });
    const page = await pageOfActivity([log], SHOP, { limit: 50 });
    expect(page.kind === 'found' && [page.entries.length, page.hasMore]).toEqual([50, true]);
  });

  test('lists its entries page by page, newest first, and rejects a cursor of another tenant', async () => {
    for (const about of ['a', 'b', 'c']) await log.record(draft(SHOP, about));
    await log.record(draft(OTHER, 'other'));
    const page = await pageOfActivity([log], SHOP, { limit: 2 });
    expect(page).toMatchObject({ kind: 'found', entries: [{ about: ['c'] }, { about: ['b'] }], hasMore: true });
    const [newest, middle] = page.kind === 'found' ? page.entries.map(activityId) : [];
    expect(await pageOfActivity([log], SHOP, { limit: 2, after: middle ?? '' })).toMatchObject({
      entries: [{ about: ['a'] }],
      hasMore: false,
    });
    expect(await pageOfActivity([log], SHOP, { limit: 1, after: middle ?? '' })).toMatchObject({ hasMore: false });
    expect(await pageOfActivity([log], OTHER, { limit: 2, after: newest ?? '' })).toEqual({ kind: 'unknown_cursor' });
  });

  test('is merged with the chain of another log by time, page by page, even if clocks differ', async () => {
    const other = new DynamoDbActivity(new MemoryDynamoDb({ tables: TABLE_SHAPES }).client, TABLES, pacing);
    const times: number[] = [];
    const add = (to: DynamoDbActivity, occurredAtMs: number) => {
      times.push(occurredAtMs);
      return to.record({ ...draft(SHOP, `entry ${times.length}`), occurredAtMs });
    };
    for (let index = 0; index < 45; index += 1) {
      await add(log, 100 * index - (index % 7) * 130);
      if (index % 3 === 0) await add(other, 100 * index - (index % 2) * 250);
    }
    const inOrder = times.toSorted((left, right) => right - left);
    for (const limit of [1, 4, 100]) {
      const listed: number[] = [];
      const ids = new Set<string>();
      let after: string | undefined;
      do {
        const page = await pageOfActivity([log, other], SHOP, { limit, ...(after === undefined ? {} : { after }) });
        if (page.kind === 'unknown_cursor') throw new Error(`${after} is not known`);
        listed.push(...page.entries.map(({ occurredAtMs }) => occurredAtMs));
        for (const entry of page.entries) ids.add(activityId(entry));
        after = page.hasMore ? activityId(page.entries.at(-1) as ActivityEntry) : undefined;
      } while (after !== undefined);
      expect([listed, ids.size]).toEqual([inOrder, times.length]);
    }
    const [entry] = await other.listActivity(SHOP, ALL);
    const id = activityId(entry as ActivityEntry);
    expect([await entryOf([log, other], SHOP, id), await entryOf([log], SHOP, id)]).toEqual([entry, undefined]);
  });

  test('contains all entries of concurrent writers in sequence', async () => {
    await Promise.all(Array.from({ length: 5 }, (_, index) => log.record(draft(SHOP, String(index)))));
    expect(await verifyActivity({ log, digest: systemDigest }, SHOP)).toEqual({ entries: 5 });
  });

  test('gets no entry about a tenant that is not created, because every transaction conflicts', async () => {
    const administration = new TenantAdministration(overtaken('deployment', 99), TABLES, 'ada');
    await expect(administration.createTenant('Shop')).rejects.toMatchObject({ code: 'contention' });
    expect(new Set(await actions('deployment'))).toEqual(new Set(['correction.made']));
    expect(database.items(TABLES.registry)).toEqual([]);
  });
});

describe('the administration of tenants and API keys', () => {
  test('records each change once, with the operator name', async () => {
    const administration = new TenantAdministration(database.client, TABLES, 'ada');
    const shop = await administration.createTenant('Shop');
    const key = await administration.createApiKey({
      name: 'Test',
      tenantId: shop,
      mode: 'test',
      scopes: ALL_SCOPES,
    });
    expect(await administration.revokeKey(idOfApiKey(key))).toBe(true);
    expect(await administration.revokeKey(idOfApiKey(key))).toBe(false);

    expect(await log.listActivity('deployment', ALL)).toMatchObject([
      { action: 'tenant.created', about: [shop], actor: { by: 'command', operator: 'ada' } },
    ]);
    const ofShop = await log.listActivity({ tenantId: shop, mode: 'test' }, ALL);
    const about = [expect.stringMatching(/^key_[a-z2-7]{16}$/)];
    expect(ofShop).toMatchObject([
      { action: 'api_key.created', about, details: { name: 'Test', scopes: ALL_SCOPES.join(' ') } },
      { action: 'api_key.revoked', about: ofShop[0]?.about },
    ]);
    expect(JSON.stringify(ofShop)).not.toContain(key.slice('sk_test_'.length));
  });

  test('does not record refused changes', async () => {
    const administration = new TenantAdministration(database.client, TABLES, 'ada');
    await expect(administration.createApiKey({ name: 'Test', ...SHOP, scopes: ALL_SCOPES })).rejects.toThrow(
      'no tenant',
    );
    expect(await administration.revokeKey(idOfApiKey('sk_test_none'))).toBe(false);
    expect(database.items(TABLES.ledger)).toEqual([]);
    expect(database.items(TABLES.registry)).toEqual([]);
  });

  test('writes a tenant and its log entry once, even after conflicts with other writers', async () => {
    const administration = new TenantAdministration(overtaken('deployment', 3), TABLES, 'ada');
    await administration.createTenant('Shop');
    expect(await actions('deployment')).toEqual([...RIVALS, 'tenant.created']);
    expect(database.items(TABLES.registry)).toHaveLength(1);
  });
});

describe('a job run', () => {
  const runId = runIdOf('close-days', clock.nowMs());
  const request: AcceptRun = {
    operationId: storedOperationId('run_1'),
    fingerprint: { version: 1, sha256: new Uint8Array(32) },
    jobId: 'close-days',
    scheduledForMs: clock.nowMs(),
  };
  const accept = (changes: Partial<AcceptRun> = {}, client = database.client) =>
    acceptRun(
      {
        runs: new DynamoDbJobRuns(client, TABLES, pacing),
        tasks: { enqueue: async () => undefined },
        runner: idempotentRunner,
        digest: systemDigest,
        ...pacing,
      },
      { ...request, ...changes },
    );

  test('gets one log entry if an operator requests it, and none if the schedule starts it', async () => {
    await accept();
    expect(database.items(TABLES.ledger)).toEqual([]);

    const operators = { operationId: storedOperationId('run_2'), requestedBy: BY_OPERATOR };
    expect(await accept(operators)).toMatchObject({ kind: 'first' });
    expect(await accept(operators)).toMatchObject({ kind: 'replay' });
    expect(await log.listActivity('deployment', ALL)).toMatchObject([
      { action: 'job.run_requested', about: [runId], actor: BY_OPERATOR },
    ]);
  });

  test('is accepted once and gets one log entry, even after conflicts with other writers', async () => {
    const outcome = await accept({ requestedBy: BY_OPERATOR }, overtaken('deployment', 3));
    expect(outcome).toMatchObject({ kind: 'first' });
    expect(await actions('deployment')).toEqual([...RIVALS, 'job.run_requested']);
    const runs = new DynamoDbJobRuns(database.client, TABLES, pacing);
    expect(await runs.listRuns('close-days', { limit: 9 })).toEqual([
      acceptedRun('close-days', clock.nowMs(), clock.nowMs()),
    ]);
  });
});

test('a webhook replay gets one log entry, even after conflicts with other writers', async () => {
  const client = overtaken(SHOP, 2);
  const webhooks = new DynamoDbWebhooks(client, TABLES, pacing);
  const endpoint = endpointNamed('shop');
  await webhooks.write({ book: { now: { ...SHOP, revision: 1, endpoints: [endpoint] } } });
  const request = {
    caller: SHOP,
    cause: BY_REQUEST,
    operationId: storedOperationId('wh_replay'),
    fingerprint: { version: 1, sha256: new Uint8Array(32) },
    endpointId: endpoint.id,
    replayId: `rpl_${'a'.repeat(32)}`,
    fromMs: 0,
    untilMs: 1000,
  };
  const tools = {
    webhooks,
    secrets: SECRETS,
    tasks: { enqueue: async () => undefined },
    report: () => undefined,
    runner: idempotentRunner,
    ...pacing,
  };
  expect(await acceptReplay(tools, request)).toMatchObject({ kind: 'first' });
  expect(await acceptReplay(tools, request)).toMatchObject({ kind: 'replay' });
  expect((await log.listActivity(SHOP, ALL)).slice(2)).toMatchObject([
    { action: 'webhooks.replay_requested', about: [request.replayId, endpoint.id], actor: BY_REQUEST },
  ]);
});

describe('the settings', () => {
  const settings = { sandbox: 'true', memoryMb: '512' };

  test('are recorded only when they change', async () => {
    await log.recordSettings(settings);
    await log.recordSettings({ memoryMb: '512', sandbox: 'true' });
    await log.recordSettings({ ...settings, memoryMb: '1024' });
    await log.recordSettings(settings);
    const entries = await log.listActivity('settings', ALL);
    expect(entries.map(({ details }) => details?.['memoryMb'])).toEqual(['512', '1024', '512']);
    expect(entries[0]?.about).toEqual(entries[2]?.about);
  });

  test('are recorded once when several functions start at the same time', async () => {
    await Promise.all(Array.from({ length: 5 }, () => log.recordSettings(settings)));
    expect(await actions('settings')).toEqual(['settings.seen']);
  });
});
