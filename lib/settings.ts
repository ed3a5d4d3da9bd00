import { createHash } from 'node:crypto';
import type { Node } from 'constructs';
import type { RoutingRule } from '../lambdas/kernel/contract/environment.ts';
import type { Retention } from '../lambdas/kernel/contract/retention.ts';
import type { PeakRates } from '../lambdas/kernel/contract/shards.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import type { ProcessorContract } from '../lambdas/processors/contract.ts';
import { PROCESSORS } from '../lambdas/processors/registry.ts';
import { RESTORED_TABLES_RULE, type RestoredTables } from './restored-tables.ts';
import { ARCHIVE_DEFAULTS, ARCHIVE_RULES, type ArchiveSettings, refuseArchiveConflicts } from './settings/archive.ts';
import { AUTHORITY_RULES, type AuthoritySettings, refuseAuthorityConflicts } from './settings/authority.ts';
import { DOMAIN_RULES, type DomainSettings, refuseDomainConflicts } from './settings/domain.ts';
import { JOB_TARGET_RULES, type JobTargetSettings, refuseBadTargets } from './settings/job-targets.ts';
import {
  OPERATOR_DEFAULTS,
  OPERATOR_RULES,
  type OperatorSettings,
  refuseOperatorConflicts,
} from './settings/operators.ts';
import { PARTY_DEFAULTS, PARTY_RULES, type PartySettings, refusePartyConflicts } from './settings/parties.ts';
import { PAYMENT_REQUEST_RULES, type PaymentRequestSettings } from './settings/payment-requests.ts';
import { PEAK_RATES_RULES, type PeakRatesSettings, recordedPeakRates } from './settings/peak-rates.ts';
import { type CalledProcessor, processorSettings, readProcessors, readRoutes } from './settings/processors.ts';
import { RETENTION_RULES, type RetentionSettings, refuseShortRetention } from './settings/retention.ts';
import { email, flag, KEY_ARN, matching, PREFIX, type Rule, read, readAll, whole } from './settings/rules.ts';

