import type * as z from 'zod';
import type { Role, Scope } from '../kernel/contract/api.ts';
import { MAX_CALLBACK_BYTES } from '../kernel/contract/limits.ts';
import type { Digest } from '../kernel/digest.ts';
import type { Caller } from '../tenants/authenticate.ts';
import type { Operator } from '../tenants/operators.ts';
import { type Call, type Handled, type RouteBy, refusal } from './authenticated-api.ts';
import { type JsonObject, readJsonObject, readOptionalJsonObject } from './json-body.ts';
import { type KeyedRequest, readBodyWithoutQuery, readDryRun, readKeyedRequest } from './keyed-request.ts';
import { type ProblemCode, problem } from './problems.ts';
import { emptyBody, emptyQuery, validateQuery } from './validate.ts';

export interface EndpointDocs {
  /** Id of the operation in the API description. It must never change, because clients are generated from it. */
  readonly operationId: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string;
  readonly path?: z.ZodObject;
  readonly answers: Readonly<Partial<Record<200 | 201 | 202, AnswerDocs>>>;
  /** Problem codes in addition to those of all endpoints of this kind. */
  readonly problems?: readonly ProblemCode[];
}

export type Tag =
  | 'Payments'
  | 'Refunds'
  | 'Disputes'
  | 'Orders'
  | 'Events'
  | 'Reports'
  | 'Exports'
  | 'Ledger'
  | 'Operators'
  | 'Jobs'
  | 'Webhooks'
  | 'Callbacks';

interface AnswerDocs {
  readonly description: string;
  readonly schema: z.ZodType;
}

type ExampleBodies = Readonly<Record<string, { readonly summary: string; readonly value: JsonObject }>>;

export interface BodyDocs extends EndpointDocs {
  /** Example bodies that refer to no other object. Tests capture all other examples from the handlers. @default none */
  readonly requests?: ExampleBodies;
}

export interface KeyedDocs extends BodyDocs {
  /**
   * Texts that document the idempotency key: what the key identifies, what a retry guarantees, and further sentences.
   */
  readonly key: readonly [object: string, promise: string, more?: string];
  /** Whether the response has a `Location`. @default false */
  readonly located?: boolean;
  /** Whether the endpoint calls a processor and accepts `Prefer: wait`. @default false */
  readonly waits?: boolean;
  /**
   * Whether a request can be refused with `idempotency_key_expired`, because its stored response has expired. @default
   * true
   */
  readonly expires?: boolean;
}

export interface SignedDocs extends EndpointDocs {
  /** Schema of the part of the body that is the same for all senders. `handle` itself validates the body. */
  readonly body: z.ZodType;
}

/**
 * The declaration of one endpoint. `handle` validates requests against it, and the API documentation is generated from
 * it. The bundler removes `docs` from the functions that serve endpoints, and `handle` from the function that serves
 * the documentation.
 */
export interface Endpoint<Tools, AnyCaller> extends RouteBy<Tools, AnyCaller> {
  readonly kind: 'reading' | 'keyed' | 'setting' | 'signed';
  readonly role?: Role;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly optionalBody?: boolean;
  readonly dryRun?: unknown;
  readonly docs: EndpointDocs | BodyDocs | KeyedDocs | SignedDocs;
}

/** If the endpoint has a role, operators can also call it for a tenant. */
export type TenantEndpoint<Tools> = Endpoint<Tools, Caller> & { readonly scope: Scope; readonly role?: Role };

export type OperatorEndpoint<Tools, AnyCaller = Operator> = Endpoint<Tools, AnyCaller> & { readonly role: Role };

type Access = { readonly scope: Scope; readonly role?: Role } | { readonly role: Role };

type Place<Tools, AnyCaller> = Pick<RouteBy<Tools, AnyCaller>, 'path' | 'asksProcessor'>;

export type ReadingCall<Tools, Query extends z.ZodObject = typeof emptyQuery, AnyCaller = Caller> = Call<
  Tools,
  AnyCaller
> & { readonly query: z.output<Query> };

export type KeyedCall<Tools, Body extends z.ZodType = typeof emptyBody, AnyCaller = Caller> = Call<Tools, AnyCaller> &
  KeyedRequest<z.output<Body>>;

export type SettingCall<Tools, Body extends z.ZodType, AnyCaller = Caller> = Call<Tools, AnyCaller> & {
  readonly body: z.output<Body>;
};

/** The signature has not been verified yet. */
export type SignedCall<Tools, AnyCaller> = Pick<
  Call<Tools, AnyCaller>,
  'tools' | 'request' | 'caller' | 'logFields'
> & {
  readonly body: Uint8Array;
};

