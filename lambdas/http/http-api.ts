import type { Answer, Problem } from '../kernel/answer.ts';
import type { Scope } from '../kernel/contract/api.ts';
import type { OperationId, TenantId } from '../kernel/ids.ts';
import type { RequestCount, Telemetry } from '../kernel/platform/telemetry.ts';
import { type GatewayEvent, type GatewayRequest, type GatewayResult, gatewayRequest } from './gateway-request.ts';
import { faultAnswer, gatewayResult, isPassing, jsonAnswer, type ProblemExtras, problemAnswer } from './http-answer.ts';
import { problem } from './problems.ts';

/** A request that has found its route and shown a good key. */
export interface Call<Tools, Caller> {
  readonly tools: Tools;
  readonly request: GatewayRequest;
  readonly caller: Caller;
  /** The piece of the path in the place of `{id}`; empty when the route has none. */
  readonly id: string;
  /** All such pieces, by their names. */
  readonly pieces: Readonly<Record<string, string>>;
  readonly receivedAtMs: number;
  /** Told as soon as it is known, so that the log has it even when the request fails. */
  readonly seen: Seen;
}

/** What the log says of a request beyond its answer. */
interface Seen {
  route: string;
  tenantId?: TenantId;
  operationId?: OperationId;
}

export interface Handled {
  readonly answer: Answer;
  /** For the log: an outcome, or a problem's code. */
  readonly outcome: string;
  readonly counts: readonly RequestCount[];
}

export interface Route<Tools, Caller> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** As in the API's documents, for example `/v1/payments/{id}`. */
  readonly path: string;
  readonly scope: Scope;
  readonly handle: (call: Call<Tools, Caller>) => Promise<Handled>;
}

/** Who asks, in order of precedence. */
type Admission<Caller> =
  | { readonly kind: 'unauthorized' }
  | { readonly kind: 'insufficient_scope'; readonly caller: Caller }
  | { readonly kind: 'authenticated'; readonly caller: Caller };

export interface HttpApi<Tools, Caller> {
  readonly routes: readonly Route<Tools, Caller>[];
  readonly tools: Tools;
  readonly clock: { nowMs(): number };
  readonly telemetry: Telemetry;
  /** @param authorization the values of that header @param path as it was called, for what is good at one path only */
  readonly authenticate: (authorization: readonly string[], scope: Scope, path: string) => Promise<Admission<Caller>>;
}

/** An API of these routes. Every request is answered, and has one line in the log. */
export function httpApi<Tools, Caller extends { readonly tenantId?: TenantId }>(
  api: HttpApi<Tools, Caller>,
): (event: GatewayEvent) => Promise<GatewayResult> {
  const { clock, telemetry } = api;
  return async (event) => {
    const receivedAtMs = clock.nowMs();
    const request = gatewayRequest(event);
    const seen: Seen = { route: 'none' };
    const { answer, counts, outcome } = await handle(api, request, receivedAtMs, seen);
    const { requestId, method } = request;
    const durationMs = clock.nowMs() - receivedAtMs;
    telemetry.request({ requestId, method, status: answer.status, outcome, durationMs, ...seen }, counts);
    return gatewayResult(method === 'HEAD' ? { ...answer, body: '' } : answer, requestId);
  };
}

export function refusal(refused: Problem, request: GatewayRequest, extras: ProblemExtras = {}): Handled {
  return { answer: problemAnswer(refused, request.requestId, extras), outcome: refused.code, counts: [] };
}

export function found(body: Readonly<Record<string, unknown>>): Handled {
  return { answer: jsonAnswer(body), outcome: 'found', counts: [] };
}

/** Faults of the world end here, and bugs as well: the client gets an answer, the log gets the rest. */
async function handle<Tools, Caller extends { readonly tenantId?: TenantId }>(
  api: HttpApi<Tools, Caller>,
  request: GatewayRequest,
  receivedAtMs: number,
  seen: Seen,
): Promise<Handled> {
  try {
    return await dispatch(api, request, receivedAtMs, seen);
  } catch (error) {
    api.telemetry.fault(request.requestId, error);
    const passing = isPassing(error);
    return {
      answer: faultAnswer(error, request.requestId),
      outcome: passing ? error.code : 'internal_error',
      counts: [passing ? 'unavailable' : 'failure'],
    };
  }
}

/** In this order: route, method, key, scope; the rest is the route's own. */
async function dispatch<Tools, Caller extends { readonly tenantId?: TenantId }>(
  { routes, tools, authenticate }: HttpApi<Tools, Caller>,
  request: GatewayRequest,
  receivedAtMs: number,
  seen: Seen,
): Promise<Handled> {
  const onPath = routes.flatMap((route) => {
    const pieces = match(route.path, request.path);
    return pieces === undefined ? [] : [{ route, pieces }];
  });
  const [first] = onPath;
  if (first === undefined) return refusal(problem('not_found', 'There is nothing at this path.'), request);
  seen.route = first.route.path;
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const matched = onPath.find(({ route }) => route.method === method);
  if (matched === undefined) {
    const allow = onPath.flatMap(({ route }) => (route.method === 'GET' ? ['GET', 'HEAD'] : [route.method])).join(', ');
    return refusal(problem('method_not_allowed', `This path takes ${allow}.`), request, { headers: { allow } });
  }

  const { route, pieces } = matched;
  const who = await authenticate(request.header('authorization'), route.scope, `/${request.path.join('/')}`);
  if (who.kind === 'unauthorized') {
    const detail = 'Send a valid API key as "Authorization: Bearer <key>".';
    return refusal(problem('unauthorized', detail), request, { headers: { 'WWW-Authenticate': 'Bearer' } });
  }
  if (who.caller.tenantId !== undefined) seen.tenantId = who.caller.tenantId;
  if (who.kind === 'insufficient_scope') {
    return refusal(problem('insufficient_scope', 'This API key lacks the scope that this route needs.'), request);
  }
  return route.handle({ tools, request, caller: who.caller, id: pieces['id'] ?? '', pieces, receivedAtMs, seen });
}

/** @returns the pieces in the places of `{id}` and the like, by their names; undefined when the path is another */
function match(pattern: string, path: readonly string[]): Readonly<Record<string, string>> | undefined {
  const pieces = pattern.split('/').slice(1);
  if (pieces.length !== path.length) return undefined;
  const named: [string, string][] = [];
  for (const [index, piece] of pieces.entries()) {
    if (piece.startsWith('{')) named.push([piece.slice(1, -1), path[index] ?? '']);
    else if (piece !== path[index]) return undefined;
  }
  return Object.fromEntries(named);
}
