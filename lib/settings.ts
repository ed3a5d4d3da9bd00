import type { Node } from 'constructs';
import { ROLES, type Role } from '../lambdas/kernel/contract/api.ts';
import type { RoutingRule } from '../lambdas/kernel/contract/environment.ts';
import { inMode, type ProcessorContract, type ProcessorSetting, schemeNames } from '../lambdas/processors/contract.ts';
import { PROCESSORS } from '../lambdas/processors/registry.ts';
import { RESTORED_TABLES_RULE, type RestoredTables } from './restored-tables.ts';

/** The settings of a deployment, from CDK context (`-c payonce:<name>=<value>` or cdk.json). */
export interface Settings {
  /**
   * The name of this deployment beside others in the same account and region, for example `staging`. It is part of the names of the
   * stacks and of all that is named after them, and of the metric namespace. @default the deployment without a name
   */
  readonly environment?: string;
  /** Deploy the sandbox processor and send test payments to it. It holds no real money. @default false */
  readonly sandbox: boolean;
  /**
   * The processors to call, once for each mode. The contract of each names its settings (lambdas/processors/<name>/contract.ts).
   * The sandbox is called if it is deployed.
   *
   * @default none: payments are answered 503 `no_processor_configured`
   */
  readonly processors: readonly CalledProcessor[];
  /**
   * The routing of new payments: JSON, a list of `{ "mode"?, "tenant"?, "currency"?, "processor" }`; the first rule that matches
   * applies. A rule without a mode applies to the modes in which its processor is called. What no rule matches is refused.
   *
   * @default all to the only processor of the mode
   */
  readonly routes: readonly RoutingRule[];
  /**
   * Base URL of the shop with the stock and referrals for orders (lambdas/kernel/contract/shop-api.ts), without the sandbox.
   * @default the sandbox's; without the sandbox, there is no orders API
   */
  readonly shopUrl?: string;
  /** The sender of the e-mails of orders: an address that is verified at Postmark; required with `shopUrl`. @default the sandbox's */
  readonly emailSender?: string;
  /** E-mails that one recipient gets from one tenant in one mode on one day (UTC), 1 to 999. More are not sent. @default 20 */
  readonly emailsPerRecipient: number;
  /** Keep tables and logs when a stack is deleted, and enable deletion protection of the tables. @default true */
  readonly retainData: boolean;
  /** Keep the events of the last two weeks in an archive for replays. It is charged per gigabyte. @default true */
  readonly eventArchive: boolean;
  /** An event that the projector has not processed within this time is published again; 10 to 3600 seconds. @default 180 */
  readonly eventsLostAfterSeconds: number;
  /** Allow webhooks to loopback addresses, also over plain HTTP, for a receiver on the same machine. @default false */
  readonly allowLoopbackWebhooks: boolean;
  /** A web ACL in front of the API, with a size limit and a rate limit per address. It has a monthly cost. @default false */
  readonly firewall: boolean;
  /** Record traces of requests and executions in AWS X-Ray. They are charged by trace. @default false */
  readonly tracing: boolean;
  /**
   * Set the role with which the account's API Gateway writes logs. It is required once in each region before a stage can log.
   * False keeps the existing role of the account. @default true
   */
  readonly accountLogRole: boolean;
  /**
   * Restored tables that take the place of the declared ones: JSON, an object of `idempotency`, `ledger`, `registry` and `views` with
   * names of tables, and `ledgerStream`, the ARN of the Stream of the restored Ledger. `payonce tables restore` prints it. The
   * declared tables stay declared and unused. @default the declared tables
   */
  readonly restoredTables?: RestoredTables;
  /**
   * Claims were lost when tables were restored. Then every first charge and change is looked up at the processor before it is sent. Set it
   * with the deployment that adopts restored tables, and keep it for 30 days. @default false
   */
  readonly claimsLost: boolean;
  /**
   * A custom domain name of the API in addition to the address that AWS assigns, for example `pay.shop.example`. It belongs to the
   * data stack, so its DNS record stays valid when the service stack is created again. @default none
   */
  readonly domainName?: string;
  /** The ARN of the domain's certificate in AWS Certificate Manager, in the region of the stacks; required with `domainName`. */
  readonly certificateArn?: string;
  /** The first segment of the path under the domain. @default the API is at the root of the domain */
  readonly basePath?: string;
  /** The issuer of an OpenID Connect provider whose tokens name operators, an https address. @default operators have keys */
  readonly operatorIssuer?: string;
  /** The audience of these tokens; required with `operatorIssuer`. */
  readonly operatorAudience?: string;
  /** The claim of these tokens with the role, or a list that contains it. @default roles */
  readonly operatorRoleClaim: string;
  /**
   * The roles of values of this claim, for example of the groups of a company: JSON, an object of values with their roles. Then no
   * other value has a role. @default the values are the names of roles
   */
  readonly operatorRoles?: Readonly<Record<string, Role>>;
  /**
   * Corrections and decisions of operators above these amounts wait for a second person: JSON, an object of currencies with amounts in
   * minor units, and `*` for all other currencies. Without `*`, all amounts in others wait. @default none wait
   */
  readonly approvalAbove?: Readonly<Record<string, number>>;
  /** How long they wait before they expire, 1 to 720 hours. @default 72 */
  readonly approvalHours: number;
  /** Maximum requests per second of the API, 1 to 10000. @default 200 */
  readonly throttlingRate: number;
  /** Burst limit of the API, in requests, 1 to 5000. @default 400 */
  readonly throttlingBurst: number;
  /**
   * Maximum requests per second of one tenant in one mode, 1 to 10000: payments and reads each, and a tenth of it for administration.
   * `payonce limits set` gives a tenant another one. @default 100
   */
  readonly tenantRate: number;
  /** Burst limit of one tenant, in requests, 1 to 10000. @default 200 */
  readonly tenantBurst: number;
  /** Memory of the payments function in MB, 128 to 10240. @default 512 */
  readonly memoryMb: number;
  /** Reserved concurrency of the payments function, 1 to 10000, out of the account's limit. @default no reservation */
  readonly reservedConcurrency?: number;
  /**
   * Write units per second that each table and each of its indexes takes at once, 4000 to 40000. It is charged once, and AWS does not
   * lower it again. @default 4000, as AWS makes new tables; they grow with use
   */
  readonly warmWriteUnits?: number;
  /** Retention of logs in days; one of the values that CloudWatch Logs allows. @default 90 */
  readonly logRetentionDays: number;
  /**
   * The e-mail address for alarms. An SNS topic is created, and its subscription must be confirmed once. Its key costs about 1 USD
   * a month. @default no notification is sent
   */
  readonly alarmEmail?: string;
  /** The ARN of an existing SNS topic for alarms; it must allow CloudWatch to publish. @default no notification is sent */
  readonly alarmTopicArn?: string;
}

