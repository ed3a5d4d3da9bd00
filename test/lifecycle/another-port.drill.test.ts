import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { PROJECT } from '../../local/directories.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { runJob } from '../jobs/run-job.ts';
import { ApiClient } from '../support/api-client.ts';
import { until } from '../support/until.ts';

const PORT = 14_866;
const directory = mkdtempSync(join(tmpdir(), 'payonce-another-port-'));
const run = promisify(execFile);
let occupant: Server | undefined;

const local = (script: string, ...parameters: string[]) =>
  run(process.execPath, [join('local', 'launch.mjs'), join('local', script), '--directory', directory, ...parameters], {
    cwd: PROJECT,
  });
const start = () => local('start.ts', '--detach', '--port', String(PORT));
const details = () => JSON.parse(readFileSync(join(directory, 'local.json'), 'utf8')) as LocalAws;

afterAll(async () => {
  await local('stop.ts');
  occupant?.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Includes a payment that only a callback completes. */
async function expectWork(aws: LocalAws): Promise<void> {
  await expectSucceeded(aws, 'tok_ok', [201, 202]);
  expect(await runJob(aws, 'resolve')).toMatchObject({ status: 'succeeded' });
  await expectSucceeded(aws, 'tok_async', [202]);
}

/** The refund is possible only if both starts use the same processor. */
async function expectRefund(aws: LocalAws, payment: unknown): Promise<void> {
  const refunded = await new ApiClient(aws, aws.apiKey).send('POST', `/v1/payments/${String(payment)}/refunds`, {
    headers: { 'idempotency-key': crypto.randomUUID(), 'content-type': 'application/json' },
    body: JSON.stringify({ amount: 100 }),
  });
  expect([201, 202]).toContain(refunded.status);
}

/** The payment may succeed late: on a busy machine, the call to the processor may time out. */
async function expectSucceeded(aws: LocalAws, source: string, statuses: readonly number[]): Promise<void> {
  const api = new ApiClient(aws, aws.apiKey);
  const { status, json } = await api.pay({ key: crypto.randomUUID(), body: { source } });
  expect(statuses).toContain(status);
  await until(async () => {
    const shown = await api.send('GET', `/v1/payments/${String(json['id'])}`);
    return shown.json['status'] === 'succeeded' ? true : undefined;
  });
}

test('a stack that is restarted on a different port makes payments, runs jobs, processes callbacks, and refunds old payments', async () => {
  await start();
  const before = details();
  await expectWork(before);
  const first = await new ApiClient(before, before.apiKey).pay({ key: 'before' });
  await local('stop.ts');

  occupant = createServer().listen(Number(new URL(before.awsEndpoint).port), '127.0.0.1');
  await once(occupant, 'listening');
  const { stdout } = await start();
  expect(stdout).toContain('Stacks: unchanged, not deployed');
  const after = details();
  expect(after.awsEndpoint).not.toBe(before.awsEndpoint);
  expect(after.apiKey).toBe(before.apiKey);
  await expectWork(after);
  const replay = await new ApiClient(after, after.apiKey).pay({ key: 'before' });
  expect([replay.text, replay.headers.get('idempotency-replayed')]).toEqual([first.text, 'true']);
  await expectRefund(after, first.json['id']);
});