/** The settings of a deployment, from CDK context (`-c payonce:<name>=<value>` or cdk.json). */
export interface Settings
  extends ArchiveSettings,
    AuthoritySettings,
    JobTargetSettings,
    DomainSettings,
    OperatorSettings,
    PartySettings,
    PaymentRequestSettings,
    PeakRatesSettings,
    RetentionSettings {
  /**
   * Name that distinguishes this deployment from others in the same account and region, for example `staging`. It is
   * part of the stack names, of everything named after the stacks, and of the metric namespace.
   * @default the deployment has no name
   */
  readonly environment?: string;
  /**
   * Deploys the sandbox processor and sends test payments to it. No real money moves.
   * @default false
   */
  readonly sandbox: boolean;
  /**
   * The processors to call. A processor that is called in both modes has two entries. Each processor's contract lists
   * its settings (lambdas/processors/<name>/contract.ts). A deployed sandbox is always called.
   *
   * @default none: payments are refused with 503 `no_processor_configured`
   */
  readonly processors: readonly CalledProcessor[];
  /**
   * Routing rules for new payments: a JSON list of `{ "mode"?, "tenant"?, "currency"?, "processor" }`. The first
   * matching rule applies. A rule without a mode applies to the modes in which its processor is called. A payment that
   * matches no rule is refused.
   *
   * @default all payments of a mode are sent to the mode's only processor
   */
  readonly routes: readonly RoutingRule[];
  /**
   * Keeps tables, queues, secrets, the event bus and logs when a stack is deleted, and enables deletion protection of
   * the tables.
   * @default true
   */
  readonly retainData: boolean;
  /**
   * The ARN of a KMS key of this account and region that encrypts the tables, the queues, the bucket of exports, and a
   * cluster of Aurora DSQL if there is one. The policy of the key must allow all these uses (docs/operate/data-key.md).
   * @default the AWS managed key for tables, and keys managed by SQS and S3 for queues and buckets
   */
  readonly dataKeyArn?: string;
  /**
   * Keeps the events of the last two weeks in an archive for replays. AWS charges for the archive per gigabyte.
   * @default true
   */
  readonly eventArchive: boolean;
  /**
   * Sends all events to a queue for the NATS bridge (docs/guides/nats-bridge.md), and creates the policy that the
   * bridge needs. The bridge itself runs elsewhere.
   * @default false
   */
  readonly natsBridge: boolean;
  /**
   * Time after which an event that the projector has not processed is republished; 10 to 3600 seconds.
   * @default 180
   */
  readonly eventsLostAfterSeconds: number;
  /**
   * Allows loopback addresses, including over plain HTTP: for webhooks to a receiver on the same machine, for a test
   * processor, and for job targets. Only for the local stack.
   * @default false
   */
  readonly allowLoopbackWebhooks: boolean;
  /**
   * Deploys a web ACL in front of the API, with a size limit and a rate limit per address. It has a monthly cost.
   * @default false
   */
  readonly firewall: boolean;
  /**
   * Records traces of requests and executions in AWS X-Ray. AWS charges for each trace.
   * @default false
   */
  readonly tracing: boolean;
  /**
   * Sets the account's role with which API Gateway writes logs. In each region, the role must be set once before a
   * stage can log. With `false`, the account's existing role is kept.
   * @default true
   */
  readonly accountLogRole: boolean;
  /**
   * Restored tables that replace the declared tables: a JSON object with the table names `idempotency`, `ledger`,
   * `registry` and `views`, and with `ledgerStream`, the ARN of the restored Ledger's Stream. `payonce tables restore`
   * prints this object. The replaced tables remain declared but are unused.
   * @default the declared tables are used
   */
  readonly restoredTables?: RestoredTables;
  /**
   * Whether claims were lost when tables were restored. If so, the first attempt of every charge and change is preceded
   * by a look-up at the processor. Set `claimsLost` with the deployment that adopts restored tables, and keep it for 30
   * days.
   * @default false
   */
  readonly claimsLost: boolean;
  /**
   * Maximum requests per second of the API, 1 to 50000. Above 10000, the account needs a higher quota of API Gateway.
   * @default 200
   */
  readonly throttlingRate: number;
  /** Burst limit of the API, in requests, 1 to 25000. @default 400 */
  readonly throttlingBurst: number;
  /**
   * Maximum requests per second of one tenant in one mode, 1 to 10000. Payments and reads are limited separately.
   * Administration, and reads that call the processor, are each limited to a tenth of this rate. `payonce limits set`
   * gives a tenant a different limit.
   * @default 100
   */
  readonly tenantRate: number;
  /** Burst limit of one tenant, in requests, 1 to 10000. @default 200 */
  readonly tenantBurst: number;
  /** Memory in MB of the workers of jobs and of most functions of the API, 128 to 10240. @default 512 */
  readonly memoryMb: number;
  /**
   * Reserved concurrency of the payments function, 1 to 10000, taken from the account's limit.
   * @default no reservation
   */
  readonly reservedConcurrency?: number;
  /**
   * Write units per second that each table and each of its indexes accepts immediately, 4000 to 40000. AWS charges for
   * an increase once and never lowers the value.
   * @default 4000, the value of new tables, which grows with use
   */
  readonly warmWriteUnits?: number;
  /** Retention of logs in days; one of the values that CloudWatch Logs allows. @default 90 */
  readonly logRetentionDays: number;
  /**
   * E-mail address for alarms. The deployment creates an SNS topic, whose subscription must be confirmed once. The
   * topic's key costs about 1 USD a month.
   * @default no notification is sent
   */
  readonly alarmEmail?: string;
  /** The ARN of an existing SNS topic for alarms; it must allow CloudWatch to publish. @default no notification is sent */
  readonly alarmTopicArn?: string;
}

