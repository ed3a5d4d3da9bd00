import * as z from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi';
import type { ProblemCode } from '../http/problems.ts';
import type { Role, Scope } from '../kernel/contract/api.ts';
import { MAX_BODY_BYTES } from '../kernel/contract/limits.ts';
import { defined } from '../kernel/defined.ts';
import captured from './examples.json' with { type: 'json' };
import {
  ALWAYS,
  BODY_PROBLEMS,
  type Examples,
  idempotencyKey,
  KEY_PROBLEMS,
  location,
  payonceTenant,
  preferenceApplied,
  preferWait,
  problemResponses,
  replayed,
  requestId,
} from './responses.ts';

interface Answer {
  readonly description: string;
  readonly schema: z.ZodType;
}

interface Operation {
  /** The id never changes, because clients are generated from it. */
  readonly operationId: keyof typeof captured.operations;
  readonly summary: string;
  readonly description: string;
  /** The scope that an API key of a tenant needs. */
  readonly scope?: Scope;
  /**
   * The minimum role of an operator: for a route of operators, or for a route that operators may call for a tenant. At
   * least one of `scope` and `role` is set.
   */
  readonly role?: Role;
  readonly path?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly answers: Readonly<Partial<Record<200 | 201 | 202, Answer>>>;
  /** Problems in addition to those of all routes. */
  readonly problems?: readonly ProblemCode[];
}

interface Body {
  readonly schema: z.ZodType;
  /** @default true */
  readonly required?: boolean;
}

interface KeyedOperation extends Operation {
  readonly key: Parameters<typeof idempotencyKey>;
  /** @default none is read */
  readonly body?: Body;
  /** The answer has a `Location`. @default false */
  readonly located?: boolean;
  /** The route calls a processor, and accepts `Prefer: wait`. @default false */
  readonly waits?: boolean;
  /** The body can request a dry run, which needs no key. @default false */
  readonly dryRuns?: boolean;
  /** Answers are deleted after their retention. @default true */
  readonly expires?: boolean;
}

/** Captured from the handlers by `npm run docs:tables` (`test/api-docs/capture-examples.ts`). */
const examples: Readonly<Record<string, Readonly<Record<string, Examples>>>> = captured.operations;

/** The problems of a new payment that no processor accepts. */
export const NO_PROCESSOR = ['livemode_not_available', 'no_processor_for_payment', 'no_processor_configured'] as const;

/** An operation that reads. */
export function reading(operation: Operation): ZodOpenApiOperationObject {
  const { query, problems = [] } = operation;
  return {
    ...named(operation),
    ...params(operation, query === undefined ? {} : { query }),
    responses: {
      ...answers(operation, {}),
      ...problemResponses([
        ...always(operation),
        ...(query === undefined ? [] : (['invalid_request'] as const)),
        ...problems,
      ]),
    },
  };
}

/** An operation that changes something, under an idempotency key. */
export function keyed(operation: KeyedOperation): ZodOpenApiOperationObject {
  const { body, located = false, waits = false, expires = true, problems = [] } = operation;
  const ofKey = KEY_PROBLEMS.filter((code) => expires || code !== 'idempotency_key_expired');
  const ofCall = ['idempotency_key_in_progress', 'processor_unavailable'] as const;
  return {
    ...named(operation),
    ...params(operation, {}, { 'Idempotency-Key': keyOf(operation), ...(waits ? { Prefer: preferWait } : {}) }),
    ...(body === undefined ? {} : { requestBody: requestBody(operation.operationId, body) }),
    responses: {
      ...answers(operation, {
        ...(located ? { Location: location } : {}),
        'Idempotency-Replayed': replayed,
        ...(waits ? { 'Preference-Applied': preferenceApplied } : {}),
      }),
      ...problemResponses([...always(operation), ...ofKey, ...BODY_PROBLEMS, ...(waits ? ofCall : []), ...problems]),
    },
  };
}

