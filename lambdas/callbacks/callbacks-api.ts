import { answering, type Handled, type LogFields, refusal as problemHandled } from '../http/authenticated-api.ts';
import type { GatewayEvent, GatewayRequest, GatewayResult } from '../http/gateway-request.ts';
import { jsonAnswer } from '../http/http-answer.ts';
import { problem } from '../http/problems.ts';
import type { Problem } from '../kernel/answer.ts';
import { MAX_CALLBACK_BYTES } from '../kernel/contract/limits.ts';
import type { ActiveSecrets } from '../kernel/platform/active-secrets.ts';
import type { Telemetry } from '../kernel/platform/telemetry.ts';
import type { ConfiguredSource } from '../processors/configured-processors.ts';
import type { SignedCallback } from '../processors/signatures/signature.ts';
import { verifyCallback } from '../processors/signatures/verify-callback.ts';
import { type CallbackOutcome, type ReceiveCallbackTools, receiveCallback } from './receive-callback.ts';

export interface CallbacksApiTools extends Omit<ReceiveCallbackTools, 'books'> {
  readonly sources: readonly ConfiguredSource[];
  readonly secrets: Pick<ActiveSecrets, 'active' | 'renewed'>;
  readonly telemetry: Telemetry;
}

const ROUTE = '/callbacks/{processor}/{mode}';

/**
 * Creates the handler of the endpoint for processors' callbacks. The handler checks the route, the size, the signature
 * and the event, in this order. Nothing is parsed before its signature is verified, and nothing is acknowledged before
 * it is stored. If a step fails, the processor gets an error and delivers the callback again.
 */
export function callbacksApi(tools: CallbacksApiTools): (event: GatewayEvent) => Promise<GatewayResult> {
  return answering(tools, ROUTE, (request, _receivedAtMs, logFields) =>
    handle({ ...tools, alarm: logFields.alarm }, request, logFields),
  );
}

async function handle(tools: CallbacksApiTools, request: GatewayRequest, logFields: LogFields): Promise<Handled> {
  const [first, name, mode, ...deeper] = request.path;
  const source = tools.sources.find((each) => each.name === name && each.mode === mode);
  if (first !== 'callbacks' || source === undefined || deeper.length > 0) {
    return refusal(problem('not_found', 'This deployment does not call this processor in this mode.'), request);
  }
  if (request.method !== 'POST') {
    return refusal(problem('method_not_allowed', 'This path accepts POST only.'), request, { allow: 'POST' });
  }
  const body = Buffer.from(request.body, request.isBase64Encoded ? 'base64' : 'utf8');
  if (body.length > MAX_CALLBACK_BYTES) {
    return refusal(problem('body_too_large', `A callback must be at most ${MAX_CALLBACK_BYTES} bytes.`), request);
  }
  const refused = await signatureProblem(tools, source, { body, header: request.header });
  if (refused !== undefined) return refusal(refused, request);
  const read = source.readEvent(body);
  if (read.kind === 'ignored') return { answer: jsonAnswer({ received: true }), outcome: 'ignored', counts: [] };
  if (read.kind === 'unreadable') return refusal(problem('invalid_request', read.detail, read.param), request);
  const outcome = await receiveCallback({ ...tools, books: source.books }, read.event);
  return { answer: jsonAnswer({ received: true }), outcome: outcome.kind, counts: counted(outcome, logFields) };
}

async function signatureProblem(
  { secrets, clock }: CallbacksApiTools,
  source: ConfiguredSource,
  callback: SignedCallback,
): Promise<Problem | undefined> {
  const verdict = await verifyCallback({ scheme: source.signature, secrets, clock }, source, callback);
  if (verdict.kind === 'valid') return undefined;
  if (verdict.reason === 'repeated') {
    return problem('invalid_request', 'The signature header must occur exactly once.');
  }
  // Every failure gets the same answer, which does not reveal the reason.
  return problem('invalid_signature', 'The signature is not good, or its time is more than 300 seconds away.');
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

function refusal(found: Problem, request: GatewayRequest, headers: Readonly<Record<string, string>> = {}): Handled {
  const counts = found.code === 'invalid_signature' ? (['callback_refused'] as const) : [];
  return { ...problemHandled(found, request, { headers }), counts };
}
