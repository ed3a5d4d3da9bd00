import { createHash, createHmac } from 'node:crypto';
import {
  CloudFormationClient,
  paginateDescribeStacks,
  paginateListStackResources,
} from '@aws-sdk/client-cloudformation';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { type StackName, stackNameOf } from '../lambdas/kernel/contract/api.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import { eventsPerSecond, requestsPerSecond } from '../lib/region-quotas.ts';
import type { AwsTarget } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';

export interface Account {
  readonly region: string;
  readonly concurrency: number;
  /** Concurrent executions that no function has reserved. */
  readonly unreserved: number;
  /**
   * API Gateway's quota of requests per second.
   * @default the region's default quota
   */
  readonly requestRate?: number;
  /** ARN of the role with which API Gateway writes logs. Absent when the account has none. */
  readonly logRole?: string;
  readonly isBootstrapped: boolean;
  readonly stacks: readonly { readonly name: string; readonly status: string }[];
  /** Alarm recipients that have not confirmed their subscription. */
  readonly unconfirmed: readonly string[];
  /** Alarm topics without a subscription. */
  readonly withoutSubscription: readonly string[];
}

/**
 * Minimum quota of concurrent executions. New accounts have 10 (AWS Lambda developer guide, "Lambda quotas"), and
 * Payonce has more than twenty functions.
 */
const MIN_CONCURRENCY = 100;
/**
 * Minimum unreserved concurrency. Lambda refuses a reservation that leaves less than this for functions without a
 * reservation (AWS Lambda developer guide, "Reserved concurrency").
 */
const MIN_UNRESERVED = 100;

export type AccountCheck =
  | 'not_bootstrapped'
  | 'low_concurrency'
  | 'reserved_concurrency'
  | 'request_rate'
  | 'event_rate'
  | 'log_role'
  | 'stack_failed'
  | 'unconfirmed_address'
  | 'no_subscription';

/** Also true after a failed update that was rolled back. */
export function hasResources(status: string): boolean {
  return !/^(?:REVIEW_IN_PROGRESS|CREATE_|ROLLBACK_|DELETE_)/.test(status) || status === 'CREATE_COMPLETE';
}

interface AccountFinding {
  readonly check: AccountCheck;
  readonly about: string;
  readonly detail: string;
}

export function examineQuotas(
  { region, unreserved, requestRate = requestsPerSecond(region), stacks }: Account,
  settings: Readonly<Record<string, string>>,
): readonly AccountFinding[] {
  const reserved = Number(settings['reservedConcurrency'] ?? 0);
  const requests = Number(settings['throttlingRate'] ?? 0);
  const found: AccountFinding[] = [];
  const most = Math.max(0, unreserved - MIN_UNRESERVED);
  if (stacks.length === 0 && reserved > most)
    found.push({
      check: 'reserved_concurrency',
      about: String(reserved),
      detail: `Lambda keeps ${MIN_UNRESERVED} executions for functions without a reservation, so the deploy would fail: at most ${most} can be reserved. Remove payonce:reservedConcurrency, or request more "Concurrent executions" of AWS Lambda from Service Quotas.`,
    });
  if (requests > requestRate)
    found.push({
      check: 'request_rate',
      about: String(requests),
      detail: `API Gateway admits ${requestRate} requests per second for all APIs of the account in ${region}. Set payonce:throttlingRate to less, or request a higher "Throttle rate" of Amazon API Gateway from Service Quotas.`,
    });
  const events = eventsPerSecond(region);
  if (requests > events)
    found.push({
      check: 'event_rate',
      about: String(requests),
      detail: `EventBridge delivers about ${events} events per second in ${region} with its default quota, and delays the rest. For this many payments per second, request a higher "Invocations throttle limit" of Amazon EventBridge from Service Quotas.`,
    });
  return found;
}

export function examineAccount(account: Account): readonly AccountFinding[] {
  const { region, concurrency, logRole, isBootstrapped, stacks, unconfirmed, withoutSubscription } = account;
  const found: AccountFinding[] = [];
  const find = (check: AccountCheck, about: string, detail: string) => found.push({ check, about, detail });
  if (!isBootstrapped) find('not_bootstrapped', region, 'Run "npx cdk bootstrap" once for this account and region.');
  if (concurrency < MIN_CONCURRENCY)
    find(
      'low_concurrency',
      String(concurrency),
      'This is the concurrency limit of the account. Before the first payments, raise the AWS Lambda quota "Concurrent executions" to 1000 in Service Quotas.',
    );
  if (stacks.length === 0 && logRole !== undefined)
    find(
      'log_role',
      logRole,
      'The account has a log role for API Gateway. Deploy with payonce:accountLogRole=false, so that this deployment does not replace it.',
    );
  if (stacks.length > 0 && logRole === undefined)
    find(
      'log_role',
      region,
      'API Gateway has no role to write logs. Deploy with payonce:accountLogRole=true, or set a role for the account.',
    );
  for (const { name, status } of stacks) {
    if (/^(?:CREATE_FAILED|UPDATE_FAILED|ROLLBACK_COMPLETE|.*ROLLBACK_FAILED|DELETE_FAILED)$/.test(status))
      find('stack_failed', name, `The stack is ${status}. See "A deploy that failed" in docs/operate/first-deploy.md.`);
  }
  for (const address of unconfirmed)
    find(
      'unconfirmed_address',
      address,
      'Alarms do not reach this address. Confirm the subscription in the e-mail from AWS.',
    );
  for (const topic of withoutSubscription)
    find(
      'no_subscription',
      topic,
      'Alarms are not delivered: the address was not confirmed within two days, or has unsubscribed. Subscribe it again: "aws sns subscribe --protocol email --notification-endpoint <address> --topic-arn <topic>".',
    );
  return found;
}

