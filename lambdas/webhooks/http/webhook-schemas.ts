import * as z from 'zod';
import { pageLimit } from '../../http/lists.ts';
import { described, freeText, unixSecond } from '../../http/validate.ts';
import { DELIVERY_ID } from '../domain/webhook-delivery.ts';
import { WEBHOOK_EVENT_TYPES } from '../domain/webhook-endpoint.ts';

/* The API documentation is generated from these schemas. */

const LONGEST_URL = 2_048;
/** A week is enough to deploy a new secret, and limits the time for which a leaked one is valid. */
const MAX_OVERLAP_SECONDS = 7 * 24 * 60 * 60;
export const DEFAULT_OVERLAP_SECONDS = 24 * 60 * 60;

const url = freeText(LONGEST_URL, 1).meta({
  description: 'The URL to which events are posted: a public https address with port 443, or a port of 1024 or higher.',
  format: 'uri',
  example: 'https://shop.example.com/hooks',
});

const events = z
  .array(
    z.enum(['*', ...WEBHOOK_EVENT_TYPES], `must be * or one of ${WEBHOOK_EVENT_TYPES.join(', ')}`),
    'must be an array of event types',
  )
  .min(1, 'must have at least one event type')
  .max(WEBHOOK_EVENT_TYPES.length, `must have at most ${WEBHOOK_EVENT_TYPES.length} event types`)
  .refine((types) => new Set(types).size === types.length, 'must not contain an event type twice')
  .refine((types) => !types.includes('*') || types.length === 1, 'must contain either only *, or event types without *')
  .meta({
    description: 'The event types to send. `["*"]`: all types, including types that are added later.',
    example: ['*'],
    ...described({
      oneOf: [
        { type: 'array', items: { const: '*', type: 'string' }, minItems: 1, maxItems: 1 },
        {
          type: 'array',
          items: { type: 'string', enum: WEBHOOK_EVENT_TYPES },
          minItems: 1,
          uniqueItems: true,
        },
      ],
    }),
  });

const description = freeText(500).meta({ description: 'Free text, stored unchanged.', example: 'Order system' });

/** If several fields are invalid, the first one in this order is reported. */
export const createEndpointBody = z
  .strictObject({ url, events, description: description.optional() })
  .meta({ id: 'CreateWebhookEndpoint' });

export const updateEndpointBody = z
  .strictObject({
    url: url.optional(),
    events: events.optional(),
    description: description.nullable().optional(),
    enabled: z.boolean('must be true or false').optional().meta({
      description:
        '`false` stops all deliveries. `true` resumes them for new events. A replay can send the events in between.',
    }),
  })
  .meta({ id: 'UpdateWebhookEndpoint' });

export const rotateSecretBody = z
  .strictObject({
    overlap_seconds: z
      .int('must be a JSON integer, in seconds')
      .min(0, 'must be at least 0')
      .max(MAX_OVERLAP_SECONDS, `must be at most ${MAX_OVERLAP_SECONDS}`)
      .optional()
      .meta({
        description: `Time for which the previous secret continues to sign in addition to the new one, in seconds. Default: ${DEFAULT_OVERLAP_SECONDS}.`,
        example: 3_600,
      }),
  })
  .meta({ id: 'RotateWebhookSecret' });

export const replayBody = z
  .strictObject({
    created_from: unixSecond.meta({
      description: 'Start of the time range (inclusive), in Unix seconds.',
      example: 1_772_366_400,
    }),
    created_to: unixSecond.meta({
      description: 'End of the time range (exclusive), in Unix seconds, at most 31 days after `created_from`.',
      example: 1_772_452_800,
    }),
    events: events
      .optional()
      .meta({ description: 'The event types to send again. Default: all types that the endpoint subscribes to.' }),
    only_undelivered: z.boolean('must be true or false').optional().meta({
      description:
        'True sends only the events that the endpoint has never answered with 2xx. The range must then begin within the last 90 days. Default: false.',
    }),
  })
  .meta({ id: 'ReplayWebhooks' });

export const deliveriesQuery = z.strictObject({
  limit: pageLimit('deliveries'),
  starting_after: z
    .string()
    .regex(DELIVERY_ID, 'must be the id of a delivery')
    .optional()
    .meta({ description: 'The `id` of the last delivery of the previous page.' }),
});
