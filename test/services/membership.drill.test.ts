/** Tests the guarantee "team services". */
import { CreateSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import type { SQSEvent } from 'aws-lambda';
import { signJobCredential } from '../../lambdas/jobs/job-credential.ts';
import { DynamoDbJobRuns } from '../../lambdas/jobs/store/dynamodb-job-runs.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemPlatform } from '../../lambdas/kernel/platform/system-platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { CREDENTIALS, createTables, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';
import { endMemberships, type MembershipSettings, removeBundle, startMembership } from './membership-service.ts';
import { addLocks, effectsIn, ownTable } from './own-tables.ts';

const SECRET = 'a-secret-of-the-target-membership';
const PATH = '/v1/admin/commission-locks/release-expired';
const RUN = 'release-commission-locks:2026-03-01T01:20:00Z';
const BODY = { scheduled_for: 1_772_328_000 };

afterEach(endMemberships);
afterAll(removeBundle);

/** The caller has the credential of a run. */
async function start(settings: Omit<MembershipSettings, 'secret'>) {
  const service = await startMembership({ ...settings, secret: SECRET });
  return {
    ...service,
    call: async (more: { readonly runId?: string; readonly body?: object; readonly target?: string } = {}) => {
      const { runId = RUN, body = BODY, target = 'membership' } = more;
      const credential = await sign(`${target} ${PATH}`, runId);
      const response = await fetch(`${service.url}${PATH}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${credential}`,
          'content-type': 'application/json',
          'idempotency-key': runId,
        },
        body: JSON.stringify(body),
      });
      const answer: unknown = await response.json();
      return { status: response.status, headers: response.headers, body: answer };
    },
  };
}

async function sign(audience: string, runId: string, secret = SECRET): Promise<string> {
  const secrets = { active: async () => [secret], renewed: async () => undefined };
  const tools = { secrets, secretId: 'x', clock: { nowMs: () => Date.now() } };
  return signJobCredential(tools, { path: audience, runId, scopes: ['membership:admin'] });
}

/** The service returns 409 until the earlier owner's lease has expired. */
async function answerAfterLease(service: Awaited<ReturnType<typeof start>>) {
  return until(async () => {
    const answer = await service.call();
    return answer.status === 409 ? undefined : answer;
  });
}

async function withLocks(count: number): Promise<string> {
  const table = await ownTable();
  await addLocks(table, count);
  return table;
}

async function targetCaller(name: string, url: string) {
  const { awsEndpoint: endpoint, region } = emulatedAws();
  const own = { endpoint, region, credentials: CREDENTIALS };
  const sqs = new SQSClient(own);
  const secrets = new SecretsManagerClient(own);
  const secretId = `target-${process.pid}-${name}`;
  await secrets.send(new CreateSecretCommand({ Name: secretId, SecretString: JSON.stringify({ current: SECRET }) }));
  const queueOf = async (queue: string): Promise<string> => {
    const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: `${queue}-${process.pid}-${name}` }));
    return QueueUrl;
  };
  const [queueUrl, missedUrl] = [await queueOf('calls'), await queueOf('missed')];
  const jobs = { 'release-commission-locks': { path: PATH, scopes: ['membership:admin'], windowSeconds: 3_600 } };
  const { idempotency, registry } = await createTables(`targets-${name}`);
  const variables = {
    IDEMPOTENCY_TABLE: idempotency,
    REGISTRY_TABLE: registry,
    WEBHOOK_LOOPBACK: 'true',
    JOB_TARGETS: JSON.stringify({ membership: { url, secretId, jobs } }),
    TARGET_CALLS_QUEUE_URL: queueUrl,
    MISSED_QUEUE_URL: missedUrl,
  };
  // The module reads its settings when it is loaded.
  Object.assign(process.env, variables, { AWS_REGION: region });
  const { wire } = await import('../../lambdas/functions/job-targets.ts');
  const handler = await wire(
    {
      ...systemPlatform(),
      variables,
      documents: documentClient(dynamoDbClient()),
      sqs: () => sqs,
      secretsManager: async () => secrets,
    },
    idempotentRunner,
  );
  const receive = async (QueueUrl: string, WaitTimeSeconds: number) =>
    (await sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds }))).Messages ?? [];
  return {
    /** Enqueues a call as the schedule does. */
    fire: (scheduledTime: string) => {
      const call = { target: 'membership', job: 'release-commission-locks', scheduledTime };
      return sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: JSON.stringify(call) }));
    },
    /** Handles the next message, as the queue's event source does. */
    work: async () => {
      const [message] = await receive(queueUrl, 15);
      const record = { messageId: message?.MessageId, body: message?.Body };
      const answer = await handler({ Records: [record] } as SQSEvent);
      if (answer.batchItemFailures.length === 0)
        await sqs.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle: message?.ReceiptHandle }));
      return answer;
    },
    /** Newest first. */
    runs: async () => {
      const pacing = { clock: systemPlatform().clock, entropy: systemPlatform().entropy };
      const tables = { idempotency, ledger: idempotency, registry };
      const store = new DynamoDbJobRuns(documentClient(dynamoDbClient()), tables, pacing);
      return (await store.listRuns('release-commission-locks', { limit: 10 })).map(({ status, reason }) => [
        status,
        reason,
      ]);
    },
    missed: async () => (await receive(missedUrl, 1)).map(({ Body = '{}' }) => JSON.parse(Body) as unknown),
  };
}