/** The settings as the activity log records them: as text, without e-mail addresses. Secrets are not settings. */
export function recordedSettings({ processors, alarmEmail, emailSender, ...others }: Settings): Record<string, string> {
  const texts = Object.entries(others).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  const ofProcessors = processors.flatMap(({ processor: { name }, mode, settings, scheme }): [string, string][] => [
    [`${name}.${mode}.callbackScheme`, scheme],
    ...Object.entries(settings).map(([setting, value]): [string, string] => [`${name}.${mode}.${setting}`, value]),
  ]);
  const addresses = Object.entries({ alarmEmail, emailSender }).flatMap(([name, given]): [string, string][] =>
    given === undefined ? [] : [[name, 'given']],
  );
  return Object.fromEntries([...texts, ...ofProcessors, ...addresses]);
}

export type Mode = RoutingRule['mode'];

/** A processor that this deployment calls in a mode, with its settings. */
export interface CalledProcessor {
  readonly processor: ProcessorContract;
  readonly mode: Mode;
  /** By their names in its contract, without those that a stack of this app provides. */
  readonly settings: Readonly<Record<string, string>>;
  /** The signature scheme of its callbacks. */
  readonly scheme: string;
}

const PREFIX = 'payonce:';

export const DEFAULTS: Omit<Settings, 'processors'> = {
  sandbox: false,
  routes: [],
  retainData: true,
  claimsLost: false,
  eventArchive: true,
  eventsLostAfterSeconds: 180,
  allowLoopbackWebhooks: false,
  firewall: false,
  tracing: false,
  accountLogRole: true,
  throttlingRate: 200,
  throttlingBurst: 400,
  tenantRate: 100,
  tenantBurst: 200,
  operatorRoleClaim: 'roles',
  approvalHours: 72,
  emailsPerRecipient: 20,
  memoryMb: 512,
  logRetentionDays: 90,
};

