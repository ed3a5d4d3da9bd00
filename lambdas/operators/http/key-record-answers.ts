import * as z from 'zod';
import { KEY_STATES } from '../use/read-key-record.ts';

const moment = z.iso.datetime().meta({ description: 'RFC 3339, with milliseconds.' });

export const keyRecord = z
  .looseObject({
    object: z.literal('idempotency_record'),
    operation: z.string().meta({
      description:
        'The id of the operation that the key identifies. For a payment or its change, this id is also the idempotency key at the processor.',
    }),
    payment: z.string().nullable(),
    state: z.enum(KEY_STATES).meta({
      description:
        '`in_progress`: the owner is working on the operation. `lease_ended`: the owner did not complete it in time; the next request, or the job `resolve`, takes it over. ' +
        '`released`: the owner had sent nothing and released its claim. `completed`: a repeated request gets the stored response. ' +
        '`expired`: a repeated request is refused with `idempotency_key_expired`, and has no second effect.',
    }),
    owner: z.string().nullable().meta({ description: 'The attempt that claimed or completed the operation.' }),
    earlier_owners: z.array(z.looseObject({ owner: z.string(), until: moment, was_released: z.boolean() })),
    calls: z
      .array(z.looseObject({ call: z.enum(['send', 'look']), result: z.string(), at: moment, duration_ms: z.int() }))
      .meta({ description: 'The calls to the processor by the owner that completed the operation.' }),
    fingerprint: z
      .looseObject({ version: z.int(), sha256: z.string().regex(/^[0-9a-f]{64}$/) })
      .nullable()
      .meta({
        description:
          'The fingerprint of the request’s body and query. A different request with the same key is refused.',
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
        description: 'The stored response, without the personal data that a replay adds. Viewers get only the status.',
      }),
    expires: moment
      .nullable()
      .meta({ description: 'Null while the record is open, and for a record that never expires.' }),
  })
  .meta({ id: 'IdempotencyRecord' });
