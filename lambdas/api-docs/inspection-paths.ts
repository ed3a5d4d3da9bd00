import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { keyRecordQuery } from '../operators/http/key-record-routes.ts';
import { searchQuery } from '../operators/http/payment-search.ts';
import { KEY_STATES } from '../operators/use/read-key-record.ts';
import { LAGS, paymentList } from './list-schemas.ts';
import { reading } from './operations.ts';

/** Look-ups by operators. */

const moment = z.iso.datetime().meta({ description: 'RFC 3339, with milliseconds.' });

export const keyRecord = z
  .looseObject({
    object: z.literal('idempotency_record'),
    operation: z
      .string()
      .meta({ description: 'The operation that the key names. It is also its key at the processor.' }),
    payment: z.string().nullable(),
    state: z.enum(KEY_STATES).meta({
      description:
        '`in_progress`: its owner works on it. `lease_ended`: its owner did not complete it in time; the next request, or the job `resolve`, takes it over. ' +
        '`released`: its owner released it, because it had sent nothing. `completed`: a repeated request gets the stored answer. ' +
        '`expired`: a repeated request is refused with `idempotency_key_expired`, and has no second effect.',
    }),
    owner: z.string().nullable().meta({ description: 'The attempt that holds or completed it.' }),
    earlier_owners: z.array(z.looseObject({ owner: z.string(), until: moment, was_released: z.boolean() })),
    calls: z
      .array(z.looseObject({ call: z.enum(['send', 'look']), result: z.string(), at: moment, duration_ms: z.int() }))
      .meta({ description: 'The calls to the processor by the owner that completed it.' }),
    fingerprint: z
      .looseObject({ version: z.int(), sha256: z.string().regex(/^[0-9a-f]{64}$/) })
      .nullable()
      .meta({
        description:
          'The fingerprint of the body and the query of the request. Another request under the key is refused.',
      }),
    claimed: moment.nullable(),
    changed: moment.nullable().meta({ description: 'Time of the latest claim, takeover, release or completion.' }),
    lease_until: moment.nullable(),
    answer: z
      .looseObject({
        status: z.int(),
        headers: z.record(z.string(), z.string()).nullable(),
        body: z.string().nullable(),
      })
      .nullable()
      .meta({
        description:
          'The stored answer, without personal data, which is read again for each repetition. Viewers get only the status.',
      }),
    expires: moment.nullable().meta({ description: 'Null while it is open, and for a record that never expires.' }),
  })
  .meta({ id: 'IdempotencyRecord' });

const OPERATION_ID = /^(?:pay|ord|cor|dec|ann|cb)_[a-z2-7]{32}$|^(?:cap|can|ref|rtn)_[a-z2-7]{58}$/;
const role = 'viewer';

export const inspectionPaths: ZodOpenApiPathsObject = {
  '/v1/admin/payments': {
    get: reading({
      operationId: 'searchPayments',
      summary: 'Search the payments of a tenant',
      description: `Newest first. A page examines at most 1,000 payments; it can then be short, and \`next_cursor\` continues. Viewers get \`description\` and \`metadata\` empty. ${LAGS}`,
      role,
      query: searchQuery,
      answers: { 200: { description: 'A page of payments.', schema: paymentList } },
    }),
  },
  '/v1/admin/idempotency_keys': {
    get: reading({
      operationId: 'findIdempotencyRecord',
      summary: 'Inspect an idempotency key',
      description:
        'The record of a key of any tenant, or of an operator. The key is not stored: its operation is derived again from key, path and owner. A strongly consistent read.',
      role,
      query: keyRecordQuery,
      answers: { 200: { description: 'The record.', schema: keyRecord } },
    }),
  },
  '/v1/admin/idempotency_keys/{id}': {
    get: reading({
      operationId: 'getIdempotencyRecord',
      summary: 'Inspect an operation',
      description: 'The record of an operation by its id, as a timeline shows it. A strongly consistent read.',
      role,
      path: z.object({
        id: z.string().regex(OPERATION_ID).meta({
          description:
            'The id of a payment, capture, cancellation, refund, order, correction, decision, annotation or callback.',
          example: 'pay_3sn5pwrcn64iekkszfiknf37ovvhkpxg',
        }),
      }),
      answers: { 200: { description: 'The record.', schema: keyRecord } },
    }),
  },
};
