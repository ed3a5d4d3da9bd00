import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { MAX_CALLBACK_BYTES } from '../kernel/contract/limits.ts';
import { shown } from './operations.ts';
import { problemResponses, requestId } from './responses.ts';

/** Each processor has its own form. Only the common part is described. */
const callback = z
  .looseObject({ id: z.string().meta({ description: 'The same for every delivery of an event.' }) })
  .meta({ id: 'Callback' });

export const received = z.looseObject({ received: z.literal(true) }).meta({ id: 'Received' });

/** The address for events of processors, for the operator who configures a processor. */
export const callbackPath: ZodOpenApiPathsObject = {
  '/callbacks/{processor}/{mode}': {
    post: {
      operationId: 'receiveCallback',
      tags: ['Callbacks'],
      summary: 'Receive an event of a processor',
      description:
        'For payment processors, which sign their requests; no API key is needed. An event can arrive twice, late and out of order; it ' +
        'takes effect once. It is acknowledged after it is stored. The processor must repeat a request that is not answered with 200.',
      security: [],
      requestParams: {
        path: z.object({
          processor: z.string().meta({ description: 'The name of the processor.', example: 'sandbox' }),
          mode: z
            .enum(['test', 'live'])
            .meta({ description: 'The mode of its events. Each mode has its own signing secret.' }),
        }),
      },
      requestBody: {
        required: true,
        description: `At most ${MAX_CALLBACK_BYTES} bytes of JSON in the processor’s form, with the header of its signature.`,
        content: { 'application/json': { schema: callback, examples: shown('receiveCallback', 'request') } },
      },
      responses: {
        200: {
          description: 'The event is stored, by this or an earlier delivery.',
          headers: z.object({ 'Request-Id': requestId }),
          content: { 'application/json': { schema: received, examples: shown('receiveCallback', '200') } },
        },
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