/** The values of CloudWatch Logs (PutRetentionPolicy) up to a year, and the maximum. */
const RETENTION_DAYS = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 3653];

interface Rule<Value> {
  readonly allowed: string;
  /** @returns undefined for a value that is not allowed */
  readonly read: (given: unknown) => Value | undefined;
}

const RULES = {
  environment: {
    allowed: '1 to 20 lower case letters, digits and hyphens, beginning with a letter',
    read: matching(/^[a-z](?:[a-z0-9-]{0,18}[a-z0-9])?$/),
  },
  sandbox: flag(),
  shopUrl: address(),
  emailSender: email(),
  emailsPerRecipient: whole(1, 999),
  retainData: flag(),
  restoredTables: RESTORED_TABLES_RULE,
  claimsLost: flag(),
  eventArchive: flag(),
  eventsLostAfterSeconds: whole(10, 3600),
  allowLoopbackWebhooks: flag(),
  firewall: flag(),
  tracing: flag(),
  accountLogRole: flag(),
  operatorIssuer: {
    allowed: 'an https address',
    read: (given: unknown) => readUrl(String(given).replace(/\/$/, '')) && String(given),
  },
  operatorAudience: { allowed: 'a text of 1 to 200 characters', read: matching(/^\S{1,200}$/) },
  operatorRoleClaim: { allowed: 'the name of a claim', read: matching(/^\S{1,200}$/) },
  operatorRoles: {
    allowed: `JSON, an object of values of the claim, each with ${ROLES.join(', ').replace(/, (?=\w+$)/, ' or ')}`,
    read: readRoles,
  },
  approvalAbove: {
    allowed: 'JSON, an object of currencies, or *, each with an amount in minor units',
    read: readAmounts,
  },
  approvalHours: whole(1, 720),
  domainName: {
    allowed: 'a domain name in lower case, without a wildcard',
    read: matching(/^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/),
  },
  certificateArn: {
    allowed: 'the ARN of a certificate in AWS Certificate Manager',
    read: matching(/^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\/[a-zA-Z0-9-]+$/),
  },
  basePath: { allowed: 'one segment of letters, digits, - and _', read: matching(/^[A-Za-z0-9_-]{1,64}$/) },
  throttlingRate: whole(1, 10_000),
  throttlingBurst: whole(1, 5_000),
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
};

/**
 * Reads the settings of a deployment.
 *
 * @param processors the available processors
 * @throws Error naming the setting, the given value and the allowed values
 */