/**
 * Maximum length of a recorded setting, in characters. All settings share the environment of one function, whose size
 * is limited.
 */
const LONGEST_RECORDED = 200;

/** Replaces a long text with a digest, which still reveals changes of the text. */
function recorded(text: string): string {
  if (text.length <= LONGEST_RECORDED) return text;
  return `sha256:${createHash('sha256').update(text).digest('hex').slice(0, 16)} of ${text.length} characters`;
}

/**
 * Returns the settings as recorded in the activity log: as text, or as a digest if the text is long. An e-mail address
 * is recorded only as `given`. Secrets are not settings.
 */
export function recordedSettings({
  processors,
  alarmEmail,
  emailSender,
  peakRates,
  postgresSecretArn,
  postgresHost,
  postgresDatabase,
  postgresShards,
  ...others
}: Settings): Record<string, string> {
  const texts = Object.entries(others).map(([name, value]): [string, string] => [
    name,
    recorded(typeof value === 'string' ? value : JSON.stringify(value)),
  ]);
  const ofProcessors = processors.flatMap(({ processor: { name }, mode, settings, scheme }): [string, string][] => [
    [`${name}.${mode}.callbackScheme`, scheme],
    ...Object.entries(settings).map(([setting, value]): [string, string] => [
      `${name}.${mode}.${setting}`,
      recorded(value),
    ]),
  ]);
  const addresses = Object.entries({ alarmEmail, emailSender }).flatMap(([name, given]): [string, string][] =>
    given === undefined ? [] : [[name, 'given']],
  );
  const rates = peakRates === undefined ? {} : { peakRates: recordedPeakRates(peakRates) };
  // These values are recorded in full, because the command line uses them to connect to the database.
  const shards = postgresShards === undefined ? undefined : JSON.stringify(postgresShards);
  const ofDatabase = defined({ postgresSecretArn, postgresHost, postgresDatabase, postgresShards: shards });
  return { ...Object.fromEntries([...texts, ...ofProcessors, ...addresses]), ...ofDatabase, ...rates };
}

export const DEFAULTS: Omit<Settings, 'processors'> = {
  ...ARCHIVE_DEFAULTS,
  ...OPERATOR_DEFAULTS,
  ...PARTY_DEFAULTS,
  sandbox: false,
  routes: [],
  retainData: true,
  claimsLost: false,
  eventArchive: true,
  natsBridge: false,
  eventsLostAfterSeconds: 180,
  allowLoopbackWebhooks: false,
  firewall: false,
  tracing: false,
  accountLogRole: true,
  throttlingRate: 200,
  throttlingBurst: 400,
  tenantRate: 100,
  tenantBurst: 200,
  memoryMb: 512,
  logRetentionDays: 90,
};

/**
 * Allowed retention in days: the values that CloudWatch Logs allows up to a year (PutRetentionPolicy), and ten years.
 */
const RETENTION_DAYS = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 3653];

/**
 * The rules of all settings, except `routes` and the settings of the processors, whose rules depend on the available
 * processors.
 */
