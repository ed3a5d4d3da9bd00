import * as z from 'zod';
import type { Mode } from '../../../lambdas/kernel/ids.ts';
import type { CallLimit } from '../../../lambdas/kernel/world.ts';
import { callOnce, type HttpAnswer } from '../../../lambdas/outbound/http-call.ts';

/**
 * Options of the HTTP client of Tillhouse's API. The caller chooses the names of sales and returns, so a name is an
 * idempotency key:
 *
 *   PUT /sales/{name}                  { cents, currency, token, payment } → 200 sale | 402 { why }
 *   GET /sales/{name}                  sale | 404
 *   GET /sales?payment=<id>            { sales }
 *   PUT /sales/{name}/returns/{name}   { cents } → 200 sale | 422 { why }
 *   GET /pulse                         200
 */
export interface TillhouseOptions {
  /** Base URL without a trailing slash. */
  readonly url: string;
  readonly shop: string;
  readonly key: () => Promise<string>;
  readonly mode: Mode;
}

export const sale = z.object({
  id: z.string(),
  payment: z.string(),
  cents: z.int(),
  currency: z.string(),
  state: z.enum(['waiting', 'paid', 'refused']),
  returns: z.array(z.object({ name: z.string(), cents: z.int() })),
  made: z.int(),
});

export type Sale = z.infer<typeof sale>;

export type CallTillhouse = (method: string, path: string, limit: CallLimit, body?: object) => Promise<HttpAnswer>;

export function tillhouseApi({ url, shop, key }: TillhouseOptions): CallTillhouse {
  return async (method, path, { timeoutMs }, body) =>
    callOnce({
      method,
      url: `${url}${path}`,
      headers: { 'till-shop': shop, 'till-key': await key() },
      timeoutMs,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
}
