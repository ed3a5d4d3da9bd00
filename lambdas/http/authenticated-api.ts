import type { Answer, Problem } from '../kernel/answer.ts';
import type { OperatorCause, RequestCause } from '../kernel/cause.ts';
import type { Role, Scope } from '../kernel/contract/api.ts';
import { ALARM_RUN, type AlarmMetric } from '../kernel/contract/metrics.ts';
import { defined } from '../kernel/defined.ts';
import type { Digest } from '../kernel/digest.ts';
import type { OperationId, TenantId } from '../kernel/ids.ts';
import type { RequestCount, Telemetry } from '../kernel/platform/telemetry.ts';
import type { Waiting } from '../once/use/await-first.ts';
import type { ApiKeyRecord, ApiKeyRegistry } from '../tenants/api-key-registry.ts';
import { authenticate, type Caller, FoundKeys } from '../tenants/authenticate.ts';
import { type Admitted, type LimitKind, limitKindOf, type TenantLimits } from '../tenants/limits.ts';
import type { Owner } from '../tenants/owners.ts';
import { explainMissingTenant, forTenant, type OperatorsForTenants, TENANT_HEADER } from './for-tenant.ts';
import { type GatewayEvent, type GatewayRequest, type GatewayResult, gatewayRequest } from './gateway-request.ts';
import { apiResult, faultAnswer, isTransient, jsonAnswer, type ProblemExtras, problemAnswer } from './http-answer.ts';
import { problem } from './problems.ts';
import { refuseSensitive } from './validate.ts';

export interface Call<Tools, AnyCaller = Caller> {
  readonly tools: Tools;
  readonly request: GatewayRequest;
  readonly caller: AnyCaller;
  /** Empty when the route has no path parameter `{id}`. */
  readonly id: string;
  /** By name. */
  readonly pieces: Readonly<Record<string, string>>;
  readonly receivedAtMs: number;
  /**
   * @returns a function that releases the place; undefined when the request must not wait, for example because no place
   * is free
   */
  readonly enterWait: Waiting['enter'];
  /** Fields of the log line. Set each field as soon as its value is known, so that a failed request also logs it. */
  readonly logFields: LogFields;
}

export function causedByRequest({
  request,
  caller,
}: Pick<Call<unknown>, 'request' | 'caller'>): RequestCause | OperatorCause {
  return { ...caller.by, requestId: request.requestId };
}

export interface LogFields {
  route: string;
  tenantId?: TenantId;
  operationId?: OperationId;
  paymentId?: string;
  /** Why a callback was orphaned, or how it contradicts the payment. */
  because?: readonly string[];
  /**
   * Raises an alarm, at most once per metric and request. Writes its metric immediately, so that a later crash does not
   * lose it.
   */
  readonly alarm: (what: AlarmMetric, about: string) => void;
}

export interface Handled {
  readonly answer: Answer;
  /** Outcome or problem code, for the log. */
  readonly outcome: string;
  readonly counts: readonly RequestCount[];
}

export interface RouteBy<Tools, AnyCaller> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path as documented, for example `/v1/payments/{id}`. */
  readonly path: string;
  /** Absent if the route does not accept keys of tenants. */
  readonly scope?: Scope;
  /** @default no read calls the processor */
  readonly asksProcessor?: (request: GatewayRequest) => boolean;
  readonly handle: (call: Call<Tools, AnyCaller>) => Promise<Handled>;
}

export interface Route<Tools> extends RouteBy<Tools, Caller> {
  readonly scope: Scope;
  /** Minimum role. @default not callable by operators */
  readonly role?: Role;
}

type Admission<AnyCaller> =
  | { readonly kind: 'unauthorized'; readonly detail?: string }
  | { readonly kind: 'invalid_request' | 'not_found'; readonly detail: string }
  | { readonly kind: 'insufficient_scope' | 'insufficient_role'; readonly caller: AnyCaller; readonly detail?: string }
  | { readonly kind: 'authenticated'; readonly caller: AnyCaller };

/** @param request the request: some credentials are valid only at one path, and a header can name a tenant */
export type Admit<AnyCaller, Entry> = (
  authorization: readonly string[],
  route: Entry,
  request: Pick<GatewayRequest, 'path' | 'header'>,
) => Promise<Admission<AnyCaller>>;

/** A caller to whom limits may apply. Operators have no limits. */
type Limited = Partial<Owner> & Pick<Caller, 'person'>;

export interface ApiTools {
  /** The limits of tenants. Operators have no limits. */
  readonly limits?: Pick<TenantLimits, 'admit' | 'enterWait'>;
  readonly clock: { nowMs(): number };
  readonly digest: Pick<Digest, 'sha256'>;
  readonly telemetry: Telemetry;
}

export interface TenantApiTools extends ApiTools {
  readonly keys: ApiKeyRegistry;
  readonly limits: Pick<TenantLimits, 'admit' | 'enterWait'>;
  /** Required if operators may call a route for a tenant. */
  readonly operators?: OperatorsForTenants;
}

