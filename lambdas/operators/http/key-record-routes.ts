import * as z from 'zod';
import { type Call as CallBy, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { type OperatorEndpoint, type ReadingCall, reading } from '../../http/endpoint.ts';
import { problem } from '../../http/problems.ts';
import { freeText } from '../../http/validate.ts';
import { includesRole } from '../../kernel/contract/api.ts';
import { hex } from '../../kernel/hash-chain.ts';
import { parseIdempotencyKey } from '../../kernel/idempotency-key.ts';
import { tenantId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Operator } from '../../tenants/operators.ts';
import {
  KEYED_PATH,
  type KeyOwner,
  type KeyRecord,
  type KeyRecordTools,
  operationsOfKey,
  ownerKindOf,
  readKeyRecord,
} from '../use/read-key-record.ts';
import { keyRecord } from './key-record-answers.ts';
import { TENANT_ID } from './ledger-schemas.ts';

interface Tools {
  readonly timeline: KeyRecordTools;
  readonly clock: { nowMs(): number };
}

type Call = CallBy<Tools, Operator>;

/** An idempotency key, bare or as a quoted string. */
const KEY = /^(?:[!#-~][!-~]{0,127}|"(?:[!#-[\]-~]|\\["\\]){1,128}")$/;

const PATHS =
  'must be /v1/payments, /v1/orders, /v1/admin/corrections, /v1/payments/{id}/(capture|cancel|refunds) or /v1/admin/payments/{id}/(resolve|annotations|capture|cancel|refunds), where {id} is the id of the payment';

const keyRecordQuery = z
  .strictObject({
    key: z
      .string('must be an Idempotency-Key')
      .regex(KEY, 'must be 1 to 128 visible ASCII characters, with or without quotation marks')
      .meta({ description: 'The value of the `Idempotency-Key` header, as it was sent.', example: 'order-1234' }),
    path: z.string('must be a path').regex(KEYED_PATH, PATHS).meta({
      description: 'The path of the `POST` request, including its ids.',
      example: '/v1/payments',
    }),
    tenant: z.string().regex(TENANT_ID, 'must be the id of a tenant').optional().meta({
      description: 'The tenant that owns the key. Required for the paths of tenants, and not allowed for others.',
      example: 'ten_desk',
    }),
    mode: z.enum(['test', 'live'], 'must be test or live').optional().meta({
      description: 'For the paths of tenants: the mode of the API key that sent the request. Default: `live`.',
    }),
    operator: freeText(200, 1).optional().meta({
      description:
        'The owner of the key: the name of the operator, or the subject at the identity provider. Required for the paths of operators, and not allowed for others.',
    }),
  })
  .superRefine(({ path, tenant, mode, operator }, context) => {
    const refuse = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
    if (ownerKindOf(path) === 'tenant') {
      if (tenant === undefined) refuse('tenant', 'is required for this path');
      if (operator !== undefined) refuse('operator', 'is not allowed for a tenant path');
    } else {
      if (operator === undefined) refuse('operator', 'is required for this path');
      if (tenant !== undefined) refuse('tenant', 'is not allowed for an operator path (/v1/admin/…)');
      if (mode !== undefined) refuse('mode', 'is not allowed for an operator path (/v1/admin/…)');
    }
  });

const getRecordOfKey = reading({
  path: '/v1/admin/idempotency_keys',
  role: 'viewer',
  query: keyRecordQuery,
  handle: findRecord,
  docs: {
    operationId: 'findIdempotencyRecord',
    tag: 'Operators',
    summary: 'Inspect an idempotency key',
    description:
      'Retrieves the record of a tenant’s or operator’s key. Payonce does not store keys: it derives the operation from the key, the path and the owner. The read is strongly consistent.',
    answers: { 200: { description: 'The record.', schema: keyRecord } },
  },
});

async function findRecord(call: ReadingCall<Tools, typeof keyRecordQuery, Operator>): Promise<Handled> {
  const { key, path, tenant, mode = 'live', operator = '' } = call.query;
  const owner: KeyOwner =
    tenant === undefined
      ? { kind: 'operator', person: operator }
      : { kind: 'tenant', tenantId: tenantId(tenant), mode };
  const parsed = parseIdempotencyKey([key]);
  invariant(parsed.kind === 'key', 'the query schema admitted a malformed key');
  return shown(call, ...operationsOfKey(call.tools.timeline.digest, owner, { path, key: parsed.key }));
}

const getRecord = reading({
  path: '/v1/admin/idempotency_keys/{id}',
  role: 'viewer',
  handle: (call: Call) => shown(call, call.id),
  docs: {
    operationId: 'getIdempotencyRecord',
    tag: 'Operators',
    summary: 'Inspect an operation',
    description:
      'Retrieves the record of an operation by the id that the timeline shows. The read is strongly consistent.',
    path: z.object({
      id: z
        .string()
        .regex(/^(?:pay|ord|cor|dec|ann|cb|chr)_[a-z2-7]{32}$|^(?:cap|can|ref|rtn)_[a-z2-7]{58}$/)
        .meta({
          description:
            'The id of a payment, capture, cancellation, refund, order, correction, decision, annotation, callback, or change that waits for a second person.',
          example: 'pay_3sn5pwrcn64iekkszfiknf37ovvhkpxg',
        }),
    }),
    answers: { 200: { description: 'The record.', schema: keyRecord } },
  },
});

export const KEY_RECORD_ROUTES: readonly OperatorEndpoint<Tools>[] = [getRecordOfKey, getRecord];

async function shown({ tools, request, caller }: Call, ...ids: readonly string[]): Promise<Handled> {
  const records = await Promise.all(ids.map((id) => readKeyRecord(tools.timeline, id, tools.clock.nowMs())));
  const record = records.find((each) => each !== undefined);
  if (record === undefined) {
    const detail = 'There is no such record: the key was not used at this path, or its record was deleted.';
    return refusal(problem('not_found', detail), request);
  }
  return found(recordObject(record, includesRole(caller.role, 'operator')));
}

/**
 * @param showsBody false for viewers. They get only the status of the stored response, because its body can contain
 * text from a merchant or a processor
 */
function recordObject(record: KeyRecord, showsBody: boolean): Record<string, unknown> {
  const { operationId, state, paymentId, owner, earlier = [], calls = [], fingerprint, answer } = record;
  const { claimedAtMs, changedAtMs, leaseExpiresAtMs, expiresAtSeconds } = record;
  return {
    object: 'idempotency_record',
    operation: operationId,
    payment: paymentId ?? null,
    state,
    owner: owner ?? null,
    earlier_owners: earlier.map((each) => ({
      owner: each.owner,
      until: time(each.untilMs),
      was_released: each.released ?? false,
    })),
    calls: calls.map(({ do: call, result, atMs, tookMs }) => ({ call, result, at: time(atMs), duration_ms: tookMs })),
    fingerprint: fingerprint === undefined ? null : { version: fingerprint.version, sha256: hex(fingerprint.sha256) },
    claimed: time(claimedAtMs),
    changed: time(changedAtMs),
    lease_until: time(leaseExpiresAtMs),
    answer:
      answer === undefined
        ? null
        : { status: answer.status, headers: showsBody ? answer.headers : null, body: showsBody ? answer.body : null },
    expires: expiresAtSeconds === undefined ? null : time(expiresAtSeconds * 1000),
  };
}

function time(atMs: number | undefined): string | null {
  return atMs === undefined ? null : new Date(atMs).toISOString();
}