/** @throws CliFailure when API Gateway or SNS refuses a request. Errors of the AWS SDK are thrown unchanged */
export async function readAccount(target: AwsTarget): Promise<Account> {
  const client = new CloudFormationClient(target);
  const region = await client.config.region();
  const names = (['data', 'sandbox', 'service'] as const satisfies (keyof typeof StackName)[]).map((stack) =>
    stackNameOf(stack, target.environment),
  );
  const stacks: { name: string; status: string }[] = [];
  let isBootstrapped = false;
  for await (const { Stacks = [] } of paginateDescribeStacks({ client }, {})) {
    for (const { StackName: name = '', StackStatus: status = '' } of Stacks) {
      if (name === 'CDKToolkit') isBootstrapped = hasResources(status);
      if (names.includes(name)) stacks.push({ name, status });
    }
  }
  const { AccountLimit } = await new LambdaClient(target).send(new GetAccountSettingsCommand({}));
  const gateway = JSON.parse(await ask(target, client, 'apigateway', '/account')) as {
    cloudwatchRoleArn?: string;
    throttleSettings?: { rateLimit?: number };
  };
  const service = stackNameOf('service', target.environment);
  const topics = stacks.some(({ name }) => name === service) ? await topicsOf(client, service) : [];
  const subscriptions = await Promise.all(
    topics.map(async (topic) => {
      const query = new URLSearchParams({ Action: 'ListSubscriptionsByTopic', TopicArn: topic, Version: '2010-03-31' });
      query.sort();
      return { topic, xml: await ask(target, client, 'sns', `/?${query.toString()}`) };
    }),
  );
  return {
    region,
    concurrency: AccountLimit?.ConcurrentExecutions ?? 0,
    unreserved: AccountLimit?.UnreservedConcurrentExecutions ?? AccountLimit?.ConcurrentExecutions ?? 0,
    ...(gateway.throttleSettings?.rateLimit === undefined ? {} : { requestRate: gateway.throttleSettings.rateLimit }),
    ...(gateway.cloudwatchRoleArn ? { logRole: gateway.cloudwatchRoleArn } : {}),
    isBootstrapped,
    stacks,
    unconfirmed: subscriptions.flatMap(({ xml }) => pendingAddresses(xml)),
    withoutSubscription: subscriptions.filter(({ xml }) => !hasSubscription(xml)).map(({ topic }) => topic),
  };
}

async function topicsOf(client: CloudFormationClient, stack: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { StackResourceSummaries = [] } of paginateListStackResources({ client }, { StackName: stack })) {
    for (const { ResourceType, PhysicalResourceId: arn } of StackResourceSummaries)
      if (ResourceType === 'AWS::SNS::Topic' && arn !== undefined) found.push(arn);
  }
  return found;
}

export function pendingAddresses(xml: string): readonly string[] {
  const members = [...xml.matchAll(/<member>(.*?)<\/member>/gs)].map(([, member = '']) => member);
  return members
    .filter((member) => /<SubscriptionArn>PendingConfirmation</.test(member))
    .map((member) => /<Endpoint>(.*?)</.exec(member)?.[1] ?? '');
}

/**
 * SNS deletes subscriptions that remain unconfirmed, and no longer lists them (Amazon SNS developer guide, "Deleting a
 * subscription").
 */
export function hasSubscription(xml: string): boolean {
  return /<member>/.test(xml);
}

/** SNS responds in XML unless the request accepts JSON. */
const FORMATS = { apigateway: 'application/json', sns: 'text/xml' } as const;

/** For a service for which the project has no client package (AWS General Reference, "Signature Version 4"). */
export async function ask(
  target: AwsTarget,
  client: CloudFormationClient,
  service: keyof typeof FORMATS,
  path: string,
): Promise<string> {
  const region = await client.config.region();
  const { accessKeyId, secretAccessKey, sessionToken } = await client.config.credentials();
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  const endpoint = target.endpoint ?? process.env['AWS_ENDPOINT_URL'] ?? `https://${service}.${region}.${suffix}`;
  const url = new URL(path, endpoint);
  const time = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '');
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
  const headers: Record<string, string> = {
    host: url.host,
    'x-amz-date': time,
    ...defined({ 'x-amz-security-token': sessionToken }),
  };
  const names = Object.keys(headers).sort();
  const signed = names.join(';');
  const lines = names.map((name) => `${name}:${headers[name] ?? ''}\n`).join('');
  const request = ['GET', url.pathname, url.search.slice(1), lines, signed, sha256('')].join('\n');
  const key = scope.split('/').reduce<string | Buffer>((made, part) => hmac(made, part), `AWS4${secretAccessKey}`);
  const signature = hmac(key, ['AWS4-HMAC-SHA256', time, scope, sha256(request)].join('\n')).toString('hex');
  headers['authorization'] =
    `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`;
  headers['accept'] = FORMATS[service];
  const answer = await fetch(url, { headers, redirect: 'error' });
  const text = await answer.text();
  if (answer.ok) return text;
  throw new CliFailure(
    ExitCode.refused,
    `AWS refused a read request to ${service} (HTTP ${answer.status}): ${text.slice(0, 200)}`,
  );
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
