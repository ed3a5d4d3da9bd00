import * as z from 'zod';
import type { Cause, EventCause, KeyId, OperatorCause, RequestCause } from '../../kernel/cause.ts';
import { itemSchema } from '../../kernel/platform/items.ts';

export const causeItem = () =>
  z.discriminatedUnion('by', [
    itemSchema<RequestCause>()({
      by: z.literal('request'),
      requestId: z.string(),
      keyId: z.string().transform((id) => id as KeyId),
    }),
    itemSchema<OperatorCause>()({
      by: z.literal('operator'),
      operator: z.string(),
      identity: z.string(),
      requestId: z.string(),
    }),
    itemSchema<Extract<Cause, { by: 'callback' }>>()({ by: z.literal('callback'), eventId: z.string() }),
    itemSchema<EventCause>()({ by: z.literal('event'), eventId: z.string(), sender: z.string() }),
    itemSchema<Extract<Cause, { by: 'run' }>>()({ by: z.literal('run'), runId: z.string() }),
  ]);
