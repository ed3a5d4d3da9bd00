import type { Caller } from '../app/authenticate.ts';
import type { CreatePaymentTools } from '../app/create-payment-types.ts';
import type { Scope } from '../contract/api.ts';
import type { Answer, Problem } from '../core/answer.ts';
import type { OperationId, TenantId } from '../core/ids.ts';
import type { GatewayRequest } from '../runtime/gateway-request.ts';
import { type ProblemExtras, problemAnswer } from '../runtime/http-answer.ts';
import type { RequestCount } from '../runtime/telemetry.ts';

/** A request that has found its route and shown a good key. */
export interface Call {
  readonly tools: CreatePaymentTools;
  readonly request: GatewayRequest;
  readonly caller: Caller;
  /** The piece of the path in the place of `{id}`; empty when the route has none. */
  readonly id: string;
  readonly receivedAtMs: number;
  /** Told as soon as it is known, so that the log has it even when the request fails. */
  readonly seen: Seen;
}

/** What the log says of a request beyond its answer. */
export interface Seen {
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

export interface Route {
  readonly method: 'GET' | 'POST';
  /** As in the API's documents, for example `/v1/payments/{id}`. */
  readonly path: string;
  readonly scope: Scope;
  readonly handle: (call: Call) => Promise<Handled>;
}

export function refusal(found: Problem, { request }: Pick<Call, 'request'>, extras: ProblemExtras = {}): Handled {
  return { answer: problemAnswer(found, request.requestId, extras), outcome: found.code, counts: [] };
}
