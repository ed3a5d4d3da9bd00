import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { MAX_CALLBACK_BYTES } from '../kernel/contract/limits.ts';
import captured from './examples.json' with { type: 'json' };
import { problemResponses, shown } from './responses.ts';

/** Its processor's affair; only what all of them have is named. */
const callback = z
  .looseObject({ id: z.string().meta({ description: 'The same for every delivery of one event.' }) })
  .meta({ id: 'Callback' });

export const received = z.looseObject({ received: z.literal(true) }).meta({ id: 'Received' });

/** Where processors call back, described for the operator who configures a processor. */
export const callbackPath: ZodOpenApiPathsObject = {
  '/callbacks/{processor}': {
    post: {
      operationId: 'receiveCallback',
      summary: 'Take in a processor’s event',
      description:
        'For payment processors, which sign what they send; it takes no API key. An event may come twice, late and out of ' +
        'order: it takes effect once. It is acknowledged once it is stored; what is not answered 200 is to be sent again.',
      security: [],
      requestParams: {
        path: z.object({ processor: z.string().meta({ description: 'Its name.', example: 'sandbox' }) }),
      },
      requestBody: {
        required: true,
        description: `At most ${MAX_CALLBACK_BYTES} bytes of JSON, as the processor sends it, with its signature’s header.`,
        content: { 'application/json': { schema: callback, examples: captured.operations.receiveCallback.request } },
      },
      responses: {
        200: shown('It is stored, now or before.', received, captured.operations.receiveCallback[200]),
        ...problemResponses([
          'invalid_request',
          'invalid_signature',
          'forbidden',
          'not_found',
          'method_not_allowed',
          'body_too_large',
          'rate_limited',
          'internal_error',
          'processor_unavailable',
          'temporarily_unavailable',
          'timeout',
        ]),
      },
    },
  },
};
