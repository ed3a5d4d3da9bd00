import { Token } from 'aws-cdk-lib';
import type { Node } from 'constructs';
import { webUrl } from '../../lambdas/kernel/platform/web-url.ts';

export const PREFIX = 'payonce:';

export const TENANT_ID = /^ten_\w{1,100}$/;

export interface Rule<Value> {
  readonly allowed: string;
  /**
   * Parses a given value.
   * @returns undefined for a value that is not allowed
   */
  readonly read: (given: unknown) => Value | undefined;
}

/** Parsed values by setting name. Settings that are not given are absent. */
export type Given<Rules extends Readonly<Record<string, Rule<unknown>>>> = {
  readonly [Name in keyof Rules]?: Rules[Name] extends Rule<infer Value> ? Value : never;
};

/**
 * Reads a setting.
 * @returns undefined if the setting is not given
 * @throws Error naming the setting, the given value and the allowed values
 */
export function read<Value>(node: Node, name: string, rule: Rule<Value>): Value | undefined {
  const given: unknown = node.tryGetContext(`${PREFIX}${name}`);
  if (given === undefined) return undefined;
  const value = rule.read(given);
  if (value === undefined) throw new Error(`${PREFIX}${name} is ${JSON.stringify(given)}, but must be ${rule.allowed}`);
  return value;
}

/** Reads all given settings to which these rules apply. @throws as {@link read} */
export function readAll<Rules extends Readonly<Record<string, Rule<unknown>>>>(node: Node, rules: Rules): Given<Rules> {
  const values = Object.entries(rules).map(([name, rule]) => [name, read(node, name, rule)]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Given<Rules>;
}

export function flag(): Rule<boolean> {
  const values = new Map([
    ['true', true],
    ['false', false],
  ]);
  return { allowed: 'true or false', read: (given) => values.get(String(given)) };
}

export function whole(min: number, max: number): Rule<number> {
  return {
    allowed: `a whole number from ${min} to ${max}`,
    read: (given) => {
      const value = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given;
      return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max ? value : undefined;
    },
  };
}

/** The rule for an address to which paths are appended. */
export function address(): Rule<string> {
  return { allowed: 'an https address without a trailing slash, a query or a fragment', read: readUrl };
}

/** The rule for an address that is used unchanged. */
export function page(): Rule<string> {
  return { allowed: 'an https address without a trailing slash', read: readPage };
}

/**
 * Matches an address with a query or a fragment, even an empty one. A path that is appended to such an address would
 * become a part of the query or fragment.
 */
export const WITH_QUERY = /[?#]/;

/** Reads an https address to which paths are appended. */
export function readUrl(given: unknown): string | undefined {
  return typeof given === 'string' && WITH_QUERY.test(given) ? undefined : readPage(given);
}

/**
 * Reads an https address without a trailing slash. In the address, the CDK can use a token for an output of another
 * stack, which only CloudFormation can resolve.
 */
function readPage(given: unknown): string | undefined {
  if (typeof given === 'string' && Token.isUnresolved(given) && given.startsWith('https://') && !given.endsWith('/'))
    return given;
  if (typeof given !== 'string' || given.endsWith('/')) return undefined;
  return webUrl(given)?.protocol === 'https:' ? given : undefined;
}

/** Returns a rule that also allows http addresses of the same machine. Only the local stack uses it. */
export function orLoopback({ allowed, read: readOther }: Rule<string>): Rule<string> {
  return {
    allowed: `${allowed}, or an http address of localhost or 127.0.0.1`,
    read: (given) => readOther(given) ?? (typeof given === 'string' && isLoopback(given) ? given : undefined),
  };
}

/** Returns whether the text is an http address of the same machine, without a trailing slash. */
export function isLoopback(text: string): boolean {
  const { protocol, hostname } = webUrl(text) ?? {};
  return protocol === 'http:' && ['localhost', '127.0.0.1'].includes(hostname ?? '') && !text.endsWith('/');
}

export function email(): Rule<string> {
  return { allowed: 'an e-mail address', read: matching(/^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/) };
}

export function matching(form: RegExp): Rule<string>['read'] {
  return (given) => (typeof given === 'string' && form.test(given) ? given : undefined);
}

/** Returns a function that reads a non-empty JSON object whose values pass the check. */
export function objectOf<Value>(isValue: (value: unknown) => value is Value) {
  return (given: unknown): Readonly<Record<string, Value>> | undefined => {
    const object: unknown = typeof given === 'string' ? parsedJson(given) : given;
    if (typeof object !== 'object' || object === null || Array.isArray(object)) return undefined;
    const entries = Object.entries(object).filter((entry): entry is [string, Value] => isValue(entry[1]));
    return entries.length > 0 && entries.length === Object.keys(object).length
      ? Object.fromEntries(entries)
      : undefined;
  };
}

export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const KEY_ARN = {
  allowed: 'the ARN of a KMS key',
  read: matching(/^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[A-Za-z0-9-]{1,256}$/),
};