export function readSettings(node: Node, processors: readonly ProcessorContract[] = PROCESSORS): Settings {
  refuseUnknown(node, processors);
  const environment = environmentOf(node);
  const reservedConcurrency = read(node, 'reservedConcurrency', RULES.reservedConcurrency);
  const warmWriteUnits = read(node, 'warmWriteUnits', RULES.warmWriteUnits);
  const shopUrl = read(node, 'shopUrl', RULES.shopUrl);
  const emailSender = read(node, 'emailSender', RULES.emailSender);
  const alarmEmail = read(node, 'alarmEmail', RULES.alarmEmail);
  const alarmTopicArn = read(node, 'alarmTopicArn', RULES.alarmTopicArn);
  const domainName = read(node, 'domainName', RULES.domainName);
  const certificateArn = read(node, 'certificateArn', RULES.certificateArn);
  const basePath = read(node, 'basePath', RULES.basePath);
  const operatorIssuer = read(node, 'operatorIssuer', RULES.operatorIssuer);
  const operatorAudience = read(node, 'operatorAudience', RULES.operatorAudience);
  const operatorRoles = read(node, 'operatorRoles', RULES.operatorRoles);
  const approvalAbove = read(node, 'approvalAbove', RULES.approvalAbove);
  const restoredTables = read(node, 'restoredTables', RULES.restoredTables);
  const sandbox = read(node, 'sandbox', RULES.sandbox) ?? DEFAULTS.sandbox;
  const called = readProcessors(node, processors, { sandbox });
  const settings: Settings = {
    sandbox,
    processors: called,
    retainData: read(node, 'retainData', RULES.retainData) ?? DEFAULTS.retainData,
    claimsLost: read(node, 'claimsLost', RULES.claimsLost) ?? DEFAULTS.claimsLost,
    eventArchive: read(node, 'eventArchive', RULES.eventArchive) ?? DEFAULTS.eventArchive,
    eventsLostAfterSeconds:
      read(node, 'eventsLostAfterSeconds', RULES.eventsLostAfterSeconds) ?? DEFAULTS.eventsLostAfterSeconds,
    allowLoopbackWebhooks:
      read(node, 'allowLoopbackWebhooks', RULES.allowLoopbackWebhooks) ?? DEFAULTS.allowLoopbackWebhooks,
    firewall: read(node, 'firewall', RULES.firewall) ?? DEFAULTS.firewall,
    tracing: tracingOf(node),
    accountLogRole: read(node, 'accountLogRole', RULES.accountLogRole) ?? DEFAULTS.accountLogRole,
    throttlingRate: read(node, 'throttlingRate', RULES.throttlingRate) ?? DEFAULTS.throttlingRate,
    throttlingBurst: read(node, 'throttlingBurst', RULES.throttlingBurst) ?? DEFAULTS.throttlingBurst,
    tenantRate: read(node, 'tenantRate', RULES.tenantRate) ?? DEFAULTS.tenantRate,
    tenantBurst: read(node, 'tenantBurst', RULES.tenantBurst) ?? DEFAULTS.tenantBurst,
    memoryMb: read(node, 'memoryMb', RULES.memoryMb) ?? DEFAULTS.memoryMb,
    logRetentionDays: read(node, 'logRetentionDays', RULES.logRetentionDays) ?? DEFAULTS.logRetentionDays,
    ...(environment === undefined ? {} : { environment }),
    ...(restoredTables === undefined ? {} : { restoredTables }),
    ...(reservedConcurrency === undefined ? {} : { reservedConcurrency }),
    ...(warmWriteUnits === undefined ? {} : { warmWriteUnits }),
    ...(shopUrl === undefined ? {} : { shopUrl }),
    ...(emailSender === undefined ? {} : { emailSender }),
    emailsPerRecipient: read(node, 'emailsPerRecipient', RULES.emailsPerRecipient) ?? DEFAULTS.emailsPerRecipient,
    ...(domainName === undefined ? {} : { domainName }),
    ...(certificateArn === undefined ? {} : { certificateArn }),
    ...(basePath === undefined ? {} : { basePath }),
    ...(operatorIssuer === undefined ? {} : { operatorIssuer }),
    ...(operatorAudience === undefined ? {} : { operatorAudience }),
    operatorRoleClaim: read(node, 'operatorRoleClaim', RULES.operatorRoleClaim) ?? DEFAULTS.operatorRoleClaim,
    ...(operatorRoles === undefined ? {} : { operatorRoles }),
    ...(approvalAbove === undefined ? {} : { approvalAbove }),
    approvalHours: read(node, 'approvalHours', RULES.approvalHours) ?? DEFAULTS.approvalHours,
    ...(alarmEmail === undefined ? {} : { alarmEmail }),
    ...(alarmTopicArn === undefined ? {} : { alarmTopicArn }),
    routes: readRoutes(node, processors, called),
  };
  refuseConflicts(settings);
  return settings;
}

/** The setting `environment` alone, for the names of constructs that need no other setting. @throws Error for an invalid name */
export function environmentOf(node: Node): string | undefined {
  return read(node, 'environment', RULES.environment);
}

/** Whether functions and the API record traces. @throws as {@link readSettings} */
export function tracingOf(node: Node): boolean {
  return read(node, 'tracing', RULES.tracing) ?? DEFAULTS.tracing;
}

