import { authenticate, FoundKeys } from '../app/authenticate.ts';
import type { CreatePaymentTools } from '../app/create-payment-types.ts';
import type { ApiKeyRegistry } from '../app/ports.ts';
import {
  type GatewayEvent,
  type GatewayRequest,
  type GatewayResult,
  gatewayRequest,
} from '../runtime/gateway-request.ts';
import { faultAnswer, gatewayResult, isPassing } from '../runtime/http-answer.ts';
import { problem } from '../runtime/problems.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { getPayment, getTransitions } from './get-payment.ts';
import { postPayment } from './post-payment.ts';
import { type Handled, type Route, refusal, type Seen } from './route.ts';

export interface PaymentsApiTools extends CreatePaymentTools {
  readonly keys: ApiKeyRegistry;
  readonly telemetry: Telemetry;
}

const ROUTES: readonly Route[] = [postPayment, getPayment, getTransitions];

/** The payments API on any store and processor. Every request is answered, and has one line in the log. */
export function paymentsApi(tools: PaymentsApiTools): (event: GatewayEvent) => Promise<GatewayResult> {
  const found = new FoundKeys();
  return async (event) => {
    const receivedAtMs = tools.clock.nowMs();
    const request = gatewayRequest(event);
    const seen: Seen = { route: 'none' };
    const { answer, counts, outcome } = await handle(tools, found, request, receivedAtMs, seen);
    const { requestId, method } = request;
    const durationMs = tools.clock.nowMs() - receivedAtMs;
    tools.telemetry.request({ requestId, method, status: answer.status, outcome, durationMs, ...seen }, counts);
    return gatewayResult(method === 'HEAD' ? { ...answer, body: '' } : answer, requestId);
  };
}

/** Faults of the world end here, and bugs as well: the client gets an answer, the log gets the rest. */
async function handle(
  tools: PaymentsApiTools,
  found: FoundKeys,
  request: GatewayRequest,
  receivedAtMs: number,
  seen: Seen,
): Promise<Handled> {
  try {
    return await dispatch(tools, found, request, receivedAtMs, seen);
  } catch (error) {
    tools.telemetry.fault(request.requestId, error);
    const passing = isPassing(error);
    return {
      answer: faultAnswer(error, request.requestId),
      outcome: passing ? error.code : 'internal_error',
      counts: [passing ? 'unavailable' : 'failure'],
    };
  }
}

/** In this order: route, method, key, scope; the rest is the route's own. */
async function dispatch(
  tools: PaymentsApiTools,
  found: FoundKeys,
  request: GatewayRequest,
  receivedAtMs: number,
  seen: Seen,
): Promise<Handled> {
  const onPath = ROUTES.map((route) => ({ route, id: match(route, request.path) })).filter(isMatch);
  const [first] = onPath;
  if (first === undefined) return refusal(problem('not_found', 'There is nothing at this path.'), { request });
  seen.route = first.route.path;
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const matched = onPath.find(({ route }) => route.method === method);
  if (matched === undefined) {
    const allow = onPath.flatMap(({ route }) => (route.method === 'GET' ? ['GET', 'HEAD'] : [route.method])).join(', ');
    return refusal(problem('method_not_allowed', `This path takes ${allow}.`), { request }, { headers: { allow } });
  }

  const { route, id } = matched;
  const { keys, clock, digest } = tools;
  const who = await authenticate({ keys, found, clock, digest }, request.header('authorization'), route.scope);
  if (who.kind === 'unauthorized') {
    const detail = 'Send a valid API key as "Authorization: Bearer <key>".';
    return refusal(problem('unauthorized', detail), { request }, { headers: { 'WWW-Authenticate': 'Bearer' } });
  }
  seen.tenantId = who.caller.tenantId;
  if (who.kind === 'insufficient_scope') {
    return refusal(problem('insufficient_scope', 'This API key lacks the scope that this route needs.'), { request });
  }
  return route.handle({ tools, request, caller: who.caller, id, receivedAtMs, seen });
}

/** @returns the piece in the place of `{id}`, empty when there is none; undefined when the path is another */
function match(route: Route, path: readonly string[]): string | undefined {
  const pattern = route.path.split('/').slice(1);
  if (pattern.length !== path.length) return undefined;
  let id = '';
  for (const [index, piece] of pattern.entries()) {
    if (piece === '{id}') id = path[index] ?? '';
    else if (piece !== path[index]) return undefined;
  }
  return id;
}

function isMatch(candidate: { route: Route; id: string | undefined }): candidate is { route: Route; id: string } {
  return candidate.id !== undefined;
}