export function reading<Tools, AnyCaller, Rights extends Access, Query extends z.ZodObject = typeof emptyQuery>(
  declared: Rights &
    Place<Tools, AnyCaller> & {
      /** @default no parameters */
      readonly query?: Query;
      readonly handle: (call: ReadingCall<Tools, Query, AnyCaller>) => Promise<Handled>;
      readonly docs: EndpointDocs;
    },
) {
  const schema = (declared.query ?? emptyQuery) as unknown as z.ZodType<z.output<Query>>;
  const handle = async (call: Call<Tools, AnyCaller>): Promise<Handled> => {
    const query = validateQuery(schema, call.request.query);
    if (query.kind === 'refused') return refusal(query.problem, call.request);
    return declared.handle({ ...call, query: query.value });
  };
  return { ...declared, method: 'GET', kind: 'reading', handle } as const;
}

export function keyed<
  Tools extends { readonly digest: Digest },
  AnyCaller,
  Rights extends Access,
  Body extends z.ZodType = typeof emptyBody,
>(
  declared: Rights &
    Place<Tools, AnyCaller> & {
      /** @default POST */
      readonly method?: 'DELETE';
      /** @default no body */
      readonly body?: Body;
      /** Whether an absent body is treated as an empty object. @default true if there is no `body`, otherwise false */
      readonly optionalBody?: boolean;
      /**
       * Personal fields that the fingerprint must not cover, because the fingerprint is stored permanently. @default
       * none
       */
      readonly notInFingerprint?: readonly string[];
      /** Handles a request with `"dry_run": true`, which needs no key. @default the endpoint has no dry runs */
      readonly dryRun?: (call: SettingCall<Tools, Body, AnyCaller>) => Promise<Handled>;
      readonly handle: (call: KeyedCall<Tools, Body, AnyCaller>) => Promise<Handled>;
      readonly docs: KeyedDocs;
    },
) {
  const { method = 'POST', body: sent, optionalBody = sent === undefined, notInFingerprint = [], dryRun } = declared;
  const schema = (sent ?? emptyBody) as z.ZodType<z.output<Body>>;
  const handle = async (call: Call<Tools, AnyCaller>): Promise<Handled> => {
    const { request, tools } = call;
    const dry = dryRun === undefined ? undefined : readDryRun(request, schema);
    if (dry?.kind === 'refused') return refusal(dry.problem, request);
    if (dry !== undefined && dryRun !== undefined) return dryRun({ ...call, body: dry.value });
    const readBody = optionalBody ? readOptionalJsonObject : readJsonObject;
    const read = readKeyedRequest(tools.digest, request, schema, readBody, notInFingerprint);
    return read.kind === 'refused' ? refusal(read.problem, request) : declared.handle({ ...call, ...read.value });
  };
  return { ...declared, method, optionalBody, kind: 'keyed', handle } as const;
}

/** Repeating a request has no further effect, so it needs no key. */
export function setting<Tools, AnyCaller, Rights extends Access, Body extends z.ZodType>(
  declared: Rights &
    Place<Tools, AnyCaller> & {
      /** @default PATCH */
      readonly method?: 'POST';
      readonly body: Body;
      /** Whether an absent body is treated as an empty object. @default false */
      readonly optionalBody?: boolean;
      readonly handle: (call: SettingCall<Tools, Body, AnyCaller>) => Promise<Handled>;
      readonly docs: BodyDocs;
    },
) {
  const { method = 'PATCH', optionalBody = false } = declared;
  const schema = declared.body as z.ZodType<z.output<Body>>;
  const handle = async (call: Call<Tools, AnyCaller>): Promise<Handled> => {
    const { request } = call;
    const read = readBodyWithoutQuery(request, schema, optionalBody ? readOptionalJsonObject : readJsonObject);
    if (read.kind === 'refused') return refusal(read.problem, request);
    return declared.handle({ ...call, body: read.value.body });
  };
  return { ...declared, method, kind: 'setting', handle } as const;
}

/** The sender of a callback signs the raw body, so `handle` verifies the signature before it parses the body. */
export function signed<Tools, AnyCaller>(declared: {
  readonly path: string;
  readonly handle: (call: SignedCall<Tools, AnyCaller>) => Promise<Handled>;
  readonly docs: SignedDocs;
}) {
  const handle = async (call: Omit<SignedCall<Tools, AnyCaller>, 'body'>): Promise<Handled> => {
    const { body: sent, isBase64Encoded } = call.request;
    const body = Buffer.from(sent, isBase64Encoded ? 'base64' : 'utf8');
    if (body.length <= MAX_CALLBACK_BYTES) return declared.handle({ ...call, body });
    return refusal(problem('body_too_large', `A callback must be at most ${MAX_CALLBACK_BYTES} bytes.`), call.request);
  };
  return { ...declared, method: 'POST', kind: 'signed', handle } as const;
}