/** The settings of each processor that is called, in each mode. */
function readProcessors(
  node: Node,
  processors: readonly ProcessorContract[],
  deployed: Pick<Settings, 'sandbox'>,
): readonly CalledProcessor[] {
  return processors.flatMap((processor) =>
    processor.modes.flatMap((mode): CalledProcessor[] => {
      const { deployedBy, callbacks } = processor;
      if (deployedBy !== undefined) {
        return deployed[deployedBy] ? [{ processor, mode, settings: {}, scheme: callbacks.scheme }] : [];
      }
      const scheme = readScheme(node, processor, mode, processors);
      const given = Object.entries(processor.settings).flatMap(([name, setting]) => {
        const context = inMode(setting.context, mode);
        const value = read(node, context, ruleOf(setting));
        return value === undefined ? [] : [{ name, context, value }];
      });
      const [first] = given;
      if (first === undefined) {
        refuseSchemeAlone(node, processor, mode);
        return [];
      }
      const settings = Object.fromEntries(given.map(({ name, value }) => [name, value]));
      refuseIncomplete(processor, mode, settings, `${first.context} is ${first.value}`);
      return [{ processor, mode, settings, scheme }];
    }),
  );
}

function readScheme(
  node: Node,
  { callbacks: { scheme, schemeSetting } }: ProcessorContract,
  mode: Mode,
  processors: readonly ProcessorContract[],
): string {
  if (schemeSetting === undefined) return scheme;
  const names = schemeNames(processors);
  const find = (given: unknown) => names.find((name) => name === given);
  return read(node, inMode(schemeSetting, mode), { allowed: `one of ${names.join(', ')}`, read: find }) ?? scheme;
}

function refuseSchemeAlone(node: Node, processor: ProcessorContract, mode: Mode): void {
  const { schemeSetting } = processor.callbacks;
  const name = schemeSetting === undefined ? undefined : `${PREFIX}${inMode(schemeSetting, mode)}`;
  if (name === undefined || node.tryGetContext(name) === undefined) return;
  throw new Error(`${name} is given, but there is no ${settingOf(processor, mode)}`);
}

/** A processor has all required settings of a mode, or it is not called in this mode. */
function refuseIncomplete(
  { settings }: ProcessorContract,
  mode: Mode,
  given: Readonly<Record<string, string>>,
  because: string,
): void {
  for (const [name, setting] of Object.entries(settings)) {
    if (setting.optional === true || given[name] !== undefined) continue;
    throw new Error(
      `${PREFIX}${because}, so ${PREFIX}${inMode(setting.context, mode)} must be ${ruleOf(setting).allowed}`,
    );
  }
}

function ruleOf({ form }: ProcessorSetting): Rule<string> {
  if (form === 'address') return address();
  return { allowed: form.allowed, read: matching(form.pattern) };
}

/** The setting that enables a processor in a mode: that of its stack, or its first required one. */
function settingOf({ settings, deployedBy }: ProcessorContract, mode: Mode): string {
  const needed = Object.values(settings).find(({ optional }) => optional !== true);
  return `${PREFIX}${deployedBy ?? inMode(needed?.context ?? '', mode)}`;
}

/** A rule as it is given. Without a mode it applies to the modes in which its processor is called. */
interface GivenRule extends Omit<RoutingRule, 'mode'> {
  readonly mode?: Mode;
}

/**
 * The routing rules, each with its mode. A mode that no given rule applies to sends all payments to its only processor.
 *
 * @throws Error when a rule leads to a processor that is not called, or a mode has several processors and no rule
 */
