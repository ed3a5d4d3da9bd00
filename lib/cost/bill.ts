import { POSTGRES_AUTHORITY } from '../../lambdas/authority/contract.ts';
import { EventNames } from '../../lambdas/events/contract.ts';
import { type Authority, JOB_SECRET_FRESH_SECONDS, jobsOf } from '../../lambdas/jobs/contract/jobs.ts';
import { CarryMetric } from '../../lambdas/postgres/contract.ts';
import { BacklogMetric } from '../../lambdas/resolving/contract.ts';
import { addedStorageGb, archivedGb, logsOf, type Path, pathsOf } from './paths.ts';
import { type BillLine, lineOf, linesOf, totalOf } from './prices.ts';

interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
}

export interface StackTemplate {
  readonly Resources: Readonly<Record<string, Resource>>;
}

const HOURS = 730;
const HOUR_SECONDS = 3_600;
/**
 * Number of requests per queue and month. Lambda polls a queue over five connections and sends a request on each of
 * them every 20 seconds (AWS Lambda developer guide, "Using Lambda with Amazon SQS").
 */
const POLLS = (5 * HOURS * HOUR_SECONDS) / 20;
/** Maximum number of metrics on each of the three dashboards that are free in an account. */
const FREE_METRICS = 50;
/** Assumed size of an event in the archive, including EventBridge's envelope, in gigabytes. */
const EVENT_GB = 2 / 1024 ** 2;

function jobRuns(authority: Authority): number {
  return jobsOf(authority).reduce((sum, { every }) => sum + (HOURS * HOUR_SECONDS) / every, 0);
}

/** For each job that runs every minute, one process of the executor and one process of the jobs API keep running. */
function jobSecretReads(authority: Authority): number {
  const processes = 2 * jobsOf(authority).filter(({ every }) => every === 60).length;
  return (processes * HOURS * HOUR_SECONDS) / JOB_SECRET_FRESH_SECONDS;
}

/** Statement id of the permission to read the secret of the database (`lib/authority.ts`). */
const READ_DATABASE_SECRET = 'ReadDatabaseSecret';
/** Number of minutes per month. A process reads each of its secrets at most once a minute (`ActiveSecrets`). */
const MINUTES = HOURS * 60;
/**
 * Returns the number of custom metrics that are written at least hourly even without requests: the backlog, overdue
 * jobs, mismatches, and with PostgreSQL the copies.
 */
function idleMetrics(authority: Authority): number {
  return Object.keys(BacklogMetric).length + 2 + (authority === 'postgres' ? Object.keys(CarryMetric).length : 0);
}

/**
 * Number of metrics that payments, callbacks, events and webhooks write in the normal case. Three are `first`,
 * `callback_recorded` and `webhook_delivered`. The relay and each of two consumers write two more: `event_age`, and
 * `event_published` or `event_consumed` (docs/generate/metrics.ts).
 */
export const TRAFFIC_METRICS = 9;
/**
 * Number of monthly KMS requests per table and caller. For each caller, DynamoDB caches a table's key, and requests the
 * key from KMS again after five minutes (Amazon DynamoDB developer guide, "DynamoDB encryption at rest: How it works").
 * AWS charges for requests to the AWS managed key, but not for the key.
 */
export const KEY_READS = (HOURS * 60) / 5;

/** Computes the monthly cost of a deployment that receives no requests. */
export function idleBill(templates: readonly StackTemplate[]): readonly BillLine[] {
  const resources = templates.flatMap(({ Resources }) => Object.values(Resources));
  const of = (type: string): readonly Resource[] => resources.filter(({ Type }) => Type === type);
  const queues = of('AWS::Lambda::EventSourceMapping').filter((mapping) => !JSON.stringify(mapping).includes('Stream'));
  const { run } = pathsFor(templates);
  const authority = authorityOf(templates);
  const runs = jobRuns(authority);
  const rules = of('AWS::WAFv2::WebACL').flatMap(({ Properties = {} }) => Properties['Rules'] as readonly unknown[]);
  return [
    ...linesOf({
      alarm: of('AWS::CloudWatch::Alarm').length,
      dashboard: of('AWS::CloudWatch::Dashboard').filter((each) => metricsOn(each) > FREE_METRICS).length,
      customMetric: idleMetrics(authority),
      secret: of('AWS::SecretsManager::Secret').length,
      secretRead: jobSecretReads(authority),
      key: of('AWS::KMS::Key').length,
      keyRequest: tableGrants(templates, true) * KEY_READS,
      webAcl: of('AWS::WAFv2::WebACL').length,
      webAclRule: rules.length,
    }),
    lineOf('queueRequest', queues.length * POLLS, `requests to poll ${queues.length} queues`),
    totalLine('job runs that find nothing to do', run, runs),
    ...linesOf(logsOf(run), runs),
  ];
}

