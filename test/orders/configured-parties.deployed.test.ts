import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { CreateSecretCommand, DeleteSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { CreateQueueCommand, DeleteQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type OrderId, storedOperationId, tenantId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { systemClock } from '../../lambdas/kernel/platform/platform.ts';
import { secrets } from '../../lambdas/kernel/platform/secrets-manager.ts';
import { queues } from '../../lambdas/kernel/platform/sqs.ts';
import { systemPlatform } from '../../lambdas/kernel/platform/system-platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { configuredParties, configuredRedrive, type Parties } from '../../lambdas/orders/parties/configured-parties.ts';
import type { PartiesConfig } from '../../lambdas/orders/parties/settings.ts';
import { callOnce } from '../../lambdas/outbound/http-call.ts';
import { SqsDeadLetterStore } from '../../lambdas/outbound/store/sqs-dead-letter-store.ts';
import { redriveDeadLetters } from '../../lambdas/outbound/use/redrive-dead-letters.ts';
import { PROJECT } from '../../local/directories.ts';
import { askSandbox, CREDENTIALS, createTables, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';
import { World } from '../world/world.ts';
import { BIGCOMMERCE_TOKEN, LOCATION, serveBigCommerce } from './bigcommerce-double.ts';

const LIMIT = { timeoutMs: 15_000 };
const { awsEndpoint: endpoint, region, sandboxUrl, sandboxSecret } = localAws();
const manager = new SecretsManagerClient({ endpoint, region, credentials: CREDENTIALS });
const sqs = new SQSClient({ endpoint, region, credentials: CREDENTIALS });

let config: PartiesConfig;
let counts: string[];
const NO_METER = { addMetric: () => undefined, publishStoredMetrics: () => undefined };
const singleMetric = () => {
  let vendor = '';
  return {
    addDimension: (_name: string, value: string) => void (vendor = value),
    addMetric: (count: string) => void counts.push(`${vendor} ${count}`),
  };
};
const tools = () => ({
  ...systemPlatform(),
  ...queues,
  ...secrets,
  documents: documentClient(dynamoDbClient()),
  send: callOnce,
  instruments: { ...systemInstruments, metrics: () => ({ ...NO_METER, singleMetric }) },
});

beforeAll(async () => {
  // Lambda sets these variables in a deployment.
  process.env['AWS_ENDPOINT_URL'] = endpoint;
  process.env['AWS_REGION'] = region;
  process.env['AWS_ACCESS_KEY_ID'] = CREDENTIALS.accessKeyId;
  process.env['AWS_SECRET_ACCESS_KEY'] = CREDENTIALS.secretAccessKey;
  const { registry } = await createTables('parties');
  const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: `parties-${process.pid}` }));
  const { ARN = '' } = await manager.send(
    new CreateSecretCommand({ Name: `parties-${process.pid}`, SecretString: sandboxSecret }),
  );
  config = {
    shopUrl: sandboxUrl,
    secrets: { sandbox: ARN },
    postmark: { url: sandboxUrl, from: 'shop@payonce.example', maxLagMs: 0 },
    emailsPerRecipient: 20,
    registryTable: registry,
    deadLettersQueueUrl: QueueUrl,
    delayedCallsQueueUrl: QueueUrl,
  };
  counts = [];
});
afterAll(async () => {
  if ('sandbox' in config.secrets) {
    await manager.send(new DeleteSecretCommand({ SecretId: config.secrets.sandbox, ForceDeleteWithoutRecovery: true }));
  }
  await sqs.send(new DeleteQueueCommand({ QueueUrl: config.deadLettersQueueUrl }));
});

test('the generated sandbox secret consists of at least 32 letters and digits', () => {
  expect(sandboxSecret).toMatch(/^[A-Za-z0-9]{32,}$/);
});