export type Handler = (event: GatewayEvent) => Promise<GatewayResult>;

export type RoutePath = Pick<RouteBy<never, never>, 'method' | 'path'>;

/**
 * @param paths all routes at the same paths, including routes that other functions serve; the `Allow` header lists
 * their methods in this order
 * @default `routes`
 */
export function authenticatedApi<Tools>(
  routes: readonly Route<Tools>[],
  tools: Tools & TenantApiTools,
  paths?: readonly RoutePath[],
): Handler {
  return apiFor(byApiKey(tools), routes, tools, paths);
}

/** The returned check caches the keys of tenants for a few seconds. */
function byApiKey({
  keys,
  clock,
  digest,
  operators,
}: TenantApiTools): Admit<Caller, Pick<Route<never>, 'scope' | 'role'>> {
  const tools = { keys, found: new FoundKeys<ApiKeyRecord>(), clock, digest };
  return async (authorization, { scope, role }, request) => {
    const tenant = request.header(TENANT_HEADER);
    if (tenant.length > 0) return forTenant({ operators, role, tenant }, authorization);
    const admission = await authenticate(tools, authorization, scope);
    return admission.kind === 'unauthorized'
      ? { ...admission, ...defined({ detail: explainMissingTenant(authorization, role) }) }
      : admission;
  };
}

export function apiFor<Tools, AnyCaller extends Limited, Entry extends RouteBy<Tools, AnyCaller>>(
  admit: Admit<AnyCaller, Entry>,
  routes: readonly Entry[],
  tools: Tools & ApiTools,
  paths?: readonly RoutePath[],
): Handler {
  return answering(tools, 'none', (request, receivedAtMs, logFields) =>
    dispatch(admit, { routes, paths }, { tools, request, receivedAtMs, logFields }),
  );
}

/**
 * Catches all faults and bugs: the response is then a problem document without internals, and the log contains the
 * error.
 *
 * @param route the route name that is logged until a route is matched
 */
export function answering(
  { clock, telemetry }: Pick<ApiTools, 'clock' | 'telemetry'>,
  route: string,
  handle: (request: GatewayRequest, receivedAtMs: number, logFields: LogFields) => Promise<Handled>,
): Handler {
  return async (event) => {
    const receivedAtMs = clock.nowMs();
    const request = gatewayRequest(event);
    const { requestId, method } = request;
    const logFields: LogFields = { route, alarm: alarmOnce(telemetry) };
    const { answer, counts, outcome } = await handle(request, receivedAtMs, logFields).catch((error: unknown) => {
      telemetry.fault(requestId, error);
      return failed(error, request);
    });
    const { alarm: _alarm, ...logged } = logFields;
    const durationMs = clock.nowMs() - receivedAtMs;
    telemetry.request({ requestId, method, status: answer.status, outcome, durationMs, ...logged }, counts);
    return apiResult(method === 'HEAD' ? { ...answer, body: '' } : answer, request);
  };
}

function alarmOnce(telemetry: Telemetry): LogFields['alarm'] {
  const raised = new Set<AlarmMetric>();
  return (what, about) => {
    if (raised.has(what)) return;
    raised.add(what);
    telemetry.run(ALARM_RUN, { [what]: 1 }, { [what]: about });
  };
}

function failed(error: unknown, { requestId, method }: Pick<GatewayRequest, 'requestId' | 'method'>): Handled {
  const transient = isTransient(error);
  return {
    answer: faultAnswer(error, requestId, method),
    outcome: transient ? error.code : 'internal_error',
    counts: [transient ? 'unavailable' : 'failure'],
  };
}

export function refusal(refused: Problem, request: GatewayRequest, extras: ProblemExtras = {}): Handled {
  return { answer: problemAnswer(refused, request.requestId, extras), outcome: refused.code, counts: [] };
}

export function found(body: Readonly<Record<string, unknown>>): Handled {
  return { answer: jsonAnswer(body), outcome: 'found', counts: [] };
}

type Found<Entry> =
  | { readonly kind: 'found'; readonly route: Entry; readonly pieces: Readonly<Record<string, string>> }
  | { readonly kind: 'refused'; readonly path?: string; readonly handled: Handled };

export function findRoute<Entry extends RoutePath>(
  routes: readonly Entry[],
  request: GatewayRequest,
  paths: readonly RoutePath[] = routes,
): Found<Entry> {
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  for (const route of routes.filter((each) => each.method === method)) {
    const pieces = matchPath(route.path, request.path);
    if (pieces !== undefined) return { kind: 'found', route, pieces };
  }
  const onPath = paths.filter(({ path }) => matchPath(path, request.path) !== undefined);
  const [first] = onPath;
  if (first === undefined) {
    return { kind: 'refused', handled: refusal(problem('not_found', 'There is nothing at this path.'), request) };
  }
  const allow = onPath.flatMap((each) => (each.method === 'GET' ? ['GET', 'HEAD'] : [each.method])).join(', ');
  const refused = problem('method_not_allowed', `This path supports ${allow}.`);
  return { kind: 'refused', path: first.path, handled: refusal(refused, request, { headers: { allow } }) };
}