function readRoutes(
  node: Node,
  processors: readonly ProcessorContract[],
  called: readonly CalledProcessor[],
): readonly RoutingRule[] {
  const given = read(node, ROUTES, routes(processors)) ?? [];
  const rules = given.flatMap((rule): readonly RoutingRule[] => {
    const modes = called.filter(({ processor }) => processor.name === rule.processor).map(({ mode }) => mode);
    const fitting = rule.mode === undefined ? modes : modes.filter((mode) => mode === rule.mode);
    if (fitting.length > 0) return fitting.map((mode) => ({ ...rule, mode }));
    const lost = processors.find(({ name }) => name === rule.processor);
    const { mode = lost?.modes[0] ?? 'test' } = rule;
    if (lost?.modes.includes(mode) === false) {
      throw new Error(
        `${PREFIX}${ROUTES} sends ${mode} payments to ${lost.name}, which is for ${lost.modes.join(', ')}`,
      );
    }
    const setting = lost === undefined ? '' : settingOf(lost, mode);
    throw new Error(`${PREFIX}${ROUTES} sends payments to ${rule.processor}, but there is no ${setting}`);
  });
  const implied = (['test', 'live'] as const).flatMap((mode): readonly RoutingRule[] => {
    const names = called.filter((each) => each.mode === mode).map(({ processor }) => processor.name);
    const [only, ...more] = names;
    if (only === undefined || rules.some((rule) => rule.mode === mode)) return [];
    if (more.length === 0) return [{ mode, processor: only }];
    throw new Error(
      `${names.join(' and ')} are called in ${mode} mode, so ${PREFIX}${ROUTES} must say which payments each of them gets`,
    );
  });
  return [...rules, ...implied];
}

/** Refuses settings that are valid alone but contradict each other. */
function refuseConflicts(settings: Settings): void {
  refusePartyConflicts(settings);
  refuseDomainConflicts(settings);
  const { operatorIssuer, operatorAudience, operatorRoles } = settings;
  if ((operatorIssuer === undefined) !== (operatorAudience === undefined)) {
    throw new Error(`${PREFIX}operatorIssuer and ${PREFIX}operatorAudience must be given together, or neither`);
  }
  if (operatorRoles !== undefined && operatorIssuer === undefined) {
    throw new Error(
      `${PREFIX}operatorRoles is given, so ${PREFIX}operatorIssuer must be ${RULES.operatorIssuer.allowed}`,
    );
  }
  const { alarmEmail, alarmTopicArn } = settings;
  if (alarmEmail !== undefined && alarmTopicArn !== undefined) {
    throw new Error(
      `${PREFIX}alarmEmail is ${alarmEmail}, but alarms are sent to ${PREFIX}alarmTopicArn: set one of the two`,
    );
  }
}

function refuseDomainConflicts({ domainName, certificateArn, basePath }: Settings): void {
  if (domainName !== undefined && certificateArn === undefined) {
    throw new Error(
      `${PREFIX}domainName is ${domainName}, so ${PREFIX}certificateArn must be ${RULES.certificateArn.allowed}`,
    );
  }
  for (const [name, given] of Object.entries({ certificateArn, basePath })) {
    if (domainName !== undefined || given === undefined) continue;
    throw new Error(`${PREFIX}${name} is ${given}, so ${PREFIX}domainName must be ${RULES.domainName.allowed}`);
  }
}

/** Orders have all of their parties, or there is no orders API. */
function refusePartyConflicts({ sandbox, shopUrl, emailSender }: Settings): void {
  for (const [name, given] of Object.entries({ shopUrl, emailSender })) {
    if (sandbox && given !== undefined) {
      throw new Error(`${PREFIX}${name} is ${given}, but the sandbox is enabled and simulates the parties of orders`);
    }
  }
  if (shopUrl !== undefined && emailSender === undefined) {
    throw new Error(`${PREFIX}shopUrl is ${shopUrl}, so ${PREFIX}emailSender must be ${RULES.emailSender.allowed}`);
  }
  if (emailSender !== undefined && shopUrl === undefined) {
    throw new Error(`${PREFIX}emailSender is ${emailSender}, so ${PREFIX}shopUrl must be ${RULES.shopUrl.allowed}`);
  }
}

function read<Value>(node: Node, name: string, rule: Rule<Value>): Value | undefined {
  const given: unknown = node.tryGetContext(`${PREFIX}${name}`);
  if (given === undefined) return undefined;
  const value = rule.read(given);
  if (value === undefined) throw new Error(`${PREFIX}${name} is ${JSON.stringify(given)}, but must be ${rule.allowed}`);
  return value;
}

