import type { Node } from 'constructs';
import type { RoutingRule } from '../lambdas/kernel/contract/environment.ts';
import { type ProcessorContract, type ProcessorSetting, schemeNames } from '../lambdas/processors/contract.ts';
import { PROCESSORS } from '../lambdas/processors/registry.ts';

/** What a deployment may choose, from CDK context (`-c payonce:<name>=<value>` or cdk.json). */
export interface Settings {
  /** Deploy the sandbox processor and send charges to it. @default true */
  readonly sandbox: boolean;
  /**
   * The processors to call. The settings of each are named in its contract (lambdas/processors/<name>/contract.ts). The first of
   * the registry is always called; when its own stack is left out, its settings are needed.
   *
   * @default the first alone
   */
  readonly processors: readonly CalledProcessor[];
  /**
   * Where new payments go: JSON, a list of `{ "tenant"?, "currency"?, "processor" }`; the first that fits counts.
   *
   * @default all to the first processor
   */
  readonly routes: readonly RoutingRule[];
  /**
   * Base URL of the shop whose stock and referrals orders need (its contract: lambdas/kernel/contract/shop-api.ts), when the
   * sandbox is left out. @default the sandbox's; without the sandbox, no orders are taken
   */
  readonly shopUrl?: string;
  /** Whom the e-mails of orders come from: a sender that Postmark knows; needed with `shopUrl`. @default the sandbox's */
  readonly emailSender?: string;
  /** Keep tables and logs when a stack is deleted, and refuse to delete tables. @default true */
  readonly retainData: boolean;
  /** Keep the events of the last two weeks in an archive, to be replayed. Costs a little for each gigabyte. @default true */
  readonly eventArchive: boolean;
  /** An event that the projector has not seen for so long is published again; 10 to 3600 seconds. @default 180 */
  readonly eventsLostAfterSeconds: number;
  /** Let webhooks go to loopback addresses, over plain HTTP too: for a receiver on the same machine. @default false */
  readonly allowLoopbackWebhooks: boolean;
  /** A web ACL before the API: a size limit and a rate limit per address. Costs some USD a month. @default false */
  readonly firewall: boolean;
  /**
   * Give the account's API Gateway a role to write logs with, which it needs once in each region before any stage can log.
   * False keeps a role that the account has already. @default true
   */
  readonly accountLogRole: boolean;
  /**
   * The API's own domain name, beside the address that AWS gives it, for example `pay.shop.example`. It belongs to the data
   * stack: its DNS record stays right when the service is made again. @default none
   */
  readonly domainName?: string;
  /** The ARN of the domain's certificate in AWS Certificate Manager, in the region of the stacks; needed with `domainName`. */
  readonly certificateArn?: string;
  /** The first segment of the path under the domain. @default the API is at the root of the domain */
  readonly basePath?: string;
  /** Requests per second that the API lets in, 1 to 10000. @default 200 */
  readonly throttlingRate: number;
  /** Requests that may come at once beyond the rate, 1 to 5000. @default 400 */
  readonly throttlingBurst: number;
  /** Memory of the payments function in MB, 128 to 10240. @default 512 */
  readonly memoryMb: number;
  /** Payments at once, 1 to 10000, reserved out of the account's limit. @default no reservation */
  readonly reservedConcurrency?: number;
  /** How long logs are kept, in days; one of the values that CloudWatch Logs allows. @default 90 */
  readonly logRetentionDays: number;
  /**
   * Where alarms are written to: an SNS topic is made, and its subscription has to be confirmed once. Costs about 1 USD a month
   * for its key. @default no notification is sent
   */
  readonly alarmEmail?: string;
  /** The ARN of an existing SNS topic for alarms; it must allow CloudWatch to publish. @default no notification is sent */
  readonly alarmTopicArn?: string;
}

/** The settings as the activity log records them: as texts, without addresses of persons. Secrets are no settings. */
export function recordedSettings({ processors, alarmEmail, emailSender, ...others }: Settings): Record<string, string> {
  const texts = Object.entries(others).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  const ofProcessors = processors.flatMap(({ processor: { name }, settings, scheme }): [string, string][] => [
    [`${name}.callbackScheme`, scheme],
    ...Object.entries(settings).map(([setting, value]): [string, string] => [`${name}.${setting}`, value]),
  ]);
  const addresses = Object.entries({ alarmEmail, emailSender }).flatMap(([name, given]): [string, string][] =>
    given === undefined ? [] : [[name, 'given']],
  );
  return Object.fromEntries([...texts, ...ofProcessors, ...addresses]);
}

/** A processor that this deployment calls, with what was chosen for it. */
export interface CalledProcessor {
  readonly processor: ProcessorContract;
  /** By their names in its contract; those that a stack of ours gives are not among them. */
  readonly settings: Readonly<Record<string, string>>;
  /** How it signs its callbacks. */
  readonly scheme: string;
}