async function dispatch<Tools, AnyCaller extends Limited, Entry extends RouteBy<Tools, AnyCaller>>(
  admit: Admit<AnyCaller, Entry>,
  { routes, paths }: { readonly routes: readonly Entry[]; readonly paths: readonly RoutePath[] | undefined },
  asked: Pick<Call<Tools & ApiTools, AnyCaller>, 'tools' | 'request' | 'receivedAtMs' | 'logFields'>,
): Promise<Handled> {
  const { request, logFields } = asked;
  const matched = findRoute(routes, request, paths);
  if (matched.kind === 'refused') {
    if (matched.path !== undefined) logFields.route = matched.path;
    return matched.handled;
  }
  const { route, pieces } = matched;
  logFields.route = route.path;
  const admission = await admit(request.header('authorization'), route, request);
  if (admission.kind === 'unauthorized') {
    const { detail = 'Send a valid API key as "Authorization: Bearer <key>".' } = admission;
    return refusal(problem('unauthorized', detail), request, { headers: { 'WWW-Authenticate': 'Bearer' } });
  }
  if (!('caller' in admission)) return refusal(problem(admission.kind, admission.detail, TENANT_HEADER), request);
  if (admission.caller.tenantId !== undefined) logFields.tenantId = admission.caller.tenantId;
  if (admission.kind !== 'authenticated') {
    const { detail = 'This API key lacks the scope that this route requires.' } = admission;
    return refusal(problem(admission.kind, detail), request);
  }
  const overLimit = await refuseOverLimit(asked, admission.caller, route);
  if (overLimit !== undefined) return overLimit;
  const sensitive = refuseSensitive(request);
  if (sensitive !== undefined) return refusal(sensitive, request);
  const enterWait: Waiting['enter'] = async (waitMs) => placeToWait(asked, admission.caller, waitMs);
  return route.handle({ ...asked, caller: admission.caller, id: pieces['id'] ?? '', pieces, enterWait });
}

/**
 * Operators have no limit. If the limits cannot be read, the request is admitted, because the tables that the request
 * needs may still be available.
 */
async function refuseOverLimit(
  { tools, request }: { readonly tools: ApiTools; readonly request: GatewayRequest },
  { tenantId, mode, person }: Limited,
  { method, scope, asksProcessor }: Pick<RouteBy<never, never>, 'method' | 'scope' | 'asksProcessor'>,
): Promise<Handled | undefined> {
  if (tools.limits === undefined || tenantId === undefined || mode === undefined || person !== undefined)
    return undefined;
  const kind = limitKindOf(method, scope, asksProcessor?.(request) === true);
  const admitted = await tools.limits.admit({ tenantId, mode, kind }).catch((error: unknown) => {
    if (!isTransient(error)) throw error;
    tools.telemetry.fault(request.requestId, error);
    return { kind: 'admitted' } as const;
  });
  return admitted.kind === 'admitted'
    ? undefined
    : { ...refusal(OVER_LIMIT, request, { headers: limitHeaders(kind, admitted) }), counts: ['rate_limited'] };
}

/** A place that is not released expires. */
async function placeToWait(
  { tools, request }: { readonly tools: ApiTools; readonly request: GatewayRequest },
  { tenantId, mode, person }: Limited,
  waitMs: number,
): ReturnType<Waiting['enter']> {
  if (tools.limits === undefined || tenantId === undefined || mode === undefined || person !== undefined)
    return undefined;
  const unlessPassing = (error: unknown) => {
    if (!isTransient(error)) throw error;
    tools.telemetry.fault(request.requestId, error);
    return undefined;
  };
  const leave = await tools.limits.enterWait({ tenantId, mode }, waitMs).catch(unlessPassing);
  return leave === undefined ? undefined : async () => leave().catch(unlessPassing);
}

const OVER_LIMIT = problem(
  'rate_limited',
  'This tenant has reached its request limit. The request had no effect. Retry it later.',
);

/** Returns `Retry-After` and the fields of draft-ietf-httpapi-ratelimit-headers-11, sections 4 and 5. */
function limitHeaders(kind: LimitKind, { limit, retryAfterMs }: Extract<Admitted, { kind: 'limited' }>) {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  const window = Math.ceil(limit.burst / limit.rate);
  return {
    'retry-after': String(seconds),
    'ratelimit-policy': `"${kind}";q=${limit.rate * window};w=${window}`,
    ratelimit: `"${kind}";r=0;t=${seconds}`,
  };
}

/** @returns undefined when the path does not match */
export function matchPath(pattern: string, path: readonly string[]): Readonly<Record<string, string>> | undefined {
  const pieces = pattern.split('/').slice(1);
  if (pieces.length !== path.length) return undefined;
  const named: [string, string][] = [];
  for (const [index, piece] of pieces.entries()) {
    if (piece.startsWith('{')) named.push([piece.slice(1, -1), path[index] ?? '']);
    else if (piece !== path[index]) return undefined;
  }
  return Object.fromEntries(named);
}
