import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { deployKey } from '../../local/deploy-key.ts';
import { type LocalAws, startLocalAws } from '../../local/local-aws.ts';
import { Snapshots } from '../../local/snapshots.ts';
import { runJob } from '../jobs/run-job.ts';
import { ApiClient } from '../support/api-client.ts';

const PORT = 14_867;
const directory = mkdtempSync(join(tmpdir(), 'payonce-snapshot-'));
const folder = join(directory, 'snapshots');
const snapshots = new Snapshots(folder);
const key = deployKey() ?? '';

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Returns the steps of the snapshot and of the deployment. */
async function started(name: string, use: (aws: LocalAws) => Promise<void>): Promise<readonly string[]> {
  const steps: string[] = [];
  const { aws, emulator } = await startLocalAws({
    directory: join(directory, name),
    port: PORT,
    persist: false,
    snapshots,
    report: (step, detail = '') => void steps.push(`${step}: ${detail}`),
  });
  try {
    await use(aws);
  } finally {
    await emulator.stop();
  }
  return steps.filter((step) => /^(Snapshot|Stacks|Deploy)/.test(step));
}

async function expectPayment(aws: LocalAws): Promise<void> {
  const paid = await new ApiClient(aws, aws.apiKey).payUntilAnswered({ key: 'after-start' });
  expect([201, 202]).toContain(paid.status);
  expect(paid.headers.get('idempotency-replayed')).toBeNull();
}

test('a start that finds an unusable snapshot deploys and creates a new snapshot, which the next start uses', async () => {
  // According to its manifest, this snapshot is complete, but it has no stacks.
  const empty = join(directory, 'empty');
  mkdirSync(empty);
  writeFileSync(join(empty, 'payonce-deploy.json'), JSON.stringify({ key, stacks: {} }));
  writeFileSync(join(empty, 'dynamodb.json'), '{"__ministack_format__":2,"payload":[1]}');
  snapshots.keep(key, empty);
  const deployed = await started('first', expectPayment);
  expect(deployed).toEqual([expect.stringContaining('Snapshot: not usable, deploying instead'), 'Deploy the stacks: ']);

  let operatorKey = '';
  const restored = await started('second', async (aws) => {
    operatorKey = aws.operatorKey;
    await expectPayment(aws);
    expect(await runJob(aws, 'resolve')).toMatchObject({ status: 'succeeded' });
  });
  expect(restored).toEqual(['Stacks: from the snapshot of an earlier deployment']);
  await started('third', async (aws) => {
    expect(aws.operatorKey).not.toBe(operatorKey);
    const payments = await new ApiClient(aws, aws.apiKey).send('GET', '/v1/payments');
    expect(payments.json['data']).toEqual([]);
  });
  expect(readdirSync(folder)).toEqual([key]);
});

test('a snapshot is not used if its stacks differ from those that it records', async () => {
  const state = join(directory, 'changed');
  cpSync(join(folder, key, 'files'), state, { recursive: true });
  writeFileSync(join(state, 'payonce-deploy.json'), JSON.stringify({ key, stacks: { PayonceData: 'another deploy' } }));
  snapshots.drop(key);
  snapshots.keep(key, state);
  expect(await started('fourth', expectPayment)).toEqual([
    expect.stringContaining('Snapshot: not usable, deploying instead'),
    'Deploy the stacks: ',
  ]);
});

test('a new stack charges once for fifty concurrent duplicates, and gives a reason for each refusal', async () => {
  await started('cold', async (aws) => {
    const api = new ApiClient(aws, aws.apiKey);
    const post = { key: 'cold-fifty' };
    const answers = await Promise.all(Array.from({ length: 50 }, () => api.pay(post)));
    for (const { status, headers, json, text } of answers) {
      if (status === 201 || status === 202) continue;
      expect([409, 503]).toContain(status);
      expect({ text, code: json['code'] }).toEqual({
        text: expect.any(String),
        code: status === 409 ? 'idempotency_key_in_progress' : expect.stringMatching(/_unavailable$/),
      });
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    const { json: payment } = await api.payUntilAnswered(post);
    expect(new Set(answers.filter(({ status }) => status < 300).map(({ text }) => text)).size).toBeLessThanOrEqual(1);
    expect(await api.charges(payment['id'])).toHaveLength(1);
  });
});
