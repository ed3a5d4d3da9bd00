import * as z from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi';
import captured from '../../generated/api-examples.json' with { type: 'json' };
import type { Endpoint, EndpointDocs, KeyedDocs, SignedDocs } from '../http/endpoint.ts';
import type { ProblemCode } from '../http/problems.ts';
import type { Role, Scope } from '../kernel/contract/api.ts';
import { MAX_BODY_BYTES, MAX_CALLBACK_BYTES } from '../kernel/contract/limits.ts';
import { defined } from '../kernel/defined.ts';
import {
  BODY_PROBLEMS,
  CALLER_PROBLEMS,
  COMMON_PROBLEMS,
  EVERY_ANSWER,
  type Examples,
  idempotencyKey,
  KEY_PROBLEMS,
  location,
  payonceTenant,
  preferenceApplied,
  preferWait,
  problemResponses,
  replayed,
} from './responses.ts';
import { samplesOf } from './samples.ts';

interface Operation extends EndpointDocs {
  readonly scope?: Scope;
  readonly role?: Role;
  readonly query?: z.ZodObject;
}

interface Body {
  readonly schema: z.ZodType;
  readonly required: boolean;
}

interface KeyedOperation extends Operation, KeyedDocs {
  readonly body?: Body;
  readonly dryRuns: boolean;
}

/** `npm run generate` captures them from the handlers (`test/api-docs/capture-examples.ts`). */
const examples: Readonly<Record<string, Readonly<Record<string, Examples>>>> = captured.operations;

function reading(operation: Operation): ZodOpenApiOperationObject {
  const { query, problems = [] } = operation;
  return {
    ...named(operation),
    ...params(operation),
    responses: {
      ...answers(operation, {}),
      ...problemResponses([
        ...problemsOf(operation),
        ...(query === undefined ? [] : (['invalid_request'] as const)),
        ...problems,
      ]),
    },
  };
}

function keyed(operation: KeyedOperation): ZodOpenApiOperationObject {
  const { body, located = false, waits = false, expires = true, problems = [] } = operation;
  const ofKey = KEY_PROBLEMS.filter((code) => expires || code !== 'idempotency_key_expired');
  const ofCall = ['idempotency_key_in_progress', 'processor_unavailable'] as const;
  return {
    ...named(operation),
    ...params(operation, { 'Idempotency-Key': keyOf(operation), ...(waits ? { Prefer: preferWait } : {}) }),
    ...(body === undefined ? {} : { requestBody: requestBody(operation.operationId, body) }),
    responses: {
      ...answers(operation, {
        ...(located ? { Location: location } : {}),
        'Idempotency-Replayed': replayed,
        ...(waits ? { 'Preference-Applied': preferenceApplied } : {}),
      }),
      ...problemResponses([
        ...problemsOf(operation),
        ...ofKey,
        ...BODY_PROBLEMS,
        ...(waits ? ofCall : []),
        ...problems,
      ]),
    },
  };
}

/** Optional if the operation has dry runs, because a schema cannot make a header depend on the body. */
function keyOf({ key: [thing, promise, more = ''], dryRuns }: KeyedOperation): z.ZodType {
  if (!dryRuns) return idempotencyKey(thing, promise, more);
  return idempotencyKey(thing, promise, `${more} Required unless \`dry_run\` is true.`).optional();
}

/** The operation is safe to repeat, so it needs no key. */
function setting(operation: Operation & { readonly body: Body }): ZodOpenApiOperationObject {
  const { body, problems = [] } = operation;
  return {
    ...named(operation),
    ...params(operation),
    requestBody: requestBody(operation.operationId, body),
    responses: {
      ...answers(operation, {}),
      ...problemResponses([...problemsOf(operation), ...BODY_PROBLEMS, ...problems]),
    },
  };
}

function signed(operation: SignedDocs): ZodOpenApiOperationObject {
  const { operationId, body, problems = [] } = operation;
  const size = `JSON in the processor’s own format, at most ${MAX_CALLBACK_BYTES} bytes. A header contains the signature.`;
  return {
    ...named(operation),
    ...params(operation),
    requestBody: jsonBody(operationId, size, { schema: body, required: true }),
    responses: {
      ...answers(operation, {}),
      ...problemResponses([...problems, 'invalid_signature', 'body_too_large', ...COMMON_PROBLEMS]),
    },
  };
}