describe('the clients of the external services, on the deployed sandbox,', () => {
  const order = `ord_${crypto.randomUUID()}` as OrderId;
  const operation = (step: string) => storedOperationId(`${step}_${order}`);
  const counted = async (path: string): Promise<number> => {
    const answer = await askSandbox(path);
    const { data, TotalCount } = (await answer.json()) as { data?: unknown[]; TotalCount?: number };
    return TotalCount ?? data?.length ?? -1;
  };
  /** The clients are configured again for each call, as in two processes. */
  const twice = async <T>(ask: (parties: Parties) => Promise<T>): Promise<T> => {
    const first = await ask(await configuredParties(config, tools()));
    expect(await ask(await configuredParties(config, tools()))).toEqual(first);
    return first;
  };
  const email = (step: string, to: string) => ({
    operationId: operation(step),
    to,
    tenantId: tenantId('ten_1'),
    mode: 'live' as const,
    dueAtMs: 0,
    subject: 'Your order',
    text: 'Thank you.',
    tag: 'order-confirmation',
  });
  const emails = (step: string) => counted(`/messages/outbound?count=50&offset=0&metadata_payonce=${operation(step)}`);

  test('reserve, credit and send once, even if a call is retried', async () => {
    const items = [{ sku: 'sku_flaky', quantity: 1 }];
    const reserved = await twice(({ stock }) =>
      stock.reserve({ operationId: operation('stock'), orderId: order, items }, LIMIT),
    );
    expect([reserved.kind, await counted(`/stock/reservations?order=${order}`)]).toEqual(['reserved', 1]);

    const credit = { orderId: order, referrer: 'ref_flaky', amountMinor: 500, currency: 'EUR' };
    const credited = await twice(({ referrals }) =>
      referrals.credit({ operationId: operation('credit'), ...credit }, LIMIT),
    );
    expect([credited.kind, await counted(`/referrals/credits?order=${order}`)]).toEqual(['credited', 1]);

    const sent = await twice(({ mailer }) => mailer.send(email('mail', 'ada@example.com'), LIMIT));
    expect([sent.kind, await emails('mail')]).toEqual(['sent', 1]);
    expect(new Set(counts)).toEqual(
      new Set([
        'stock outbound_call',
        'stock outbound_retry',
        'referrals outbound_call',
        'referrals outbound_retry',
        'postmark outbound_call',
      ]),
    );
  });

  test('dead-letter calls that need an operator, and send them once when redriven', async () => {
    const { mailer } = await configuredParties(config, tools());
    expect(await mailer.send(email('late', 'account@example.com'), LIMIT)).toEqual({
      kind: 'given_up',
      reason: 'postmark_account',
      mayBeApplied: false,
    });
    const box = new SqsDeadLetterStore(sqs, config.deadLettersQueueUrl, config.delayedCallsQueueUrl);
    const [kept] = await box.take(1);
    expect(kept?.deadLetter).toMatchObject({ vendor: 'postmark', reason: 'postmark_account', mayBeApplied: false });
    if (kept !== undefined) await box.release(kept);

    const redrive = await configuredRedrive(config, { ...new World().tools, ...tools() });
    const run = { deadlineMs: systemClock.nowMs() + 600_000, atMost: 10 };
    const reports = await redriveDeadLetters(
      { ...redrive, runner: idempotentRunner, clock: systemClock, report: () => {} },
      run,
    );
    expect(reports).toMatchObject([{ state: 'applied' }]);
    const again = await mailer.send(email('late', 'account@example.com'), LIMIT);
    expect([again.kind, await emails('late')]).toEqual(['sent', 1]);
  });
});

describe('BigCommerce as the shop', () => {
  test('adjusts the inventory once if a process is killed before the response, and leaves a dead letter for an operator', async () => {
    await using store = await serveBigCommerce();
    const { ARN = '' } = await manager.send(
      new CreateSecretCommand({ Name: `bigcommerce-${process.pid}`, SecretString: BIGCOMMERCE_TOKEN }),
    );
    const ofStore: PartiesConfig = {
      ...config,
      shopUrl: store.store,
      secrets: { bigcommerceToken: ARN, locationId: LOCATION, postmarkToken: ARN },
    };
    const orderId = `ord_${crypto.randomUUID()}` as OrderId;
    const order = {
      operationId: storedOperationId(`stock_${orderId}`),
      orderId,
      items: [{ sku: 'sku_tea', quantity: 2 }],
    };
    store.writeTroubles.push('silent_after');
    const child = spawn(process.execPath, [join('test', 'orders', 'stock-process.ts')], {
      cwd: PROJECT,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, CONFIG: JSON.stringify(ofStore), ORDER: JSON.stringify(order) },
    });
    await until(async () => (store.adjustments.length > 0 ? true : undefined));
    child.kill('SIGKILL');

    // By this clock, the lease of the killed process has expired.
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 600_000 };
    const { stock } = await configuredParties(ofStore, { ...tools(), clock });
    expect(await stock.reserve(order, LIMIT)).toMatchObject({ kind: 'refused', failure: { code: 'stock_in_doubt' } });
    expect(store.adjustments).toMatchObject([{ reason: `Payonce ${orderId}` }]);
    const [kept] = await new SqsDeadLetterStore(sqs, config.deadLettersQueueUrl, config.delayedCallsQueueUrl).take(10);
    expect(kept?.deadLetter).toMatchObject({ about: orderId, reason: 'stock_in_doubt', mayBeApplied: true });

    const other = { ...order, operationId: storedOperationId(`other_${orderId}`) };
    expect(await stock.reserve(other, LIMIT)).toEqual({ kind: 'reserved', reservationId: 't-2' });

    // A process is killed after it wrote the order's note in the store and before it received the response. No other
    // process writes the note again.
    const noting = { ...other, shopOrder: 118 };
    store.writeTroubles.push('silent_after');
    const writer = spawn(process.execPath, [join('test', 'orders', 'stock-process.ts')], {
      cwd: PROJECT,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, CONFIG: JSON.stringify(ofStore), ORDER: JSON.stringify(noting) },
    });
    await until(async () => (store.notes.get(118) === 'Gift wrap' ? undefined : true));
    writer.kill('SIGKILL');
    const noted = store.notes.get(118);
    const late = { ...systemClock, nowMs: () => systemClock.nowMs() + 1_200_000 };
    const { stock: next } = await configuredParties(ofStore, { ...tools(), clock: late });
    expect(await next.reserve(noting, LIMIT)).toEqual({ kind: 'reserved', reservationId: 't-2' });
    expect(store.notes.get(118)).toBe(noted);
    expect(noted).toBe(`Gift wrap\nPayonce ${orderId}: paid, stock t-2`);
    expect(store.requests.filter((each) => each.startsWith('PUT'))).toHaveLength(1);
    await manager.send(new DeleteSecretCommand({ SecretId: ARN, ForceDeleteWithoutRecovery: true }));
  });
});