/** A misspelled setting must not silently have its default. */
function refuseUnknown(node: Node, processors: readonly ProcessorContract[]): void {
  const ofProcessors = processors
    .filter(({ deployedBy }) => deployedBy === undefined)
    .flatMap(({ modes, settings, callbacks: { schemeSetting } }) => {
      const names = Object.values(settings).map(({ context }) => context);
      return [...names, ...(schemeSetting === undefined ? [] : [schemeSetting])].flatMap((name) =>
        modes.map((mode) => inMode(name, mode)),
      );
    });
  const known = [...Object.keys(RULES), ...ofProcessors, ROUTES].map((name) => `${PREFIX}${name}`);
  const given = Object.keys(node.getAllContext() as Record<string, unknown>);
  const unknown = given.find((name) => name.startsWith(PREFIX) && !known.includes(name));
  if (unknown !== undefined) throw new Error(`there is no setting ${unknown}; there are ${known.join(', ')}`);
}

function flag(): Rule<boolean> {
  const values = new Map([
    ['true', true],
    ['false', false],
  ]);
  return { allowed: 'true or false', read: (given) => values.get(String(given)) };
}

function whole(min: number, max: number): Rule<number> {
  return {
    allowed: `a whole number from ${min} to ${max}`,
    read: (given) => {
      const value = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given;
      return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max ? value : undefined;
    },
  };
}

function address(): Rule<string> {
  return { allowed: 'an https address without a trailing slash', read: readUrl };
}

function readUrl(given: unknown): string | undefined {
  if (typeof given !== 'string' || !URL.canParse(given) || given.endsWith('/')) return undefined;
  return new URL(given).protocol === 'https:' ? given : undefined;
}

function email(): Rule<string> {
  return { allowed: 'an e-mail address', read: matching(/^[^\s@]+@[^\s@]+\.[^\s@]+$/) };
}

function matching(form: RegExp): Rule<string>['read'] {
  return (given) => (typeof given === 'string' && form.test(given) ? given : undefined);
}

const ROUTES = 'routes';
const ROUTE_FIELDS = new Set(['mode', 'tenant', 'currency', 'processor']);

function routes(processors: readonly ProcessorContract[]): Rule<readonly GivenRule[]> {
  const names = new Set(processors.map(({ name }) => name));
  const isRoute = (rule: unknown): rule is GivenRule => {
    if (typeof rule !== 'object' || rule === null) return false;
    const fields = Object.entries(rule);
    const known = fields.every(([name, value]) => ROUTE_FIELDS.has(name) && typeof value === 'string');
    const ofMode = !('mode' in rule) || rule.mode === 'test' || rule.mode === 'live';
    return known && ofMode && 'processor' in rule && names.has(String(rule.processor));
  };
  return {
    allowed: 'JSON, a list of { "mode"?, "tenant"?, "currency"?, "processor" }',
    read: (given) => {
      const rules: unknown = typeof given === 'string' ? parsedJson(given) : given;
      return Array.isArray(rules) && rules.every(isRoute) ? rules : undefined;
    },
  };
}

function readRoles(given: unknown): Readonly<Record<string, Role>> | undefined {
  return objectOf((value): value is Role => ROLES.some((role) => role === value))(given);
}

function readAmounts(given: unknown): Readonly<Record<string, number>> | undefined {
  const isAmount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
  const amounts = objectOf(isAmount)(given);
  const names = Object.keys(amounts ?? {});
  return names.every((name) => /^(?:[A-Z]{3}|\*)$/.test(name)) ? amounts : undefined;
}

/** Reads a JSON object, which must not be empty. */
function objectOf<Value>(isValue: (value: unknown) => value is Value) {
  return (given: unknown): Readonly<Record<string, Value>> | undefined => {
    const object: unknown = typeof given === 'string' ? parsedJson(given) : given;
    if (typeof object !== 'object' || object === null || Array.isArray(object)) return undefined;
    const entries = Object.entries(object).filter((entry): entry is [string, Value] => isValue(entry[1]));
    return entries.length > 0 && entries.length === Object.keys(object).length
      ? Object.fromEntries(entries)
      : undefined;
  };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
