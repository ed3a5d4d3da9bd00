/** Tests the guarantee "safe deploys". */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { GetQueueAttributesCommand, ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { stackNameOf } from '../../lambdas/kernel/contract/api.ts';
import { type CdkApp, deploy, PAYONCE } from '../../local/cdk.ts';
import { PROJECT } from '../../local/directories.ts';
import { connect, type LocalAws } from '../../local/local-aws.ts';
import { type ApiAnswer, ApiClient } from '../support/api-client.ts';
import { CREDENTIALS, localAws } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';

const ENVIRONMENT = 'under-way';
const PAYERS = 3;
/** Settings that only the last two deploys have. */
const CHANGED = {
  'payonce:memoryMb': '640',
  'payonce:tenantRate': '90',
  'payonce:throttlingRate': '150',
  'payonce:logRetentionDays': '30',
  'payonce:alarmEmail': 'on-call@shop.example',
  'payonce:stripeAccount': 'acct_1',
};
const SOURCES = ['bin', 'lib', 'lambdas', 'sandbox', 'console', 'generated', 'package.json', 'tsconfig.json'];
/** Adds a field, which the first version does not know, to each transition and to each response to a new payment. */
const NEXT_CODE = [
  {
    file: 'lambdas/payments/store/items.ts',
    before: '    ...transition,\n',
    after: "    ...transition,\n    madeBy: 'next',\n",
  },
  {
    file: 'lambdas/payments/domain/payment-answer.ts',
    before: 'const body = paymentObject(payment, details);',
    after: "const body = { ...paymentObject(payment, details), made_by: 'next' };",
  },
];

/**
 * The deploy updates all functions and then waits for a signal that never arrives, so CloudFormation rolls the service
 * back.
 */
const REFUSED = [
  { file: 'bin/app.ts', before: 'import { App }', after: 'import { App, CfnWaitCondition, CfnWaitConditionHandle }' },
  {
    file: 'bin/app.ts',
    before: '\nconst app',
    after: "import { CfnFunction } from 'aws-cdk-lib/aws-lambda';\n\nconst app",
  },
  {
    file: 'bin/app.ts',
    before: 'buildStacks(app);',
    after: `const service = buildStacks(app)!.service;
const handle = new CfnWaitConditionHandle(service, 'Signal').ref;
const refused = new CfnWaitCondition(service, 'Refused', { handle, count: 1, timeout: '20' });
for (const each of service.node.findAll()) if (each instanceof CfnFunction) refused.addDependency(each);`,
  },
];

const { awsEndpoint: endpoint, region } = localAws();
const sqs = new SQSClient({ endpoint, region, credentials: CREDENTIALS });
let directory: string;
// The directory is created in a hook, so that a skipped test creates none.
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'payonce-deploys-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function nextApp(name: string, changes: typeof NEXT_CODE = []): Pick<CdkApp, 'command'> {
  const copy = join(directory, name);
  for (const source of SOURCES) cpSync(join(PROJECT, source), join(copy, source), { recursive: true });
  symlinkSync(join(PROJECT, 'node_modules'), join(copy, 'node_modules'));
  for (const { file, before, after } of [...NEXT_CODE, ...changes]) {
    const text = readFileSync(join(copy, file), 'utf8');
    if (!text.includes(before)) throw new Error(`${file} does not contain ${before}`);
    writeFileSync(join(copy, file), text.replace(before, after));
  }
  return { command: `${process.execPath} ${join(copy, 'bin', 'app.ts')}` };
}

async function deployWith(
  settings: Readonly<Record<string, string>>,
  app: Pick<CdkApp, 'command'> = {},
): Promise<Omit<LocalAws, 'keeperPid'>> {
  const context = { ...PAYONCE.context, 'payonce:environment': ENVIRONMENT, ...settings };
  const outputs = await deploy({ access: localAws(), directory, report: () => undefined }, { ...app, context });
  return connect(localAws(), outputs, { environment: ENVIRONMENT });
}

/** Limits the number of payments, because checking a payment after the deploys takes longer than making it. */
const BETWEEN_PAYMENTS_MS = 2_000;
/** One retry per second. */
const MAX_RETRIES = 120;
/** During a deploy, the emulator kills the processes of a function (502), whereas AWS lets them finish. */
const HEALED = /^50[23] |^409 idempotency_key_in_progress$/;

