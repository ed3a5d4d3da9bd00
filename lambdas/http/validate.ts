import * as z from 'zod';
import type { Problem } from '../kernel/answer.ts';
import { MULTI_LINE, ONE_LINE, ONE_LINE_NOT_BLANK } from '../kernel/one-line.ts';
import type { SensitiveKind } from '../kernel/sensitive.ts';
import { findSensitive } from '../kernel/sensitive.ts';
import type { GatewayRequest } from './gateway-request.ts';
import type { JsonObject } from './json-body.ts';
import type { Parsed } from './problems.ts';
import { problem, refused, valid } from './problems.ts';

/** Maximum length of a field name in a message, in characters. */
const LONGEST_NAME = 100;

/**
 * Searches the whole body for sensitive content before checking the schema, so that no other message can quote such
 * content.
 */
export function validateBody<Value>(schema: z.ZodType<Value>, body: JsonObject): Parsed<Value> {
  const found = refuseSensitiveBody(body);
  return found === undefined ? validateSearchedBody(schema, body) : { kind: 'refused', problem: found };
}

export function refuseSensitiveBody(body: JsonObject): Problem | undefined {
  const found = findInside(body, []);
  if (found === undefined) return undefined;
  const name = nameOf(found.path);
  // Field names that are harmless by themselves can form a card number together.
  const isShown = name !== undefined && findSensitive(name) === undefined;
  return problem(`${found.kind}_not_allowed`, SENSITIVE_DETAIL[found.kind], isShown ? name : undefined);
}

/** @param body a body in which {@link refuseSensitiveBody} found nothing */
export function validateSearchedBody<Value>(schema: z.ZodType<Value>, body: JsonObject): Parsed<Value> {
  return validate(schema, body, 'unknown_field');
}

/**
 * Matches headers that are not searched: credentials, cookies, and headers of gateways and tracing. They contain random
 * identifiers, which can look like a card number by chance. None of these headers is stored.
 */
const IDENTIFIERS =
  /^(?:authorization$|cookie$|cloudfront-|x-(?:amz|forwarded|datadog|b3)|baggage$)|trac|span|(?:request|correlation)-?id/;

/**
 * Searches the path, the query and the headers, except {@link IDENTIFIERS}, for sensitive content. The gateway limits
 * the size of these parts, so the search takes a bounded time.
 */
export function refuseSensitive({ path, query, headers }: GatewayRequest): Problem | undefined {
  const sent = [...headers].filter(([name]) => !IDENTIFIERS.test(name));
  for (const [name, texts] of [['path', path] as const, ...query, ...sent]) {
    for (const text of [name, ...texts]) {
      const kind = findSensitive(text);
      if (kind === undefined) continue;
      return problem(`${kind}_not_allowed`, SENSITIVE_DETAIL[kind], text === name ? undefined : nameOf([name]));
    }
  }
  return undefined;
}

/** With `@__PURE__` before the call, the bundler omits the schema from functions that do not use it. */
export function ifUsed<Schema>(make: () => Schema): Schema {
  return make();
}

export function validateQuery<Value>(schema: z.ZodType<Value>, query: GatewayRequest['query']): Parsed<Value> {
  const single: [string, string][] = [];
  for (const [name, values] of query) {
    const [value = '', ...others] = values;
    if (others.length > 0) return refused('invalid_request', 'The parameter must be sent only once.', nameOf([name]));
    single.push([name, value]);
  }
  return validate(schema, Object.fromEntries(single), 'unknown_parameter');
}

function validate<Value>(
  schema: z.ZodType<Value>,
  input: JsonObject,
  unknown: 'unknown_field' | 'unknown_parameter',
): Parsed<Value> {
  const checked = schema.safeParse(input);
  if (checked.success) return valid(checked.data);
  const { issues } = checked.error;
  const stranger = issues.find((issue) => issue.code === 'unrecognized_keys');
  if (stranger !== undefined) {
    const param = nameOf([...stranger.path, ...stranger.keys.slice(0, 1)]);
    const noun = unknown === 'unknown_field' ? 'field' : 'parameter';
    const named = param === undefined ? `A ${noun}` : `The ${noun} ${param}`;
    return refused(unknown, `${named} is unknown. /v1/openapi.json lists the known ${noun}s.`, param);
  }
  const [issue] = issues;
  const path = issue?.path ?? [];
  const param = nameOf(path);
  const shown = nameOf(isOwnName(path, input) ? path.slice(0, 1) : path);
  return refused('invalid_request', `${shown ?? 'The request'} ${allowed(issue, input)}.`, param);
}

