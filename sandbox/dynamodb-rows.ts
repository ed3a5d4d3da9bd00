import * as z from 'zod';
import {
  type Charge,
  type Dispute,
  EVENT_TYPES,
  type Refund,
  type SandboxEvent,
} from '../lambdas/processors/sandbox/sandbox-api.ts';
import { KEY_RETENTION_MS, type Place, type TroubledCalls } from './books.ts';

/**
 * Keys of the rows in the sandbox's table:
 *
 *   pk                sk                        what
 *   CHARGE#<id>       CHARGE                    the charge and its version
 *   CHARGE#<id>       OPERATION#<key>           a capture, void or refund, with its response; expires by appliedAtMs
 *   CHARGE#<id>       EVENT#<version>#<n>       finds the charge's events, in the order of its versions
 *   EVENT#<id>        EVENT                     an event, its number of sends, and whether it was delivered
 *   PART#<id>         CHARGE                    finds the charge of a refund or dispute
 *   KEY#<key>         CLAIM                     the charge of the key; expires by claimedAtMs, deleted by expiresAt
 *   KEY#<key>         CHARGE#<id>               finds the charges of a key
 *   KEY#<key>         SENDS                     the number of sends of the key
 *   PAYMENT#<id>      CHARGE#<id>               finds the charges of a payment
 *   DAY#<yyyy-mm-dd>  <created seconds>#<id>    finds the charges of a UTC day, oldest first
 *   CONTROL           FAILURES#<calls>          the failures that are switched on for charges or changes
 *
 * Charges are found by pointers instead of an index, because a global secondary index has no consistent reads.
 */
export const rowKey = {
  charge: (id: string) => ({ pk: `CHARGE#${id}`, sk: 'CHARGE' }),
  operation: (chargeId: string, key: string) => ({ pk: `CHARGE#${chargeId}`, sk: `OPERATION#${key}` }),
  eventOfCharge: (chargeId: string, version: number, index: number) => ({
    pk: `CHARGE#${chargeId}`,
    sk: `${EVENT_PREFIX}${digits(version, 8)}#${digits(index, 2)}`,
  }),
  event: (id: string) => ({ pk: `EVENT#${id}`, sk: 'EVENT' }),
  part: (id: string) => ({ pk: `PART#${id}`, sk: 'CHARGE' }),
  claim: (key: string) => ({ pk: `KEY#${key}`, sk: 'CLAIM' }),
  sends: (key: string) => ({ pk: `KEY#${key}`, sk: 'SENDS' }),
  chargeOfKey: (key: string, id: string) => ({ pk: `KEY#${key}`, sk: `${CHARGE_PREFIX}${id}` }),
  chargeOfPayment: (paymentId: string, id: string) => ({ pk: `PAYMENT#${paymentId}`, sk: `${CHARGE_PREFIX}${id}` }),
  chargeOfDay: ({ created, id }: Place) => ({ pk: `DAY#${dayOf(created)}`, sk: `${seconds(created)}#${id}` }),
  failures: (calls: TroubledCalls) => ({ pk: 'CONTROL', sk: `FAILURES#${calls}` }),
} as const;

export const CHARGE_PREFIX = 'CHARGE#';
export const EVENT_PREFIX = 'EVENT#';

const digits = (value: number, width: number) => String(value).padStart(width, '0');

export const dayOf = (unixSeconds: number) => new Date(unixSeconds * 1_000).toISOString().slice(0, 10);

/** Twelve digits sort like the number, until the year 33658. */
export const seconds = (unixSeconds: number) => digits(unixSeconds, 12);

/** In Unix seconds, as DynamoDB's TTL requires. */
export const expiry = (nowMs: number) => Math.ceil((nowMs + KEY_RETENTION_MS) / 1_000);

const refund = z.object({
  id: z.string(),
  object: z.literal('refund'),
  charge: z.string(),
  amount: z.int(),
  status: z.enum(['pending', 'succeeded', 'failed']),
  metadata: z.record(z.string(), z.string()),
}) satisfies z.ZodType<Refund>;

const dispute = z.object({
  id: z.string(),
  object: z.literal('dispute'),
  charge: z.string(),
  amount: z.int(),
  status: z.enum(['open', 'won', 'lost']),
  fee: z.int().optional(),
}) satisfies z.ZodType<Dispute>;

const charge = z.object({
  id: z.string(),
  object: z.literal('charge'),
  amount: z.int(),
  amount_captured: z.int(),
  amount_refunded: z.int(),
  currency: z.string(),
  capture: z.enum(['automatic', 'manual']),
  status: z.enum(['pending', 'requires_action', 'authorized', 'succeeded', 'declined', 'voided']),
  failure: z.object({ code: z.string(), message: z.string() }).nullable(),
  fee: z.int().nullable(),
  action_url: z.string().nullable(),
  void_reason: z.enum(['requested', 'expired', 'abandoned']).nullable(),
  refunds: z.array(refund),
  disputes: z.array(dispute),
  metadata: z.record(z.string(), z.string()),
  return_url: z.string().optional(),
  livemode: z.boolean(),
  created: z.int(),
  fee_currency: z.string().optional(),
}) satisfies z.ZodType<Charge>;

const event = z.object({
  id: z.string(),
  object: z.literal('event'),
  type: z.enum(EVENT_TYPES),
  livemode: z.boolean(),
  created: z.int(),
  data: z.object({
    charge: z.string(),
    payment: z.string().nullable(),
    refund: z.string().exactOptional(),
    dispute: z.string().exactOptional(),
  }),
}) satisfies z.ZodType<SandboxEvent>;

export const chargeItem = z.object({ version: z.int(), charge });
export const eventItem = z.object({ event, attempts: z.int(), delivered: z.boolean() });
export const claimItem = z.object({ chargeId: z.string(), fingerprint: z.string(), claimedAtMs: z.int() });
export const operationItem = z.object({
  key: z.string(),
  fingerprint: z.string(),
  body: z.string(),
  appliedAtMs: z.int(),
});
export const failuresItem = z.object({ count: z.int(), source: z.string() });
export const sendsItem = z.object({ sends: z.int() });
export const chargePointer = z.object({ chargeId: z.string() });
export const eventPointer = z.object({ eventId: z.string() });

/** `version` is the version of the charge after the change. */
export function eventRows(version: number, events: readonly SandboxEvent[]): readonly object[] {
  return events.flatMap((made, index) => [
    { ...rowKey.event(made.id), event: made, attempts: 0, delivered: false },
    { ...rowKey.eventOfCharge(made.data.charge, version, index), eventId: made.id },
  ]);
}