describe('the membership service in a separate process', () => {
  test('releases each lock once, and a replay of the run changes nothing and returns the same response', async () => {
    const table = await withLocks(45);
    const service = await start({ table });
    const first = await service.call();
    expect(first).toMatchObject({ status: 200, body: { object: 'release', run: RUN, released: 45 } });
    await addLocks(table, 45);
    const second = await service.call();
    expect(second).toMatchObject({ status: 200, body: first.body });
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await effectsIn(table)).toMatchObject({ credits: 45, sum: 450, runs: 1 });
  });

  test('releases the locks when a job’s queued call reaches it, and duplicate messages or calls change nothing', async () => {
    const table = await withLocks(25);
    const service = await start({ table });
    const scheduledTime = new Date().toISOString().replace(/\.\d+Z/, 'Z');
    const taken = { batchItemFailures: [] };
    const first = await targetCaller('first', service.url);
    await first.fire(scheduledTime);
    await first.fire(scheduledTime);
    expect([await first.work(), await first.work()]).toEqual([taken, taken]);
    await addLocks(table, 1);
    // A second caller has no record that the target accepted the run, so it calls the target again.
    const second = await targetCaller('second', service.url);
    await second.fire(scheduledTime);
    expect(await second.work()).toEqual(taken);
    expect(await effectsIn(table)).toEqual({ credits: 25, sum: 250, locked: 1, runs: 1 });
    // The window of this run has ended, so the caller reports the run as missed instead of calling the target.
    await second.fire('2026-03-01T01:20:00Z');
    expect(await second.work()).toEqual(taken);
    expect(await second.missed()).toEqual([expect.objectContaining({ reason: 'window_ended' })]);
    expect(await first.runs()).toEqual([['succeeded', undefined]]);
    expect(await second.runs()).toEqual([
      ['succeeded', undefined],
      ['failed', 'window_ended'],
    ]);
  });

  test('refuses another target’s credential, and a changed body under the same key', async () => {
    const table = await withLocks(1);
    const service = await start({ table });
    expect(await service.call({ target: 'loyalty' })).toMatchObject({ status: 401 });
    expect(await effectsIn(table)).toMatchObject({ credits: 0 });
    expect(await service.call()).toMatchObject({ status: 200 });
    const other = await service.call({ body: { scheduled_for: 1 } });
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_key_payload_mismatch' } });
  });

  test('returns 409 while the first call is running', async () => {
    const table = await withLocks(1);
    const service = await start({ table, pause: 'before commit 1' });
    const first = service.call();
    await service.untilOutput(/paused\n/);
    expect(await service.call()).toMatchObject({ status: 409, body: { code: 'idempotency_key_in_progress' } });
    service.child.stdin.write('continue\n');
    expect(await first).toMatchObject({ status: 200, body: { released: 1 } });
  });

  test.each(['after claim 1', 'before part 1', 'after part 1', 'before commit 1', 'after commit 1'])(
    'releases each lock once if it is killed (%s) and a new process continues after the lease has expired',
    async (pause) => {
      const table = await withLocks(25);
      const killed = await start({ table, pause, leaseSeconds: 1 });
      const lost = killed.call().catch(() => 'no answer');
      await killed.untilOutput(/paused\n/);
      killed.child.kill('SIGKILL');
      expect(await lost).toBe('no answer');
      const next = await start({ table, leaseSeconds: 1 });
      expect(await answerAfterLease(next)).toMatchObject({ status: 200 });
      expect(await effectsIn(table)).toEqual({ credits: 25, sum: 250, locked: 0, runs: 1 });
    },
  );

  test('renews its lease and keeps its claim while a run takes longer than one lease', async () => {
    const table = await withLocks(1);
    const service = await start({ table, leaseSeconds: 1, pause: 'before part 1', clock: 'simulated' });
    const first = service.call();
    await service.untilOutput(/paused\n/);
    for (let renewals = 1; renewals <= 5; renewals += 1) {
      service.child.stdin.write('pass 400\n');
      await service.untilOutput(new RegExp(`(renewal ok\\n[^]*){${renewals}}`));
    }
    expect(await service.call()).toMatchObject({ status: 409 });
    service.child.stdin.write('continue\n');
    expect(await first).toMatchObject({ status: 200 });
    expect(await effectsIn(table)).toMatchObject({ credits: 1, runs: 1 });
  });

  test.each(['before part 2', 'before commit 1'])(
    'writes nothing more after it was stopped (%s) for longer than its lease',
    async (pause) => {
      const table = await withLocks(25);
      const stopped = await start({ table, pause, leaseSeconds: 1 });
      const first = stopped.call();
      await stopped.untilOutput(/paused\n/);
      stopped.child.kill('SIGSTOP');
      stopped.child.stdin.write('continue\n');
      const taken = await answerAfterLease(await start({ table }));
      expect(taken).toMatchObject({ status: 200 });
      const before = stopped.said().length;
      stopped.child.kill('SIGCONT');
      const late = await first;
      // The stopped process returns the response that the other process stored, or 409.
      expect([200, 409]).toContain(late.status);
      if (late.status === 200) expect(late.body).toEqual(taken.body);
      expect(stopped.said().slice(before)).toMatch(/(part|commit) refused/);
      // The output may contain `renewal ok`, because the table may have accepted a renewal before the process was
      // stopped.
      expect(stopped.said().slice(before)).not.toMatch(/(claim|part|commit) ok\n/);
      expect(await effectsIn(table)).toEqual({ credits: 25, sum: 250, locked: 0, runs: 1 });
    },
  );
});