const PREFIX = 'payonce:';

export const DEFAULTS: Omit<Settings, 'processors'> = {
  sandbox: true,
  routes: [],
  retainData: true,
  eventArchive: true,
  eventsLostAfterSeconds: 180,
  allowLoopbackWebhooks: false,
  firewall: false,
  accountLogRole: true,
  throttlingRate: 200,
  throttlingBurst: 400,
  memoryMb: 512,
  logRetentionDays: 90,
};

/** The values of CloudWatch Logs (PutRetentionPolicy) up to a year, and the longest. */
const RETENTION_DAYS = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 3653];

interface Rule<Value> {
  readonly allowed: string;
  /** @returns undefined when what was given is not allowed */
  readonly read: (given: unknown) => Value | undefined;
}

const RULES = {
  sandbox: flag(),
  shopUrl: address(),
  emailSender: email(),
  retainData: flag(),
  eventArchive: flag(),
  eventsLostAfterSeconds: whole(10, 3600),
  allowLoopbackWebhooks: flag(),
  firewall: flag(),
  accountLogRole: flag(),
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
  memoryMb: whole(128, 10_240),
  reservedConcurrency: whole(1, 10_000),
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
 * @param processors those that may be called
 * @throws Error naming the setting, what was given and what is allowed
 */
export function readSettings(node: Node, processors: readonly ProcessorContract[] = PROCESSORS): Settings {
  refuseUnknown(node, processors);
  const reservedConcurrency = read(node, 'reservedConcurrency', RULES.reservedConcurrency);
  const shopUrl = read(node, 'shopUrl', RULES.shopUrl);
  const emailSender = read(node, 'emailSender', RULES.emailSender);
  const alarmEmail = read(node, 'alarmEmail', RULES.alarmEmail);
  const alarmTopicArn = read(node, 'alarmTopicArn', RULES.alarmTopicArn);
  const domainName = read(node, 'domainName', RULES.domainName);
  const certificateArn = read(node, 'certificateArn', RULES.certificateArn);
  const basePath = read(node, 'basePath', RULES.basePath);
  const sandbox = read(node, 'sandbox', RULES.sandbox) ?? DEFAULTS.sandbox;
  const settings: Settings = {
    sandbox,
    processors: readProcessors(node, processors, { sandbox }),
    retainData: read(node, 'retainData', RULES.retainData) ?? DEFAULTS.retainData,
    eventArchive: read(node, 'eventArchive', RULES.eventArchive) ?? DEFAULTS.eventArchive,
    eventsLostAfterSeconds:
      read(node, 'eventsLostAfterSeconds', RULES.eventsLostAfterSeconds) ?? DEFAULTS.eventsLostAfterSeconds,
    allowLoopbackWebhooks:
      read(node, 'allowLoopbackWebhooks', RULES.allowLoopbackWebhooks) ?? DEFAULTS.allowLoopbackWebhooks,
    firewall: read(node, 'firewall', RULES.firewall) ?? DEFAULTS.firewall,
    accountLogRole: read(node, 'accountLogRole', RULES.accountLogRole) ?? DEFAULTS.accountLogRole,
    throttlingRate: read(node, 'throttlingRate', RULES.throttlingRate) ?? DEFAULTS.throttlingRate,
    throttlingBurst: read(node, 'throttlingBurst', RULES.throttlingBurst) ?? DEFAULTS.throttlingBurst,
    memoryMb: read(node, 'memoryMb', RULES.memoryMb) ?? DEFAULTS.memoryMb,
    logRetentionDays: read(node, 'logRetentionDays', RULES.logRetentionDays) ?? DEFAULTS.logRetentionDays,
    ...(reservedConcurrency === undefined ? {} : { reservedConcurrency }),
    ...(shopUrl === undefined ? {} : { shopUrl }),
    ...(emailSender === undefined ? {} : { emailSender }),
    ...(domainName === undefined ? {} : { domainName }),
    ...(certificateArn === undefined ? {} : { certificateArn }),
    ...(basePath === undefined ? {} : { basePath }),
    ...(alarmEmail === undefined ? {} : { alarmEmail }),
    ...(alarmTopicArn === undefined ? {} : { alarmTopicArn }),
    routes: read(node, ROUTES, routes(processors)) ?? DEFAULTS.routes,
  };
  refuseConflicts(settings, processors);
  return settings;
}

/** Of each processor that is called what was chosen for it: of the first always, of others where a setting is given. */
function readProcessors(
  node: Node,
  processors: readonly ProcessorContract[],
  deployed: Pick<Settings, 'sandbox'>,
): readonly CalledProcessor[] {
  return processors.flatMap((processor, index) => {
    const { deployedBy } = processor;
    const ours = deployedBy !== undefined && deployed[deployedBy] ? deployedBy : undefined;
    const scheme = readScheme(node, processor, processors, ours);
    const given = Object.entries(processor.settings).flatMap(([name, setting]) => {
      const value = read(node, setting.context, ruleOf(setting));
      return value === undefined ? [] : [{ name, context: setting.context, value }];
    });
    const [first] = given;
    if (ours !== undefined && first !== undefined) {
      throw new Error(`${PREFIX}${first.context} is ${first.value}, but the ${ours} is on: give one or the other`);
    }
    const settings = Object.fromEntries(given.map(({ name, value }) => [name, value]));
    if (ours !== undefined) return [{ processor, settings, scheme }];
    if (index > 0 && first === undefined) return [];
    const because =
      first === undefined ? `${deployedBy ?? 'processor'} is false` : `${first.context} is ${first.value}`;
    refuseIncomplete(processor, settings, because);
    return [{ processor, settings, scheme }];
  });
}

function readScheme(
  node: Node,
  { callbacks: { scheme, schemeSetting } }: ProcessorContract,
  processors: readonly ProcessorContract[],
  deployedBy: string | undefined,
): string {
  if (schemeSetting === undefined) return scheme;
  const names = schemeNames(processors);
  const find = (given: unknown) => names.find((name) => name === given);
  const chosen = read(node, schemeSetting, { allowed: `one of ${names.join(', ')}`, read: find }) ?? scheme;
  if (deployedBy !== undefined && chosen !== scheme) {
    throw new Error(`${PREFIX}${schemeSetting} is ${chosen}, but the ${deployedBy} signs in its own way`);
  }
  return chosen;
}

/** A processor has all the settings that it needs, or is not called. */
function refuseIncomplete(
  { settings }: ProcessorContract,
  given: Readonly<Record<string, string>>,
  because: string,
): void {
  for (const [name, setting] of Object.entries(settings)) {
    if (setting.optional === true || given[name] !== undefined) continue;
    throw new Error(`${PREFIX}${because}, so ${PREFIX}${setting.context} must be ${ruleOf(setting).allowed}`);
  }
}

function ruleOf({ form }: ProcessorSetting): Rule<string> {
  if (form === 'address') return address();
  return { allowed: form.allowed, read: matching(form.pattern) };
}

/** The setting that makes others' processor be called: its first one that is needed. */
function settingOf({ settings }: ProcessorContract): string {
  const needed = Object.values(settings).find(({ optional }) => optional !== true);
  return `${PREFIX}${needed?.context ?? ''}`;
}

/** Settings that are good each, and contradict each other. */
function refuseConflicts(settings: Settings, processors: readonly ProcessorContract[]): void {
  refusePartyConflicts(settings);
  refuseDomainConflicts(settings);
  const { alarmEmail, alarmTopicArn } = settings;
  if (alarmEmail !== undefined && alarmTopicArn !== undefined) {
    throw new Error(
      `${PREFIX}alarmEmail is ${alarmEmail}, but alarms go to ${PREFIX}alarmTopicArn: give one or the other`,
    );
  }
  const called = new Set(settings.processors.map(({ processor }) => processor.name));
  const lost = processors.find(
    ({ name }) => !called.has(name) && settings.routes.some(({ processor }) => processor === name),
  );
  if (lost !== undefined) {
    throw new Error(`${PREFIX}routes sends payments to ${lost.name}, but there is no ${settingOf(lost)}`);
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

/** Orders have all of their parties, or there are no orders. */
function refusePartyConflicts({ sandbox, shopUrl, emailSender }: Settings): void {
  for (const [name, given] of Object.entries({ shopUrl, emailSender })) {
    if (sandbox && given !== undefined) {
      throw new Error(`${PREFIX}${name} is ${given}, but the sandbox is on, and plays the parties of orders`);
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

/** A misspelt setting must not pass for its default. */
function refuseUnknown(node: Node, processors: readonly ProcessorContract[]): void {
  const ofProcessors = processors.flatMap(({ settings, callbacks: { schemeSetting } }) => [
    ...Object.values(settings).map(({ context }) => context),
    ...(schemeSetting === undefined ? [] : [schemeSetting]),
  ]);
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
const ROUTE_FIELDS = new Set(['tenant', 'currency', 'processor']);

function routes(processors: readonly ProcessorContract[]): Rule<readonly RoutingRule[]> {
  const names = new Set(processors.map(({ name }) => name));
  const isRoute = (rule: unknown): rule is RoutingRule => {
    if (typeof rule !== 'object' || rule === null) return false;
    const fields = Object.entries(rule);
    const known = fields.every(([name, value]) => ROUTE_FIELDS.has(name) && typeof value === 'string');
    return known && 'processor' in rule && names.has(String(rule.processor));
  };
  return {
    allowed: 'JSON, a list of { "tenant"?, "currency"?, "processor" }',
    read: (given) => {
      const rules: unknown = typeof given === 'string' ? parsedJson(given) : given;
      return Array.isArray(rules) && rules.every(isRoute) ? rules : undefined;
    },
  };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