/** @param headers in addition to the tenant header of operators */
function params(operation: Operation, headers: z.ZodRawShape = {}): Pick<ZodOpenApiOperationObject, 'requestParams'> {
  const ofTenant = isForTenant(operation) ? { 'Payonce-Tenant': payonceTenant } : {};
  const header = { ...headers, ...ofTenant };
  const { path, query } = operation;
  const requestParams = {
    ...defined({ path, query }),
    ...(Object.keys(header).length === 0 ? {} : { header: z.object(header) }),
  };
  return Object.keys(requestParams).length === 0 ? {} : { requestParams };
}

function named({ operationId, tag, summary, description, scope, role }: Operation) {
  const ofKey = scope === undefined ? [] : [`Needs the scope \`${scope}\`.`];
  const callers =
    scope === undefined
      ? 'Needs an operator'
      : 'Operators can call this endpoint for the tenant in the header `Payonce-Tenant`,';
  const ofRole = role === undefined ? [] : [`${callers} with the role \`${role}\` or a role that includes it.`];
  return {
    operationId,
    tags: [tag],
    summary,
    description: [description, ...ofKey, ...ofRole].join(' '),
    security: [
      ...(scope === undefined ? [] : [{ apiKey: [scope] }]),
      ...(role === undefined ? [] : [{ operator: [role] }]),
    ],
  };
}

function problemsOf(operation: Operation): readonly ProblemCode[] {
  const { scope, role } = operation;
  return [
    ...CALLER_PROBLEMS,
    ...COMMON_PROBLEMS,
    ...(role === undefined ? [] : (['insufficient_role'] as const)),
    ...(scope === undefined ? [] : (['insufficient_scope'] as const)),
    ...(isForTenant(operation) ? (['invalid_request'] as const) : []),
  ];
}

function isForTenant({ scope, role }: Pick<Operation, 'scope' | 'role'>): boolean {
  return scope !== undefined && role !== undefined;
}

function requestBody(operationId: string, body: Body) {
  const absent = body.required ? '' : ' An absent body is an empty object.';
  const size = `At most ${MAX_BODY_BYTES} bytes of JSON in UTF-8, without U+0000 and U+FFFD.${absent}`;
  return jsonBody(operationId, size, body);
}

function jsonBody(operationId: string, description: string, { schema, required }: Body) {
  return {
    required,
    description,
    content: { 'application/json': { schema, examples: examplesOf(operationId, 'request') } },
  };
}

function answers(operation: Operation, headers: z.ZodRawShape): NonNullable<ZodOpenApiOperationObject['responses']> {
  return Object.fromEntries(
    Object.entries(operation.answers).map(([status, { description, schema }]) => [
      status as `2${string}`,
      {
        description,
        headers: z.object({ ...EVERY_ANSWER, ...headers }),
        content: { 'application/json': { schema, examples: examplesOf(operation.operationId, status) } },
      },
    ]),
  );
}

function examplesOf(operationId: string, part: string): Examples {
  return examples[operationId]?.[part] ?? {};
}

export function pathsOf(endpoints: readonly Endpoint<never, never>[]): ZodOpenApiPathsObject {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const endpoint of endpoints) (paths[endpoint.path] ??= {})[endpoint.method.toLowerCase()] = describe(endpoint);
  return paths;
}

function describe(endpoint: Endpoint<never, never>) {
  const { kind, docs } = endpoint;
  const described = describeCall(endpoint);
  // Callbacks have no samples, because processors send and sign them.
  if (kind === 'signed') return described;
  const [example] = Object.values(examplesOf(docs.operationId, 'request'));
  return { ...described, 'x-codeSamples': samplesOf(endpoint, example?.value) };
}

function describeCall({ kind, docs, scope, role, query, body, optionalBody, dryRun }: Endpoint<never, never>) {
  const operation = { ...docs, ...defined({ scope, role, query }) } as Operation;
  const sent = body === undefined ? {} : { body: { schema: body, required: optionalBody !== true } };
  const described = {
    reading: () => reading(operation),
    keyed: () => keyed({ ...operation, ...sent, dryRuns: dryRun !== undefined } as KeyedOperation),
    setting: () => setting({ ...operation, ...sent } as Parameters<typeof setting>[0]),
    signed: () => signed(operation as Operation & SignedDocs),
  };
  return described[kind]();
}
