import { randomUUID } from 'node:crypto';
import { DescribeContinuousBackupsCommand, DescribeTimeToLiveCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { GetFunctionRecursionConfigCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { type AwsTarget, stackOutputs } from './deployment.ts';

/** Needs a real account, because the local AWS may deviate. */
export interface Probe {
  readonly id: string;
  readonly mustShow: string;
  readonly source: string;
  /**
   * @returns the observation; undefined if the check needs an API key and none is given
   * @throws Error when the observation differs from the expected result
   */
  readonly run: (context: ProbeContext) => Promise<string | undefined>;
}

export interface ProbeContext {
  readonly target: AwsTarget;
  /** Base URL of the API, without a trailing slash. */
  readonly apiUrl: string;
  readonly key?: string;
}

export interface ProbeResult {
  readonly id: string;
  readonly result: 'passed' | 'failed' | 'skipped';
  readonly seen: string;
}

const DYNAMODB = 'https://docs.aws.amazon.com/amazondynamodb/latest/developerguide';
const GATEWAY = 'https://docs.aws.amazon.com/apigateway/latest/developerguide';

export const PROBES: readonly Probe[] = [
  {
    id: 'policies-in-transactions',
    mustShow:
      'A payment is claimed and committed: policies with `dynamodb:LeadingKeys` and `dynamodb:EnclosingOperation` admit its transactions.',
    source: `${DYNAMODB}/transaction-apis-iam.html`,
    run: async (context) => {
      const { status } = (await pay(context, randomUUID())) ?? {};
      if (status === undefined) return undefined;
      // A processor that does not know the source declines the payment (402). The decline is committed, too.
      return expected(`HTTP ${status}`, [201, 202, 402].includes(status));
    },
  },
  {
    id: 'replay-and-location',
    mustShow: 'A replayed response is marked as such, and its `Location` leads to the payment.',
    source: `${GATEWAY}/api-gateway-known-issues.html`,
    run: async (context) => {
      const key = randomUUID();
      if ((await pay(context, key)) === undefined) return undefined;
      const replay = await pay(context, key);
      const replayed = replay?.headers.get('idempotency-replayed') ?? 'no';
      const location = replay?.headers.get('location');
      if (!location) throw new Error(`the replay has no Location header (Idempotency-Replayed: ${replayed})`);
      const headers = { authorization: `Bearer ${context.key ?? ''}` };
      const found = await fetch(new URL(location, replay?.url), { headers, redirect: 'error' });
      return expected(`replayed: ${replayed}, location: HTTP ${found.status}`, replayed === 'true' && found.ok);
    },
  },
  {
    id: 'renamed-header',
    mustShow:
      'A request without a key gets 401. The gateway renames `WWW-Authenticate` to `x-amzn-remapped-www-authenticate`; no client may rely on it.',
    source: `${GATEWAY}/api-gateway-known-issues.html`,
    run: async ({ apiUrl }) => {
      const { status, headers } = await fetch(`${apiUrl}/v1/payments`, { redirect: 'error' });
      const names = ['www-authenticate', 'x-amzn-remapped-www-authenticate'].filter((name) => headers.has(name));
      return expected(`HTTP ${status}, ${names.join() || 'no such header'}`, status === 401);
    },
  },
  {
    id: 'compression',
    mustShow: 'The API description is compressed.',
    source: `${GATEWAY}/api-gateway-gzip-compression-decompression.html`,
    run: async ({ apiUrl }) => {
      const { headers } = await fetch(`${apiUrl}/v1/openapi.json`, {
        headers: { 'accept-encoding': 'gzip' },
        redirect: 'error',
      });
      const coding = headers.get('content-encoding') ?? 'none';
      return expected(`content-encoding: ${coding}`, coding === 'gzip');
    },
  },
  {
    id: 'recursive-loops',
    mustShow:
      'Recursive-loop detection is disabled for functions that send messages to themselves; otherwise, Lambda stops them after about 16 messages.',
    source: 'https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html',
    run: async ({ target }) => {
      const names = await stackOutputs(target, 'service', [
        'paymentJobsFunction',
        'upkeepJobsFunction',
        'webhookSenderFunction',
      ]);
      const client = new LambdaClient(target);
      const answers = await Promise.all(
        names.map((FunctionName) => client.send(new GetFunctionRecursionConfigCommand({ FunctionName }))),
      );
      const seen = answers.map(({ RecursiveLoop = 'none' }) => RecursiveLoop);
      return expected(
        seen.join(),
        seen.every((each) => each === 'Allow'),
      );
    },
  },
  {
    id: 'time-to-live',
    mustShow: 'Expired rows of the tables Idempotency and Registry are deleted.',
    source: `${DYNAMODB}/TTL.html`,
    run: async ({ target }) => {
      const tables = await stackOutputs(target, 'data', ['idempotencyTable', 'registryTable']);
      const client = new DynamoDBClient(target);
      const answers = await Promise.all(
        tables.map((TableName) => client.send(new DescribeTimeToLiveCommand({ TableName }))),
      );
      const seen = answers.map(({ TimeToLiveDescription: { TimeToLiveStatus = 'none' } = {} }) => TimeToLiveStatus);
      return expected(
        seen.join(),
        seen.every((each) => each === 'ENABLED'),
      );
    },
  },
  {
    id: 'point-in-time-recovery',
    mustShow: 'All four tables can be restored to any second of the last 35 days.',
    source: `${DYNAMODB}/Point-in-time-recovery.html`,
    run: async ({ target }) => {
      const names = ['idempotencyTable', 'ledgerTable', 'registryTable', 'viewsTable'] as const;
      const client = new DynamoDBClient(target);
      const answers = await Promise.all(
        (await stackOutputs(target, 'data', names)).map((TableName) =>
          client.send(new DescribeContinuousBackupsCommand({ TableName })),
        ),
      );
      const seen = answers.map(
        ({
          ContinuousBackupsDescription: {
            PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus = 'none' } = {},
          } = {},
        }) => PointInTimeRecoveryStatus,
      );
      return expected(
        seen.join(),
        seen.every((each) => each === 'ENABLED'),
      );
    },
  },
];

export async function runProbes(context: ProbeContext): Promise<readonly ProbeResult[]> {
  const results: ProbeResult[] = [];
  for (const { id, run } of PROBES) {
    try {
      const seen = await run(context);
      results.push(
        seen === undefined
          ? { id, result: 'skipped', seen: 'set a test-mode API key with --key' }
          : { id, result: 'passed', seen },
      );
    } catch (error) {
      results.push({ id, result: 'failed', seen: error instanceof Error ? error.message : String(error) });
    }
  }
  return results;
}

function expected(seen: string, isExpected: boolean): string {
  if (!isExpected) throw new Error(seen);
  return seen;
}

/** @returns undefined without an API key */
async function pay({ apiUrl, key }: ProbeContext, idempotencyKey: string): Promise<Response | undefined> {
  if (key === undefined) return undefined;
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'idempotency-key': idempotencyKey,
  };
  const body = JSON.stringify({ amount: 100, currency: 'EUR', source: 'tok_ok', description: 'Probe' });
  return fetch(`${apiUrl}/v1/payments`, { method: 'POST', headers, body, redirect: 'error' });
}