/**
 * Returns whether the field is inside an object. The caller may have chosen the field names in this object, as in
 * metadata. Messages must not repeat such names; only `param` may.
 */
function isOwnName([field]: readonly PropertyKey[], input: JsonObject): boolean {
  const value = typeof field === 'string' && Object.hasOwn(input, field) ? input[field] : undefined;
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function allowed(issue: z.core.$ZodIssue | undefined, input: JsonObject): string {
  // If the key of a record is invalid, Zod nests the issues of the key in one issue.
  const inner = issue?.code === 'invalid_key' ? issue.issues[0] : issue;
  const message = inner?.message ?? 'is not valid';
  const [field, ...deeper] = issue?.path ?? [];
  const missing = typeof field === 'string' && deeper.length === 0 && !Object.hasOwn(input, field);
  return missing ? `is missing: it ${message}` : message;
}

const SENSITIVE_DETAIL: Readonly<Record<SensitiveKind, string>> = {
  card_number: 'This looks like a card number. Send a token from your processor. Nothing was stored.',
  secret: 'This looks like a secret key. Replace that key now. Nothing was stored.',
};

interface Finding {
  readonly kind: SensitiveKind;
  readonly path: readonly string[];
}

/** The limits on size and depth bound the recursion. */
function findInside(value: unknown, path: readonly string[]): Finding | undefined {
  if (typeof value === 'string') {
    const kind = findSensitive(value);
    return kind === undefined ? undefined : { kind, path };
  }
  if (typeof value === 'number') return findInside(String(value), path);
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const kind = findSensitive(key);
    if (kind !== undefined) return { kind, path };
    const found = findInside(inner, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * @param path names without sensitive content
 * @returns undefined when the whole input is invalid, or the first name has control characters
 */
function nameOf(path: readonly PropertyKey[]): string | undefined {
  const names = path.map(String);
  const forging = names.findIndex((each) => !ONE_LINE.test(each));
  const name = names.slice(0, forging === -1 ? names.length : forging).join('.');
  if (name === '') return undefined;
  return name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME)}…`;
}

export const emptyQuery = z.strictObject({});
export const emptyBody = z.strictObject({});

export const wholeNumber = (min: number, max: number, meaning: string) => {
  const range = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^(?:0|[1-9]\d{0,11})$/, range)
    .transform(Number)
    .pipe(z.int().min(min, range).max(max, range))
    .optional()
    .meta({
      description: meaning,
      ...described({ type: 'integer', format: max < 2 ** 31 ? 'int32' : 'int64', minimum: min, maximum: max }),
    });
};

/**
 * Returns metadata that replaces the generated schema of a field in the API documentation, except its description and
 * example.
 */
export const described = (schema: Readonly<Record<string, unknown>>) => ({
  override: ({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }) => {
    const { description, example } = jsonSchema;
    for (const name of Object.keys(jsonSchema)) delete jsonSchema[name];
    Object.assign(
      jsonSchema,
      schema,
      description === undefined ? {} : { description },
      example === undefined ? {} : { example },
    );
  },
});

/**
 * The length is counted in code points, as in JSON Schema, not in UTF-16 units.
 *
 * @param min 1 for a text that must not be blank
 */
export const freeText = (max: number, min: 0 | 1 = 0, subject = '') =>
  z
    .string('must be a string')
    .refine((value) => min === 0 || value.trim() !== '', `${subject}must not be blank`)
    .refine((value) => ONE_LINE.test(value), `${subject}must be one line without control characters`)
    .refine(
      (value) => value.length <= max || Array.from(value).length <= max,
      `${subject}must be at most ${max} characters`,
    )
    .meta({
      ...(min === 0 ? {} : { minLength: min }),
      maxLength: max,
      pattern: (min === 0 ? ONE_LINE : ONE_LINE_NOT_BLANK).source,
    });

/** The length is counted as in {@link freeText}. */
export const freeLines = (max: number) =>
  z
    .string('must be a string')
    .refine((value) => MULTI_LINE.test(value), 'must have no control characters other than line breaks and tabs')
    .refine((value) => value.length <= max || Array.from(value).length <= max, `must be at most ${max} characters`)
    .meta({ maxLength: max, pattern: MULTI_LINE.source });

/** Latest accepted time, in Unix seconds: the last one with ten digits, in the year 2286. */
export const MAX_UNIX_SECONDS = 9_999_999_999;

export const unixSecond = z
  .int('must be a JSON integer, in Unix seconds')
  .min(0, 'must be at least 0')
  .max(MAX_UNIX_SECONDS, `must be at most ${MAX_UNIX_SECONDS}`);
