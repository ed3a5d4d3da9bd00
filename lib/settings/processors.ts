import type { Node } from 'constructs';
import type { RoutingRule } from '../../lambdas/kernel/contract/environment.ts';
import { isCurrency } from '../../lambdas/kernel/currency.ts';
import {
  inMode,
  type ProcessorContract,
  type ProcessorSetting,
  schemeNames,
} from '../../lambdas/processors/contract.ts';
import { address, matching, orLoopback, PREFIX, page, parsedJson, type Rule, read, TENANT_ID } from './rules.ts';

export type Mode = RoutingRule['mode'];

/** The settings of processors, and the routing rules, by their names in CDK context without the prefix `payonce:`. */
export interface ProcessorProps {
  /**
   * The https URL of your own processor for live mode (docs/guides/processor-protocol.md), without a trailing slash.
   */
  readonly processorUrl?: string;
  /** Same as `processorUrl`, in test mode. */
  readonly testProcessorUrl?: string;
  /**
   * The abilities that your own processor lacks, one or several of `holds`, `partial-captures`, `refunds` and
   * `partial-refunds`, separated by commas. Payonce refuses requests that need them.
   * @default it has all abilities
   */
  readonly processorWithout?: string;
  /** Same as `processorWithout`, in test mode. */
  readonly testProcessorWithout?: string;
  /**
   * The signature scheme of your own processor's callbacks: `sandbox`, `stripe` or `standard-webhooks`.
   * @default sandbox
   */
  readonly callbackScheme?: string;
  /** Same as `callbackScheme`, in test mode. */
  readonly testCallbackScheme?: string;
  /** The Stripe account (`acct_…`) for live payments. @default Stripe is not called in live mode */
  readonly stripeAccount?: string;
  /** The Stripe account for test payments. @default Stripe is not called in test mode */
  readonly testStripeAccount?: string;
  /**
   * The URL to which Stripe redirects a payer after an approval.
   * @default a charge that needs the payer's approval is declined, unless its payment has a `return_url`
   */
  readonly stripeReturnUrl?: string;
  /** Same as `stripeReturnUrl`, in test mode. */
  readonly testStripeReturnUrl?: string;
  /**
   * The routing of new payments; the first matching rule applies.
   * @default all payments of a mode are sent to the mode's only processor
   */
  readonly routes?: readonly GivenRule[];
}

/** A processor that this deployment calls in one mode, with its settings for that mode. */
export interface CalledProcessor {
  readonly processor: ProcessorContract;
  readonly mode: Mode;
  /**
   * The given values, by the names of the settings in the processor's contract. Empty for a processor that this app
   * deploys.
   */
  readonly settings: Readonly<Record<string, string>>;
  /** The signature scheme of the processor's callbacks. */
  readonly scheme: string;
}

/**
 * Returns each processor that the settings enable, once for each mode.
 * @throws Error for a setting that is invalid or missing
 */
export function readProcessors(
  node: Node,
  processors: readonly ProcessorContract[],
  deployed: { readonly sandbox: boolean; readonly allowLoopbackWebhooks: boolean },
): readonly CalledProcessor[] {
  return processors.flatMap((processor) =>
    processor.modes.flatMap((mode): CalledProcessor[] => {
      const { deployedBy, callbacks } = processor;
      if (deployedBy !== undefined) {
        return deployed[deployedBy] ? [{ processor, mode, settings: {}, scheme: callbacks.scheme }] : [];
      }
      const scheme = readScheme(node, processor, mode, processors);
      const allowLoopback = deployed.allowLoopbackWebhooks && mode === 'test';
      const given = Object.entries(processor.settings).flatMap(([name, setting]) => {
        const context = inMode(setting.context, mode);
        const value = read(node, context, ruleOf(setting, allowLoopback));
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
  throw new Error(`${name} is given, but ${settingOf(processor, mode)} is missing`);
}

/** Refuses a processor for which only some of a mode's required settings are given. */
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

function ruleOf({ form }: ProcessorSetting, allowLoopback = false): Rule<string> {
  if (typeof form === 'object') return { allowed: form.allowed, read: matching(form.pattern) };
  const rule = form === 'page' ? page() : address();
  return allowLoopback ? orLoopback(rule) : rule;
}

/**
 * Returns the name of the setting that enables a processor in a mode: the setting that deploys its stack, otherwise its
 * first required setting.
 */
function settingOf({ settings, deployedBy }: ProcessorContract, mode: Mode): string {
  const needed = Object.values(settings).find(({ optional }) => optional !== true);
  return `${PREFIX}${deployedBy ?? inMode(needed?.context ?? '', mode)}`;
}

/** A rule as given in the settings. Without a mode, the rule applies to each mode in which its processor is called. */
interface GivenRule extends Omit<RoutingRule, 'mode'> {
  readonly mode?: Mode;
}

/**
 * Reads the routing rules and adds a mode to each rule. In a mode without rules, all payments are sent to the mode's
 * only processor.
 *
 * @throws Error when a rule names a processor that is not called, or a mode has several processors and no rule
 */
export function readRoutes(
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
        `${PREFIX}${ROUTES} sends ${mode} payments to ${lost.name}, which has only the mode ${lost.modes.join(', ')}`,
      );
    }
    const setting = lost === undefined ? '' : settingOf(lost, mode);
    throw new Error(`${PREFIX}${ROUTES} sends payments to ${rule.processor}, but ${setting} is missing`);
  });
  const implied = (['test', 'live'] as const).flatMap((mode): readonly RoutingRule[] => {
    const names = called.filter((each) => each.mode === mode).map(({ processor }) => processor.name);
    const [only, ...more] = names;
    if (only === undefined || rules.some((rule) => rule.mode === mode)) return [];
    if (more.length === 0) return [{ mode, processor: only }];
    throw new Error(
      `${names.join(' and ')} are called in ${mode} mode, so ${PREFIX}${ROUTES} must define which payments are sent to each of them`,
    );
  });
  return [...rules, ...implied];
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
    const ofTenant = !('tenant' in rule) || TENANT_ID.test(String(rule.tenant));
    const ofCurrency = !('currency' in rule) || isCurrency(String(rule.currency));
    return known && ofMode && ofTenant && ofCurrency && 'processor' in rule && names.has(String(rule.processor));
  };
  return {
    allowed:
      'a JSON list of { "mode"?, "tenant"?, "currency"?, "processor" }, with the id of a tenant and the upper-case code of a currency',
    read: (given) => {
      const rules: unknown = typeof given === 'string' ? parsedJson(given) : given;
      return Array.isArray(rules) && rules.every(isRoute) ? rules : undefined;
    },
  };
}

/** Returns the names of the processor settings and the routing setting, without the prefix. */
export function processorSettings(processors: readonly ProcessorContract[]): readonly string[] {
  const ofProcessors = processors
    .filter(({ deployedBy }) => deployedBy === undefined)
    .flatMap(({ modes, settings, callbacks: { schemeSetting } }) => {
      const names = Object.values(settings).map(({ context }) => context);
      return [...names, ...(schemeSetting === undefined ? [] : [schemeSetting])].flatMap((name) =>
        modes.map((mode) => inMode(name, mode)),
      );
    });
  return [...ofProcessors, ROUTES];
}
