import { type GatewayEvent, type GatewayRequest, type GatewayResult, gatewayRequest } from '../http/gateway-request.ts';
import { faultAnswer, gatewayResult, isPassing, jsonAnswer, problemAnswer } from '../http/http-answer.ts';
import type { Handled } from '../http/http-api.ts';
import { problem } from '../http/problems.ts';
import type { Problem } from '../kernel/answer.ts';
import type { CallbackSource } from '../kernel/contract/environment.ts';
import { MAX_CALLBACK_BYTES } from '../kernel/contract/limits.ts';
import type { AlarmMetric } from '../kernel/contract/metrics.ts';
import type { ActiveSecrets } from '../kernel/platform/active-secrets.ts';
import type { RequestCount, Telemetry } from '../kernel/platform/telemetry.ts';
import type { ProcessorBooks } from '../payments/use/processor.ts';
import { readEvent } from '../processors/http/read-event.ts';
import { readStripeEvent } from '../processors/http/read-stripe-event.ts';
import type { SignedCallback } from '../processors/signatures/signature.ts';
import { signatureScheme } from '../processors/signatures/signature-schemes.ts';
import { verifyCallback } from '../processors/signatures/verify-callback.ts';
import { type CallbackOutcome, type ReceiveCallbackTools, receiveCallback } from './receive-callback.ts';

export interface CallbacksApiTools extends Omit<ReceiveCallbackTools, 'books'> {
  readonly sources: readonly CallbackSource[];
  readonly secrets: Pick<ActiveSecrets, 'active' | 'renewed'>;
  /** By the processor's name. */
  readonly books: ReadonlyMap<string, ProcessorBooks>;
  readonly telemetry: Telemetry;
}

const ROUTE = '/callbacks/{processor}';

/**
 * Where processors call back. In this order: route, size, signature, event; nothing is parsed before its signature is
 * known to be good, and nothing is acknowledged before it is stored.
 */
export function callbacksApi(tools: CallbacksApiTools): (event: GatewayEvent) => Promise<GatewayResult> {
  return async (gatewayEvent) => {
    const receivedAtMs = tools.clock.nowMs();
    const request = gatewayRequest(gatewayEvent);
    const { requestId, method } = request;
    const { answer, counts, outcome, ...details } = await handleSafely(tools, request);
    const durationMs = tools.clock.nowMs() - receivedAtMs;
    tools.telemetry.request(
      { requestId, method, route: ROUTE, status: answer.status, outcome, durationMs, ...details },
      counts,
    );
    return gatewayResult(answer, requestId);
  };
}

interface Taken extends Handled {
  readonly paymentId?: string;
  readonly because?: readonly string[];
}

/** Whatever fails here was not stored: the processor is told so, and delivers it again. */
async function handleSafely(tools: CallbacksApiTools, request: GatewayRequest): Promise<Taken> {
  const alarms = new Set<AlarmMetric>();
  try {
    const taken = await handle({ ...tools, alarm: (what) => alarms.add(what) }, request);
    return { ...taken, counts: [...taken.counts, ...alarms] };
  } catch (error) {
    tools.telemetry.fault(request.requestId, error);
    const passing = isPassing(error);
    return {
      answer: faultAnswer(error, request.requestId),
      outcome: passing ? error.code : 'internal_error',
      counts: [passing ? 'unavailable' : 'failure', ...alarms],
    };
  }
}

async function handle(tools: CallbacksApiTools, request: GatewayRequest): Promise<Taken> {
  const [first, name, ...deeper] = request.path;
  const source = tools.sources.find((each) => each.name === name);
  const books = tools.books.get(name ?? '');
  if (first !== 'callbacks' || source === undefined || books === undefined || deeper.length > 0) {
    return refusal(problem('not_found', 'There is no such processor here.'), request);
  }
  if (request.method !== 'POST') {
    return refusal(problem('method_not_allowed', 'This path takes POST.'), request, { allow: 'POST' });
  }
  const body = Buffer.from(request.body, request.isBase64Encoded ? 'base64' : 'utf8');
  if (body.length > MAX_CALLBACK_BYTES) {
    return refusal(problem('body_too_large', `A callback must be at most ${MAX_CALLBACK_BYTES} bytes.`), request);
  }
  const refused = await signatureProblem(tools, source, { body, header: request.header });
  if (refused !== undefined) return refusal(refused, request);
  const read = source.name === 'stripe' ? readStripeEvent(source.name, body) : readEvent(source.name, body);
  if (read.kind === 'ignored') return { answer: jsonAnswer({ received: true }), outcome: 'ignored', counts: [] };
  if (read.kind === 'unreadable') return refusal(problem('invalid_request', read.detail, read.param), request);
  const outcome = await receiveCallback({ ...tools, books }, read.event);
  return { answer: jsonAnswer({ received: true }), outcome: outcome.kind, ...told(outcome) };
}

async function signatureProblem(
  { secrets, clock }: CallbacksApiTools,
  source: CallbackSource,
  callback: SignedCallback,
): Promise<Problem | undefined> {
  const scheme = signatureScheme(source.scheme);
  const verdict = await verifyCallback({ scheme, secrets, clock }, source, callback);
  if (verdict.kind === 'valid') return undefined;
  if (verdict.reason === 'repeated') {
    return problem('invalid_request', 'A signature header must be given once.');
  }
  // One answer, whatever is wrong with it, so that nothing is learnt from it.
  return problem('invalid_signature', 'The signature is not good, or its time is more than 300 seconds away.');
}

function told(outcome: CallbackOutcome): Pick<Taken, 'counts' | 'paymentId' | 'because'> {
  switch (outcome.kind) {
    case 'redelivered':
      return { counts: ['callback_redelivered'] };
    case 'orphaned':
      return { counts: ['callback_orphaned'], because: [outcome.reason] };
    case 'taken_in': {
      const { paymentId, contradictions } = outcome;
      const because = contradictions.length === 0 ? {} : { because: contradictions };
      return { counts: ['callback_taken_in'], paymentId, ...because };
    }
  }
}

function refusal(found: Problem, request: GatewayRequest, headers: Readonly<Record<string, string>> = {}): Taken {
  const counts: readonly RequestCount[] = found.code === 'invalid_signature' ? ['callback_refused'] : [];
  return { answer: problemAnswer(found, request.requestId, { headers }), outcome: found.code, counts };
}
