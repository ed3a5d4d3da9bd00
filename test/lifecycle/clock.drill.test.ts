import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { AUTHORITIES } from '../../lambdas/authority/contract.ts';
import { PROJECT } from '../../local/directories.ts';
import { accessTo } from '../../local/emulator-environment.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { ApiClient } from '../support/api-client.ts';
import { until } from '../support/until.ts';
import { serveWebhookReceiver } from '../webhooks/webhook-receiver.ts';

const PORT = 14_966;
const DAY_S = 86_400;
const run = promisify(execFile);

describe.each(AUTHORITIES)('payonce clock advance, with %s as the authority', (authority) => {
  const directory = mkdtempSync(join(tmpdir(), `payonce-clock-${authority}-`));
  const inDirectory = (program: string, ...words: readonly string[]) =>
    run(process.execPath, [...program.split(' '), '--directory', directory, ...words], { cwd: PROJECT });
  const local = (script: string, ...words: readonly string[]) =>
    inDirectory(`local/launch.mjs local/${script}`, ...words);
  const start = (...words: readonly string[]) => local('start.ts', '--detach', '--port', String(PORT), ...words);
  const payonce = async (...words: readonly string[]) => {
    const { stdout } = await inDirectory('cli/payonce.mjs', '--local', '--json', ...words);
    return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
  };
  const details = () => JSON.parse(readFileSync(join(directory, 'local.json'), 'utf8')) as LocalAws;
  const api = (key = details().apiKey) => new ApiClient(details(), key);
  const statusOf = async (id: unknown) => (await api().send('GET', `/v1/payments/${String(id)}`)).json['status'];

  afterAll(async () => {
    await local('stop.ts');
    rmSync(directory, { recursive: true, force: true });
  });

  test('makes webhook retries due, and lets keys, holds, responses and rows expire; a restart keeps the time', async () => {
    await start('--authority', authority);
    expect(await payonce('clock')).toMatchObject({ ahead_seconds: 0 });
    await using receiver = await serveWebhookReceiver();
    receiver.respond = (response) => response.writeHead(500).end();
    const made = await api().send('POST', '/v1/webhook_endpoints', {
      headers: { 'content-type': 'application/json', 'idempotency-key': 'hooks' },
      body: JSON.stringify({ url: receiver.url, events: ['payment.completed'] }),
    });
    const { key } = await payonce('keys', 'create', '--tenant', details().tenantId, '--name', 'a', '--expires-in', '1');
    const paid = await api(String(key)).payUntilAnswered({ key: 'first' });
    const held = await api().payUntilAnswered({ key: 'held', body: { capture: 'manual' } });
    const id = held.json['id'];
    await until(async () => ((await statusOf(id)) === 'requires_capture' ? true : undefined));
    // The third attempt is due after five minutes.
    await until(async () => receiver.arrivals[1]);
    const before = receiver.arrivals.length;
    receiver.respond = (response) => response.writeHead(204).end();

    expect(await payonce('clock', 'advance', '10m')).toMatchObject({ ahead_seconds: 600 });
    const { body, headers } = await until(async () => receiver.arrivals[before]);
    new Webhook(String(made.json['secret'])).verify(body, headers as Record<string, string>);

    await payonce('clock', 'advance', '8d');
    await until(async () => ((await statusOf(id)) === 'canceled' ? true : undefined));
    expect((await api(String(key)).pay({ key: 'second' })).status).toBe(401);
    const expired = { code: 'idempotency_key_expired', payment_id: paid.json['id'] };
    expect((await api().pay({ key: 'first' })).json).toMatchObject(expired);
    const client = new DynamoDBClient(accessTo(details()));
    await until(async () => {
      const { Items = [] } = await client.send(new ScanCommand({ TableName: details().tables.idempotency }));
      const nowSeconds = Date.now() / 1000 + 8 * DAY_S;
      return Items.some(({ expiresAt }) => Number(expiresAt?.N) < nowSeconds) ? undefined : true;
    });

    const later = await api().payUntilAnswered({ key: 'later' });
    expect(Math.round((Number(later.json['created']) - Date.now() / 1000) / DAY_S)).toBe(8);
    await local('stop.ts');
    await start();
    expect(await payonce('clock')).toMatchObject({ ahead_seconds: 8 * DAY_S + 600 });
    expect((await api().pay({ key: 'later' })).text).toBe(later.text);
    await payonce('jobs', 'run', 'reconcile-recent', '--wait');
    const mismatches = await payonce('api', 'GET', '/v1/admin/mismatches');
    expect(mismatches['data']).toEqual([]);
  });
});