export const SETTING_RULES = {
  ...ARCHIVE_RULES,
  ...AUTHORITY_RULES,
  ...DOMAIN_RULES,
  ...JOB_TARGET_RULES,
  ...OPERATOR_RULES,
  ...PARTY_RULES,
  ...PAYMENT_REQUEST_RULES,
  ...PEAK_RATES_RULES,
  ...RETENTION_RULES,
  environment: {
    allowed: '1 to 20 lower-case letters, digits and hyphens, beginning with a letter',
    read: matching(/^[a-z](?:[a-z0-9-]{0,18}[a-z0-9])?$/),
  },
  sandbox: flag(),
  retainData: flag(),
  dataKeyArn: KEY_ARN,
  eventArchive: flag(),
  natsBridge: flag(),
  eventsLostAfterSeconds: whole(10, 3600),
  allowLoopbackWebhooks: flag(),
  firewall: flag(),
  tracing: flag(),
  accountLogRole: flag(),
  restoredTables: RESTORED_TABLES_RULE,
  claimsLost: flag(),
  throttlingRate: whole(1, 50_000),
  throttlingBurst: whole(1, 25_000),
  tenantRate: whole(1, 10_000),
  tenantBurst: whole(1, 10_000),
  memoryMb: whole(128, 10_240),
  reservedConcurrency: whole(1, 10_000),
  warmWriteUnits: whole(4_000, 40_000),
  logRetentionDays: {
    allowed: `one of ${RETENTION_DAYS.join(', ')}`,
    read: (given: unknown) => RETENTION_DAYS.find((days) => String(days) === String(given)),
  },
  alarmEmail: email(),
  alarmTopicArn: {
    allowed: 'the ARN of an SNS topic that is not FIFO',
    read: matching(/^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}$/),
  },
} satisfies Record<Exclude<keyof Settings, 'processors' | 'routes'>, Rule<unknown>>;

/**
 * Reads the settings of a deployment.
 *
 * @param processors the available processors
 * @throws Error naming the setting, the given value and the allowed values
 */
export function readSettings(node: Node, processors: readonly ProcessorContract[] = PROCESSORS): Settings {
  refuseUnknown(node, processors);
  const given = { ...DEFAULTS, ...readAll(node, SETTING_RULES) };
  const called = readProcessors(node, processors, given);
  const settings: Settings = { ...given, processors: called, routes: readRoutes(node, processors, called) };
  refuseConflicts(settings);
  return settings;
}

/**
 * Reads only the setting `environment`; undefined if the deployment has no name.
 * @throws Error for an invalid name
 */
export function environmentOf(node: Node): string | undefined {
  return read(node, 'environment', SETTING_RULES.environment);
}

/** @throws as {@link readSettings} */
export function tracingOf(node: Node): boolean {
  return read(node, 'tracing', SETTING_RULES.tracing) ?? DEFAULTS.tracing;
}

/**
 * @returns undefined if keys of AWS encrypt the data
 * @throws as {@link readSettings}
 */
export function dataKeyOf(node: Node): string | undefined {
  return read(node, 'dataKeyArn', SETTING_RULES.dataKeyArn);
}

/** @throws as {@link readSettings} */
export function retentionOf(node: Node): Retention | undefined {
  return read(node, 'retention', SETTING_RULES.retention);
}

/**
 * Reads the peak rates, which determine the number of partitions of hot rows; undefined if the setting is absent.
 * @throws as {@link readSettings}
 */
export function peakRatesOf(node: Node): readonly PeakRates[] | undefined {
  return read(node, 'peakRates', SETTING_RULES.peakRates);
}

function refuseConflicts(settings: Settings): void {
  refuseArchiveConflicts(settings);
  refuseAuthorityConflicts(settings);
  refusePartyConflicts(settings);
  refuseDomainConflicts(settings);
  refuseOperatorConflicts(settings);
  refuseBadTargets(settings, settings.allowLoopbackWebhooks);
  refuseShortRetention(settings);
  const { alarmEmail, alarmTopicArn } = settings;
  if (alarmEmail !== undefined && alarmTopicArn !== undefined) {
    throw new Error(
      `${PREFIX}alarmEmail is ${alarmEmail}, but alarms are sent to ${PREFIX}alarmTopicArn: set only one of them`,
    );
  }
}

/** A misspelled setting would otherwise silently have its default value. */
function refuseUnknown(node: Node, processors: readonly ProcessorContract[]): void {
  const known = [...Object.keys(SETTING_RULES), ...processorSettings(processors)].map((name) => `${PREFIX}${name}`);
  const given = Object.keys(node.getAllContext() as Record<string, unknown>);
  const unknown = given.find((name) => name.startsWith(PREFIX) && !known.includes(name));
  if (unknown !== undefined) throw new Error(`there is no setting ${unknown}; the settings are ${known.join(', ')}`);
}
