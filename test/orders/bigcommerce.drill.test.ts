import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GetFunctionConfigurationCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ALL_SCOPES, StackOutput, stackNameOf } from '../../lambdas/kernel/contract/api.ts';
import { LEASE_SECONDS } from '../../lambdas/kernel/contract/timing.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemClock } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { PartiesEnvironment } from '../../lambdas/orders/contract.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { deploy } from '../../local/cdk.ts';
import { openQueuesToPlainHttp, reachable } from '../../local/local-aws.ts';
import { signalProcess } from '../../local/processes.ts';
import { createHandler } from '../../sandbox/entry.ts';
import { runJob } from '../jobs/run-job.ts';
import { serveSandbox } from '../sandbox/sandbox-server.ts';
import { type ApiAnswer, ApiClient } from '../support/api-client.ts';
import { workersOf } from '../support/lambda-workers.ts';
import { CREDENTIALS, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { redirectFunctions } from '../support/redirected-functions.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';
import { emptyBooks } from '../world/sandbox-books.ts';
import { BIGCOMMERCE_TOKEN, serveBigCommerce } from './bigcommerce-double.ts';
import { POSTMARK_TOKEN, servePostmark } from './postmark-double.ts';

const ENVIRONMENT = 'bigcommerce';
const SETTINGS = {
  'payonce:environment': ENVIRONMENT,
  'payonce:sandbox': 'false',
  // The emulator's CloudFormation does not support event archives.
  'payonce:eventArchive': 'false',
  'payonce:processorUrl': 'https://processor.example',
  'payonce:shop': 'bigcommerce',
  'payonce:bigcommerceStore': 'st0re',
  'payonce:emailSender': 'shop@payonce.example',
};

const aws = localAws();
const target = { endpoint: aws.awsEndpoint, region: aws.region, credentials: CREDENTIALS };
const lambda = new LambdaClient(target);
const manager = new SecretsManagerClient(target);
const sqs = new SQSClient(target);
let directory: string;
// Runs in a hook, so that a skipped test creates no directory.
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'payonce-bigcommerce-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

type Outputs = Readonly<Record<keyof typeof StackOutput, string>>;

async function deployWithStore(): Promise<Outputs> {
  const run = { access: aws, directory, report: () => undefined };
  const stacks = await deploy(run, { context: SETTINGS });
  await openQueuesToPlainHttp(aws);
  const outputs = { ...stacks[stackNameOf('data', ENVIRONMENT)], ...stacks[stackNameOf('service', ENVIRONMENT)] };
  return Object.fromEntries(Object.entries(StackOutput).map(([name, output]) => [name, outputs[output]])) as Outputs;
}

/** A separate stack takes a minute to deploy, so only `npm run prove` runs this test. */
whole(test, { slice: test.skip })(
  'a deployment whose shop is BigCommerce reserves and notes an order once; a process killed before the response leaves a dead letter',
  async () => {
    const books = emptyBooks();
    await using processor = await serveSandbox(
      createHandler({
        books,
        tasks: { enqueue: async () => undefined },
        runner: idempotentRunner,
        livemode: true,
        callbacks: { address: async () => undefined, secret: async () => 'not used' },
        nowMs: () => systemClock.nowMs(),
        newId: (prefix) => `${prefix}${crypto.randomUUID().replaceAll('-', '')}`,
        wait: (milliseconds) => sleep(milliseconds),
      }),
    );
    await using store = await serveBigCommerce();
    await using postmark = await servePostmark(systemClock);

    const outputs = await deployWithStore();
    await redirectFunctions({
      'https://processor.example': processor.url,
      'https://api.bigcommerce.com': store.url,
      'https://api.postmarkapp.com': postmark.url,
    });
    const { Environment } = await lambda.send(
      new GetFunctionConfigurationCommand({ FunctionName: outputs.ordersFunction }),
    );
    const environment = Environment?.Variables ?? {};
    for (const [variable, SecretString] of [
      [PartiesEnvironment.bigcommerceTokenSecretId, BIGCOMMERCE_TOKEN],
      [PartiesEnvironment.postmarkTokenSecretId, POSTMARK_TOKEN],
    ] as const)
      await manager.send(new PutSecretValueCommand({ SecretId: environment[variable], SecretString }));

    const { idempotencyTable: idempotency, ledgerTable: ledger, registryTable: registry } = outputs;
    const administration = new TenantAdministration(
      documentClient(dynamoDbClient()),
      { idempotency, ledger, registry },
      'Shop',
    );
    const tenantId = await administration.createTenant('Shop');
    const apiUrl = reachable(aws.awsEndpoint, outputs.apiUrl);
    const shop = new ApiClient(
      { apiUrl },
      await administration.createApiKey({ name: 'Shop', tenantId, mode: 'live', scopes: ALL_SCOPES }),
    );
    const operatorKey = await administration.createOperatorKey({ operator: 'Operator', role: 'owner' });
    const order = (key: string, body: Readonly<Record<string, unknown>> = {}): Promise<ApiAnswer> => {
      const tea = { amount: 2_000, currency: 'EUR', source: 'tok_ok', items: [{ sku: 'sku_tea', quantity: 2 }] };
      return shop.send('POST', '/v1/orders', {
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify({ ...tea, email: `${key}@example.com`, ...body }),
      });
    };

    const first = await order('kept', { shop_order: 118 });
    expect([first.status, first.json['status'], first.json['livemode']]).toEqual([201, 'completed', true]);
    const again = await order('kept', { shop_order: 118 });
    expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([first.text, 'true']);
    expect(store.adjustments).toHaveLength(1);
    expect(store.notes.get(118)).toBe(`Gift wrap\nPayonce ${String(first.json['id'])}: paid, stock t-1`);
    expect(postmark.emails).toHaveLength(1);

    store.writeTroubles.push('silent_after');
    const dying = order('killed');
    await until(async () => (store.adjustments.length === 2 ? true : undefined));
    for (const pid of workersOf(outputs.ordersFunction)) signalProcess(pid, 'SIGKILL');
    expect((await dying).status).toBeGreaterThanOrEqual(500);
    await sleep((LEASE_SECONDS + 1) * 1_000);
    const ended = await until(async () => {
      await runJob({ ...aws, apiUrl, operatorKey }, 'resolve');
      const answer = await order('killed');
      return [201, 202].includes(answer.status) || answer.json['code'] !== 'idempotency_key_in_progress'
        ? answer
        : undefined;
    });
    // The store does not report whether it applied the adjustment, so Payonce refunds the payer and asks an operator to
    // check the stock.
    expect([ended.status, ended.json['code'], ended.json['order']]).toMatchObject([
      409,
      'order_canceled',
      { status: 'canceled', failure: { code: 'stock_in_doubt' } },
    ]);
    expect(store.adjustments).toHaveLength(2);
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl: environment[PartiesEnvironment.deadLettersQueueUrl], WaitTimeSeconds: 5 }),
    );
    expect(Messages.map(({ Body = '' }) => JSON.parse(Body) as unknown)).toMatchObject([
      {
        deadLetter: { about: (ended.json['order'] as { id: string }).id, reason: 'stock_in_doubt', mayBeApplied: true },
      },
    ]);
    const { payment } = ended.json['order'] as { readonly payment: string };
    const answer = await fetch(`${processor.url}/charges?payment=${payment}`);
    expect(await answer.json()).toMatchObject({ data: [{ amount: 2_000, amount_refunded: 2_000 }] });
    expect(postmark.emails).toHaveLength(1);
  },
);
