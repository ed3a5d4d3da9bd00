import * as z from 'zod';
import { KEY_ID } from '../../kernel/cause.ts';
import { ROLES } from '../../kernel/contract/api.ts';
import { unixSeconds } from '../../payments/http/payment-objects.ts';
import { LIMIT_KINDS } from '../../tenants/limits.ts';

export const key = z
  .looseObject({
    id: z.string().regex(KEY_ID).meta({ example: 'key_k3jx5aqhz4m2nrb7' }),
    object: z.literal('key'),
    name: z.string().meta({ description: 'The purpose of a tenant’s key, or the name of the operator.' }),
    role: z.enum(ROLES).nullable().meta({ description: 'Null for the key of a tenant.' }),
    tenant: z.string().nullable().meta({ description: 'Null for the key of an operator.' }),
    mode: z.enum(['test', 'live']).nullable(),
    scopes: z.array(z.string()),
    hint: z.string().meta({ description: 'The last four characters of the key.' }),
    created: unixSeconds,
    last_used: z.string().nullable().meta({ description: 'The day of the last use, in UTC.', example: '2026-03-01' }),
    expires: unixSeconds.nullable(),
    revoked: unixSeconds.nullable(),
    rolled_to: z.string().nullable().meta({ description: 'The id of the key that replaced this one.' }),
  })
  .meta({ id: 'Key' });

export const keyPath = z.object({ id: key.shape.id.meta({ description: 'The id of the key.' }) });

export const keyWithSecret = key
  .extend({
    secret: z.string().nullable().meta({
      description: 'The key itself, in the first response only. It is not stored, so a repeated request gets null.',
    }),
  })
  .meta({ id: 'KeyWithSecret' });

export const keyList = z
  .looseObject({ object: z.literal('list'), data: z.array(key), has_more: z.boolean() })
  .meta({ id: 'KeyList' });

export const limit = z
  .looseObject({
    object: z.literal('limit'),
    tenant: z.string(),
    mode: z.enum(['test', 'live']),
    kind: z.enum(LIMIT_KINDS).meta({ description: 'The kind of request. Each kind has a separate limit.' }),
    rate: z.int().meta({ description: 'Requests per second.' }),
    burst: z.int().meta({ description: 'Maximum number of requests in a burst after a pause.' }),
    is_own: z
      .boolean()
      .meta({ description: 'Whether the tenant has a limit of its own. If not, the deployment’s limit applies.' }),
  })
  .meta({ id: 'Limit' });

export const limitList = z
  .looseObject({ object: z.literal('list'), data: z.array(limit), has_more: z.boolean() })
  .meta({ id: 'LimitList' });