/** Retries each request with the same key until it has a final response. */
class Payers {
  readonly paid = new Map<string, ApiAnswer>();
  readonly unhealed: string[] = [];
  readonly #api: ApiClient;
  #number = 0;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  async during<Deployed>(deployed: Promise<Deployed>): Promise<Deployed> {
    const ended = new AbortController();
    const payers = Array.from({ length: PAYERS }, async () => {
      while (!ended.signal.aborted) {
        this.#number += 1;
        const key = `payment-${this.#number}`;
        const answer = await this.#answered([201, 202], () => this.#api.pay({ key }));
        this.paid.set(key, answer);
        await this.#answered([200], () => this.#api.send('GET', `/v1/payments/${String(answer.json['id'])}`));
        await sleep(BETWEEN_PAYMENTS_MS);
      }
    });
    const result = await deployed.finally(() => ended.abort());
    await Promise.all(payers);
    return result;
  }

  /** Returns the code versions (undefined: the first one) that accepted the payments from number `from` on. */
  versions(from = 0): ReadonlySet<unknown> {
    return new Set([...this.paid.values()].slice(from).map(({ json }) => json['made_by']));
  }

  async #answered(statuses: readonly number[], request: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
    for (let retry = 0; retry < MAX_RETRIES; retry += 1) {
      const answer = await request();
      if (statuses.includes(answer.status)) return answer;
      const seen = `${answer.status} ${String(answer.json['code'])}`;
      if (!HEALED.test(seen)) this.unhealed.push(seen);
      await sleep(1_000);
    }
    throw new Error(`no response with status ${statuses.join(' or ')} after all retries`);
  }
}

async function deadLetters(): Promise<readonly string[]> {
  const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({ QueueNamePrefix: `${ENVIRONMENT}-` }));
  const kept = QueueUrls.filter((url) => /DeadLetters|Parked/.test(url));
  expect(kept.length).toBeGreaterThan(5);
  const counts = await Promise.all(
    kept.map(async (QueueUrl) => {
      const names = { QueueUrl, AttributeNames: ['ApproximateNumberOfMessages' as const] };
      return (await sqs.send(new GetQueueAttributesCommand(names))).Attributes?.['ApproximateNumberOfMessages'];
    }),
  );
  return kept.filter((_, index) => counts[index] !== '0');
}

async function statusOfService(): Promise<string | undefined> {
  const StackName = stackNameOf('service', ENVIRONMENT);
  const stacks = new CloudFormationClient({ endpoint, region, credentials: CREDENTIALS });
  return (await stacks.send(new DescribeStacksCommand({ StackName }))).Stacks?.[0]?.StackStatus;
}

/** The four command-line deploys take minutes, so this test runs only in `npm run prove`. */
whole(test, { slice: test.skip })(
  'a rolled-back deploy and two code changes cause only retryable responses, and one charge per payment',
  async () => {
    const before = await deployWith({});
    const api = new ApiClient(before, before.apiKey);
    const payers = new Payers(api);
    const refused = deployWith({}, nextApp('refused', REFUSED)).then(() => 'deployed', String);
    expect(await payers.during(refused)).toContain('cdk deploy failed');
    expect(await statusOfService()).toBe('UPDATE_ROLLBACK_COMPLETE');
    // The next version accepted payments until it was rolled back.
    expect(payers.versions()).toEqual(new Set([undefined, 'next']));
    const rolledBack = await api.payUntilAnswered({ key: 'rolled-back' });
    expect(rolledBack.json).not.toHaveProperty('made_by');
    payers.paid.set('rolled-back', rolledBack);

    const paidBefore = payers.paid.size;
    const after = await payers.during(deployWith(CHANGED, nextApp('next')));
    expect([after.tables, after.apiUrl]).toEqual([before.tables, before.apiUrl]);
    const back = await payers.during(deployWith(CHANGED));
    expect([back.tables, back.apiUrl]).toEqual([before.tables, before.apiUrl]);

    expect(payers.unhealed).toEqual([]);
    // Both versions accepted payments, and each reads the rows of the other version.
    expect(payers.versions(paidBefore)).toEqual(new Set([undefined, 'next']));
    for (const [key, { text, json }] of payers.paid) {
      const id = String(json['id']);
      const replay = await api.payUntilAnswered({ key });
      expect([replay.text, replay.headers.get('idempotency-replayed')]).toEqual([text, 'true']);
      const headers = { 'idempotency-key': `refund-${key}`, 'content-type': 'application/json' };
      const shown = async () => (await api.send('GET', `/v1/payments/${id}`)).json;
      await until(async () => (await shown())['status'] === 'succeeded' || undefined);
      await api.send('POST', `/v1/payments/${id}/refunds`, { headers, body: '{"amount":1}' });
      await until(async () => (await shown())['amount_refunded'] === 1 || undefined);
      expect(await api.charges(id)).toMatchObject([{ amount_refunded: 1 }]);
    }
    await until(async () => ((await listed(api)).size === payers.paid.size ? true : undefined));
    expect(await deadLetters()).toEqual([]);
  },
);

/** An event consumer maintains the list. */
async function listed(api: ApiClient): Promise<ReadonlySet<unknown>> {
  const ids = new Set<unknown>();
  for (let path: string | undefined = '/v1/payments?limit=100'; path !== undefined; ) {
    const { json } = await api.send('GET', path);
    const data = json['data'] as readonly { readonly id: string }[];
    for (const { id } of data) ids.add(id);
    path = json['has_more'] === true ? `/v1/payments?limit=100&starting_after=${data.at(-1)?.id}` : undefined;
  }
  return ids;
}