/** Each payment has a reference, one callback, one event, and one webhook. */
export function trafficBill(templates: readonly StackTemplate[], payments: number): readonly BillLine[] {
  const { paymentWithReference, callback, event, webhook, email, reconciling } = pathsFor(templates);
  const has = (type: string): boolean =>
    templates.some(({ Resources }) => Object.values(Resources).some(({ Type }) => Type === type));
  const each = [paymentWithReference, callback, event, webhook];
  const logs = each.reduce((sum, path) => sum + (logsOf(path).loggedGb ?? 0), 0);
  const grown = addedStorageGb(payments, authorityOf(templates));
  const sendsEmails = JSON.stringify(templates).includes('ReceiptConsumer');
  return [
    totalLine('payments with a reference', paymentWithReference, payments),
    totalLine('callbacks', callback, payments),
    totalLine('events', event, payments),
    totalLine('webhooks', webhook, payments),
    totalLine('payments in comparisons of the books', reconciling, payments),
    ...(sendsEmails ? [totalLine('counters of receipts', email, payments)] : []),
    lineOf('secretRead', Math.min(payments, MINUTES) * secretGrants(templates)),
    lineOf('keyRequest', Math.min(payments, KEY_READS) * tableGrants(templates, false)),
    // AWS charges for a metric in each hour in which the metric is written.
    lineOf('customMetric', TRAFFIC_METRICS * Math.min(1, payments / HOURS), 'custom metrics under traffic'),
    lineOf('loggedGb', logs * payments),
    lineOf('storedGb', grown, 'GB stored in DynamoDB, added every month'),
    lineOf('backupGb', grown, 'GB of point-in-time recovery, added every month'),
    ...(hasArchive(templates)
      ? [lineOf('lockedGb', archivedGb(payments), 'GB of the archive in S3, added every month')]
      : []),
    ...(has('AWS::Events::Archive') ? [lineOf('archivedGb', payments * EVENT_GB)] : []),
    // One request creates the payment, and one is its callback.
    ...(has('AWS::WAFv2::WebACL') ? [lineOf('inspectedRequest', 2 * payments)] : []),
  ];
}

/** Only the archive's bucket has Object Lock. */
function hasArchive(templates: readonly StackTemplate[]): boolean {
  return templates.some(({ Resources }) =>
    Object.values(Resources).some(
      ({ Type, Properties }) => Type === 'AWS::S3::Bucket' && Properties?.['ObjectLockEnabled'] === true,
    ),
  );
}

function totalLine(what: string, { usage }: Path, times: number): BillLine {
  const usd = totalOf(linesOf(usage, times));
  return { what, number: times, price: `${((usd / times) * 1_000_000).toFixed(2)} per million`, usd };
}

function authorityOf(templates: readonly StackTemplate[]): Authority {
  return JSON.stringify(templates).includes(POSTGRES_AUTHORITY) ? 'postgres' : 'dynamodb';
}

/**
 * Does not count the executor and the API of jobs, which also run without requests. Does not count the secret of the
 * database, which a process reads only when it connects.
 */
export function secretGrants(templates: readonly StackTemplate[]): number {
  const policies = policiesOf(templates).filter(([id]) => !/^Jobs(Api|Executor)/.test(id));
  return policies
    .flatMap(([, statements]) => statements)
    .filter(({ Action }) => [Action].flat().includes('secretsmanager:GetSecretValue'))
    .filter(({ Sid }) => Sid !== READ_DATABASE_SECRET)
    .reduce((sum, { Resource }) => sum + [Resource].flat().length, 0);
}

/**
 * @param ofJobs true: counts only the functions of jobs, which run without requests; false: counts all other functions
 */
export function tableGrants(templates: readonly StackTemplate[], ofJobs: boolean): number {
  return policiesOf(templates)
    .filter(([id]) => id.startsWith('Jobs') === ofJobs)
    .reduce((sum, [, statements]) => {
      const used = statements.filter(({ Action }) => [Action].flat().some((action) => action.startsWith('dynamodb:')));
      const tables = JSON.stringify(used).matchAll(/(Idempotency|LedgerTable|Registry|Views)[0-9A-F]{8}/g);
      return sum + new Set([...tables].map(([, table]) => table)).size;
    }, 0);
}

function policiesOf(templates: readonly StackTemplate[]): readonly (readonly [string, readonly Statement[]])[] {
  return templates
    .flatMap(({ Resources }) => Object.entries(Resources))
    .filter(([, { Type }]) => Type === 'AWS::IAM::Policy')
    .map(([id, { Properties = {} }]) => [
      id,
      (Properties['PolicyDocument'] as { readonly Statement: readonly Statement[] }).Statement,
    ]);
}

interface Statement {
  readonly Sid?: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
}

function metricsOn({ Properties = {} }: Resource): number {
  const parts = (Properties['DashboardBody'] as { readonly 'Fn::Join': readonly [string, readonly unknown[]] })[
    'Fn::Join'
  ];
  const text = parts[1].map((part) => (typeof part === 'string' ? part : 'x')).join('');
  const { widgets } = JSON.parse(text) as { widgets: { type: string; properties: { metrics?: unknown[] } }[] };
  return widgets.reduce((sum, { properties: { metrics = [] } }) => sum + metrics.length, 0);
}

export function pathsFor(templates: readonly StackTemplate[]): ReturnType<typeof pathsOf> {
  const all = templates.flatMap(({ Resources }) => Object.entries(Resources));
  const memoryOf = (name: RegExp): number => Number(all.find(([id]) => name.test(id))?.[1].Properties?.['MemorySize']);
  // A rule with a pattern for `detail` selects only some payments, by their metadata, and is not counted.
  const reached = all.filter(([, { Type, Properties = {} }]) => {
    const pattern = JSON.stringify(Properties['EventPattern'] ?? {});
    return (
      Type === 'AWS::Events::Rule' && pattern.includes(EventNames.paymentCompleted) && !pattern.includes('"detail":')
    );
  });
  return pathsOf({
    memoryMb: memoryOf(/^PaymentsFunction[0-9A-F]{8}$/),
    eventMemoryMb: memoryOf(/^ViewsProjectorFunction[0-9A-F]{8}$/),
    consumers: reached.length,
    authority: authorityOf(templates),
  });
}
