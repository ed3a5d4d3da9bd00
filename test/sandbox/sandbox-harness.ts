import * as z from 'zod';
import { callSandbox, type SandboxAnswer } from './sandbox-calls.ts';
import type { SandboxHandler } from './sandbox-world.ts';

const partOf = z.strictObject({ id: z.string(), charge: z.string(), amount: z.number(), status: z.string() });
const refundOf = partOf.extend({ object: z.literal('refund'), metadata: z.record(z.string(), z.string()) });
const disputeOf = partOf.extend({ object: z.literal('dispute') });
const chargeOf = z.strictObject({
  id: z.string(),
  object: z.literal('charge'),
  amount: z.number(),
  amount_captured: z.number(),
  amount_refunded: z.number(),
  currency: z.string(),
  capture: z.string(),
  status: z.string(),
  failure: z.object({ code: z.string(), message: z.string() }).nullable(),
  fee: z.number().nullable(),
  action_url: z.string().nullable(),
  void_reason: z.string().nullable(),
  refunds: z.array(refundOf),
  disputes: z.array(disputeOf),
  metadata: z.record(z.string(), z.string()),
  return_url: z.string().optional(),
  livemode: z.boolean(),
  created: z.number(),
});
const eventOf = z.strictObject({
  id: z.string(),
  object: z.literal('event'),
  type: z.string(),
  livemode: z.boolean(),
  created: z.number(),
  data: z.strictObject({
    charge: z.string(),
    payment: z.string().nullable(),
    refund: z.string().optional(),
    dispute: z.string().optional(),
  }),
});
const listOf = z.strictObject({ data: z.array(chargeOf), next: z.string().nullable() });
const eventListOf = z.strictObject({ data: z.array(eventOf.extend({ attempts: z.number(), delivered: z.boolean() })) });
const errorOf = z.object({ error: z.object({ code: z.string(), message: z.string(), charge: z.string().optional() }) });

const parse = <T>(schema: z.ZodType<T>, { body }: SandboxAnswer): T => schema.parse(JSON.parse(body));
export const chargeIn = (answer: SandboxAnswer) => parse(chargeOf, answer);
export const refundIn = (answer: SandboxAnswer) => parse(refundOf, answer);
export const disputeIn = (answer: SandboxAnswer) => parse(disputeOf, answer);
export const eventIn = (answer: SandboxAnswer) => parse(eventOf, answer);
export const listIn = (answer: SandboxAnswer) => parse(listOf, answer);
export const errorIn = (answer: SandboxAnswer) => parse(errorOf, answer).error;

/** `read`, `events` and `types` throw if the response has an unknown field. */
export function sandboxHarness(handler: SandboxHandler) {
  const post = (path: string, body?: unknown, key?: string): Promise<SandboxAnswer> =>
    callSandbox(handler, {
      method: 'POST',
      path,
      headers: key === undefined ? {} : { 'Idempotency-Key': key },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const get = (path: string, query: Readonly<Record<string, string>> = {}): Promise<SandboxAnswer> =>
    callSandbox(handler, { method: 'GET', path, query });
  const order = (source: string, changes: Readonly<Record<string, unknown>> = {}) => ({
    amount: 1_999,
    currency: 'EUR',
    source,
    capture: 'automatic',
    metadata: { payment: 'pay_1' },
    ...changes,
  });
  return {
    post,
    get,
    order,
    charge: (source: string, changes: Readonly<Record<string, unknown>> = {}, key: string = crypto.randomUUID()) =>
      post('/charges', order(source, changes), key),
    read: async (id: string) => chargeIn(await get(`/charges/${id}`)),
    events: async (id: string) => parse(eventListOf, await get('/events', { charge: id })).data,
    types: async (id: string) => parse(eventListOf, await get('/events', { charge: id })).data.map(({ type }) => type),
  };
}
