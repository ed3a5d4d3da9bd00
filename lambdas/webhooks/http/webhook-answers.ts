import * as z from 'zod';
import { REPLAY_ID } from '../domain/webhook-replay.ts';

/* Response schemas of the webhook API, for the API documentation. */

const unixSeconds = z.int().meta({ description: 'Unix time in seconds.', example: 1_772_366_400 });

const endpointFields = {
  id: z
    .string()
    .regex(/^we_[a-z2-7]{32}$/)
    .meta({ example: 'we_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp' }),
  object: z.literal('webhook_endpoint'),
  url: z.string(),
  events: z.array(z.string()),
  description: z.string().nullable(),
  enabled: z.boolean(),
  disabled: z
    .looseObject({ reason: z.enum(['requested', 'gone', 'failing']), at: unixSeconds })
    .nullable()
    .meta({
      description:
        'Why nothing is sent: `requested`; `gone` (the endpoint responded with 410); or `failing` (for three days). `null`: the endpoint is enabled.',
    }),
  failing_since: unixSeconds.nullable().meta({
    description:
      'The time since which the endpoint has accepted nothing. Set after three failed attempts for one event; null again after the next 2xx.',
  }),
  previous_secret_expires: unixSeconds
    .nullable()
    .meta({ description: 'The time until which the previous secret also signs.' }),
  created: unixSeconds,
  livemode: z.boolean(),
};

export const webhookEndpoint = z.looseObject(endpointFields).meta({ id: 'WebhookEndpoint' });

export const webhookEndpointWithSecret = z
  .looseObject({
    ...endpointFields,
    secret: z
      .string()
      .startsWith('whsec_')
      .meta({ description: 'The secret in the format of Standard Webhooks: `whsec_`, followed by base64.' }),
  })
  .meta({ id: 'WebhookEndpointWithSecret' });

export const webhookEndpointList = z
  .looseObject({ object: z.literal('list'), data: z.array(webhookEndpoint), has_more: z.boolean() })
  .meta({ id: 'WebhookEndpointList' });

export const deletedEndpoint = z
  .looseObject({ id: z.string(), object: z.literal('webhook_endpoint'), deleted: z.literal(true) })
  .meta({ id: 'DeletedWebhookEndpoint' });

export const webhookDelivery = z
  .looseObject({
    id: z
      .string()
      .regex(/^dlv_\d{13}[a-z2-7]{32}$/)
      .meta({ example: 'dlv_1772366400000m2nrb7vwy6t5ocdeflguspk3jx5aqhz4' }),
    object: z.literal('webhook_delivery'),
    endpoint: z.string(),
    event: z.string(),
    type: z.string(),
    status: z
      .enum(['pending', 'delivered', 'failed', 'canceled'])
      .meta({ description: '`canceled`: the endpoint was disabled or deleted before the delivery succeeded.' }),
    attempts: z.array(
      z.looseObject({
        at: unixSeconds,
        duration_ms: z.int(),
        status: z.int().nullable(),
        error: z.string().nullable().meta({ description: 'Why there was no response, for example `timeout`.' }),
      }),
    ),
    last_answer: z.string().nullable().meta({ description: 'The beginning of the latest response.' }),
    next_attempt: unixSeconds.nullable(),
    delivered: unixSeconds.nullable(),
    created: unixSeconds,
  })
  .meta({ id: 'WebhookDelivery' });

export const webhookDeliveryList = z
  .looseObject({ object: z.literal('list'), data: z.array(webhookDelivery), has_more: z.boolean() })
  .meta({ id: 'WebhookDeliveryList' });

export const webhookReplay = z
  .looseObject({
    id: z.string().regex(REPLAY_ID),
    object: z.literal('webhook_replay'),
    endpoint: z.string(),
    created_from: unixSeconds,
    created_to: unixSeconds,
    events: z.array(z.string()),
    only_undelivered: z.boolean(),
    status: z.enum(['running', 'completed', 'canceled']),
    created: unixSeconds,
  })
  .meta({ id: 'WebhookReplay' });
