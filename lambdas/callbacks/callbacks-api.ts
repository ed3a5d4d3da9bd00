import * as z from 'zod';
import {
  answering,
  type Handled,
  type Handler,
  type LogFields,
  matchPath,
  refusal,
} from '../http/authenticated-api.ts';
import { type SignedCall, signed } from '../http/endpoint.ts';
import { jsonAnswer } from '../http/http-answer.ts';
import { problem } from '../http/problems.ts';
import type { ActiveSecrets } from '../kernel/platform/active-secrets.ts';
import type { Telemetry } from '../kernel/platform/telemetry.ts';
import type { ConfiguredSource } from '../processors/configured-processors.ts';
import { verifyCallback } from '../processors/signatures/verify-callback.ts';
import { type CallbackOutcome, type ReceiveCallbackTools, receiveCallback } from './receive-callback.ts';

export interface CallbacksApiTools extends Omit<ReceiveCallbackTools, 'books'> {
  readonly sources: readonly ConfiguredSource[];
  readonly secrets: Pick<ActiveSecrets, 'active' | 'renewed'>;
  readonly telemetry: Telemetry;
}

export const postCallback = signed({
  path: '/callbacks/{processor}/{mode}',
  handle: async (call: SignedCall<CallbacksApiTools, ConfiguredSource>) => {
    const { tools, request, caller, body, logFields } = call;
    const refused = await refuseUnsigned(call);
    if (refused !== undefined) return refused;
    const read = caller.readEvent(body);
    if (read.kind === 'ignored') return acknowledgement('ignored', []);
    if (read.kind === 'unreadable') return refusal(problem('invalid_request', read.detail, read.param), request);
    const outcome = await receiveCallback({ ...tools, alarm: logFields.alarm, books: caller.books }, read.event);
    return acknowledgement(outcome.kind, counted(outcome, logFields));
  },
  docs: {
    operationId: 'receiveCallback',
    tag: 'Callbacks',
    summary: 'Receive an event from a processor',
    description:
      'For payment processors, which sign their requests; no API key is needed. An event can arrive more than once, late, or out of order; it ' +
      'takes effect once. It is acknowledged after it is stored, or if its type is not needed. The processor must repeat a request until the response is 200.',
    path: z.object({
      processor: z.string().meta({ description: 'The name of the processor.', example: 'sandbox' }),
      mode: z
        .enum(['test', 'live'])
        .meta({ description: 'The mode of the events. Each mode has its own signing secret.' }),
    }),
    body: z
      .looseObject({ id: z.string().meta({ description: 'The same for every delivery of an event.' }) })
      .meta({ id: 'Callback' }),
    answers: {
      200: {
        description: 'The event is stored, by this or an earlier delivery, or its type is not needed.',
        schema: z.looseObject({ received: z.literal(true) }).meta({ id: 'Received' }),
      },
    },
    problems: ['invalid_request', 'processor_unavailable'],
  },
});

/**
 * Nothing is parsed before its signature is verified. An event is acknowledged only after it is stored, or if its type
 * is not needed. If a step fails, the processor gets an error and delivers the callback again.
 */
export function callbacksApi(tools: CallbacksApiTools): Handler {
  const { path, method, handle } = postCallback;
  return answering(tools, path, async (request, _receivedAtMs, logFields) => {
    const { processor, mode } = matchPath(path, request.path) ?? {};
    const caller = tools.sources.find((each) => each.name === processor && each.mode === mode);
    if (caller === undefined)
      return refusal(problem('not_found', 'This deployment does not call this processor in this mode.'), request);
    if (request.method === method) return handle({ tools, request, caller, logFields });
    const refused = problem('method_not_allowed', `This path accepts ${method} only.`);
    return refusal(refused, request, { headers: { allow: method } });
  });
}

async function refuseUnsigned(call: SignedCall<CallbacksApiTools, ConfiguredSource>): Promise<Handled | undefined> {
  const { tools, request, caller, body } = call;
  const { secrets, clock } = tools;
  const signedBody = { body, header: request.header };
  const verdict = await verifyCallback({ scheme: caller.signature, secrets, clock }, caller, signedBody);
  if (verdict.kind === 'valid') return undefined;
  if (verdict.reason === 'repeated')
    return refusal(problem('invalid_request', 'The signature header must occur exactly once.'), request);
  // Every other failure gets the same response, which does not reveal the reason.
  const refused = problem(
    'invalid_signature',
    'The signature is invalid, or its time differs from the current time by more than 300 seconds.',
  );
  return { ...refusal(refused, request), counts: ['callback_refused'] };
}

function acknowledgement(outcome: string, counts: Handled['counts']): Handled {
  return { answer: jsonAnswer({ received: true }), outcome, counts };
}

function counted(outcome: CallbackOutcome, logFields: LogFields): Handled['counts'] {
  switch (outcome.kind) {
    case 'redelivered':
      return ['callback_redelivered'];
    case 'orphaned':
      logFields.because = [outcome.reason];
      return ['callback_orphaned'];
    case 'recorded':
      logFields.paymentId = outcome.paymentId;
      if (outcome.contradictions.length > 0) logFields.because = outcome.contradictions;
      return ['callback_recorded'];
  }
}