/** A schema cannot make a header depend on the body. */
function keyOf({ key: [thing, promise, more = ''], dryRuns = false }: KeyedOperation): z.ZodType {
  if (!dryRuns) return idempotencyKey(thing, promise, more);
  return idempotencyKey(thing, promise, `${more} Required unless \`dry_run\` is true.`).optional();
}

/** An operation that sets fields. Repeating it changes nothing, so it needs no key. */
export function setting(operation: Operation & { readonly body: Body }): ZodOpenApiOperationObject {
  const { body, problems = [] } = operation;
  return {
    ...named(operation),
    ...params(operation, {}),
    requestBody: requestBody(operation.operationId, body),
    responses: {
      ...answers(operation, {}),
      ...problemResponses([...always(operation), ...BODY_PROBLEMS, ...problems]),
    },
  };
}

/** @param headers in addition to the header of operators */
function params(
  operation: Operation,
  query: Pick<Operation, 'query'>,
  headers: z.ZodRawShape = {},
): Pick<ZodOpenApiOperationObject, 'requestParams'> {
  const ofTenant = isForTenant(operation) ? { 'Payonce-Tenant': payonceTenant } : {};
  const header = { ...headers, ...ofTenant };
  const { path } = operation;
  const requestParams = {
    ...defined({ path }),
    ...query,
    ...(Object.keys(header).length === 0 ? {} : { header: z.object(header) }),
  };
  return Object.keys(requestParams).length === 0 ? {} : { requestParams };
}

function named({ operationId, summary, description, scope, role }: Operation) {
  const ofKey = scope === undefined ? [] : [`Needs the scope \`${scope}\`.`];
  const callers = scope === undefined ? 'Needs an operator' : 'Operators call it for the tenant of `Payonce-Tenant`,';
  const ofRole = role === undefined ? [] : [`${callers} with the role \`${role}\` or a role that includes it.`];
  return {
    operationId,
    summary,
    description: [description, ...ofKey, ...ofRole].join(' '),
    security: [
      ...(scope === undefined ? [] : [{ apiKey: [scope] }]),
      ...(role === undefined ? [] : [{ operator: [role] }]),
    ],
  };
}

function always({ scope, role }: Operation): readonly ProblemCode[] {
  return [
    ...ALWAYS,
    ...(role === undefined ? [] : (['insufficient_role'] as const)),
    ...(scope === undefined ? [] : (['insufficient_scope'] as const)),
    ...(scope !== undefined && role !== undefined ? (['invalid_request'] as const) : []),
  ];
}

/** The header of operators at a route of tenants. */
function isForTenant({ scope, role }: Pick<Operation, 'scope' | 'role'>): boolean {
  return scope !== undefined && role !== undefined;
}

function requestBody(operationId: string, { schema, required = true }: Body) {
  const absent = required ? '' : ' An absent body is an empty object.';
  return {
    required,
    description: `At most ${MAX_BODY_BYTES} bytes of JSON in UTF-8, without U+0000 and U+FFFD.${absent}`,
    content: { 'application/json': { schema, examples: shown(operationId, 'request') } },
  };
}

function answers(operation: Operation, headers: z.ZodRawShape): NonNullable<ZodOpenApiOperationObject['responses']> {
  return Object.fromEntries(
    Object.entries(operation.answers).map(([status, { description, schema }]) => [
      status as `2${string}`,
      {
        description,
        headers: z.object({ 'Request-Id': requestId, ...headers }),
        content: { 'application/json': { schema, examples: shown(operation.operationId, status) } },
      },
    ]),
  );
}

export function shown(operationId: string, part: string): Examples {
  return examples[operationId]?.[part] ?? {};
}

/** Puts all operations into a group. */
export function tagged(tag: string, paths: ZodOpenApiPathsObject): ZodOpenApiPathsObject {
  const ofGroup = ([method, operation]: readonly [string, object]) => [method, { ...operation, tags: [tag] }];
  return Object.fromEntries(
    Object.entries(paths).map(([path, methods]) => [path, Object.fromEntries(Object.entries(methods).map(ofGroup))]),
  );
}
