import * as z from 'zod';
import { AmbiguousError } from '../../kernel/faults.ts';
import type { CallLimit, Clock } from '../../kernel/world.ts';
import type { SendRequest } from '../../outbound/http-call.ts';
import { isFault, type OnGivenUp } from '../../outbound/outbound-calls.ts';
import type { OutboundPolicy } from '../../outbound/outbound-policy.ts';
import { sendOnce } from '../../outbound/send-once.ts';
import type { DeadLetters } from '../../outbound/use/dead-letters.ts';
import type { SendingClaims } from '../../outbound/use/sending-claims.ts';
import { readJson } from '../../outbound/vendor-answers.ts';
import { parseOrderId } from '../ids.ts';
import { refusedFor } from './bigcommerce-answers.ts';

export interface BigCommerceStore {
  /** Base URL of the store without a trailing slash: `https://api.bigcommerce.com/stores/<store hash>`. */
  readonly url: string;
  /**
   * Returns the access token. Called for every request, so that a rotated token takes effect. Required scopes, each
   * with "modify": Store Inventory, and Orders.
   */
  readonly token: () => Promise<string>;
  readonly send: SendRequest;
  readonly policy: OutboundPolicy;
  readonly claims: SendingClaims;
  /** Stores adjustments without a known outcome, and failed notes. */
  readonly deadLetters: DeadLetters;
  readonly clock: Pick<Clock, 'nowMs'>;
  /**
   * `throw`, set during a redrive, throws the fault of a note whose attempts have all failed. Every other value
   * dead-letters the note.
   */
  readonly givenUp: OnGivenUp;
}

/** The operation in the dead letters of notes. */
export const NOTE_OPERATION = 'order.note';

export const noteSchema = z.object({
  orderId: z.string().transform((id, context) => {
    const orderId = parseOrderId(id);
    if (orderId !== undefined) return orderId;
    context.addIssue('must be the id of an order');
    return z.NEVER;
  }),
  shopOrder: z.int().positive(),
  reservationId: z.string(),
  /** The status to note. `canceled` is noted only on store orders that were noted as paid. */
  orderStatus: z.enum(['paid', 'canceled']).default('paid'),
});

export type OrderNote = z.output<typeof noteSchema>;

const storeOrder = z.object({ staff_notes: z.string().nullable() });

/**
 * Adds a line to the staff notes of a store order, unless the notes already contain it. Staff ship orders that are
 * noted as paid, so an order that is canceled later gets a second line. A failed note does not make the order's step
 * fail: the note becomes a dead letter, and a redrive adds the line.
 *
 * BigCommerce replaces the notes as a whole, so a line that another user adds between the read and the write is lost.
 *
 * @throws during a redrive, the faults of the call; otherwise, only faults of the dead-letter queue
 */
export async function noteOnOrder(store: BigCommerceStore, note: OrderNote, { timeoutMs }: CallLimit): Promise<void> {
  const { policy, claims, clock, deadLetters, givenUp } = store;
  const { orderId, shopOrder, orderStatus } = note;
  const line = lineOf(note);
  const deadlineMs = clock.nowMs() + timeoutMs;
  try {
    await sendOnce(
      { policy, claims, clock },
      {
        key: orderStatus === 'paid' ? `note:${orderId}` : `note:${orderId}:${orderStatus}`,
        operation: NOTE_OPERATION,
        about: orderId,
        deadlineMs,
        withinCall: 'by_lookup',
        lookUp: {
          // BigCommerce's reads of orders are strongly consistent.
          isStrong: true,
          maxLagMs: 0,
          find: async (limit) =>
            (await readNotes(store, shopOrder, limit)).includes(line)
              ? { kind: 'found', answer: { kind: 'sent', vendorId: String(shopOrder) } }
              : { kind: 'absent' },
        },
        send: async (limit) => {
          const endsAtMs = clock.nowMs() + limit.timeoutMs;
          const notes = await readNotes(store, shopOrder, limit);
          const staff_notes = [notes, line].filter(Boolean).join('\n');
          const left = { timeoutMs: Math.max(1, endsAtMs - clock.nowMs()) };
          const isDue =
            orderStatus === 'paid' ? !notes.includes(orderId) : notes.includes(orderId) && !notes.includes(line);
          if (isDue) await callOrder(store, shopOrder, left, { staff_notes });
          return { kind: 'sent', vendorId: String(shopOrder) };
        },
        givenUp: givenUp === 'throw' ? 'throw' : 'dead_letter',
        payload: note,
      },
    );
  } catch (error) {
    if (givenUp === 'throw' || !isFault(error)) throw error;
    // The note was not added, or its outcome is unknown: for example, another process holds the claim and may have
    // added the note. A redrive looks the note up first.
    const deadLetter = { vendor: policy.vendor, operation: NOTE_OPERATION, about: orderId, payload: note, attempts: 0 };
    await deadLetters.put({ ...deadLetter, reason: error.code, mayBeApplied: true });
  }
}

function lineOf({ orderId, reservationId, orderStatus }: OrderNote): string {
  return `Payonce ${orderId}: ${orderStatus === 'paid' ? `paid, stock ${reservationId}` : orderStatus}`;
}

async function readNotes(store: BigCommerceStore, shopOrder: number, limit: CallLimit): Promise<string> {
  return (await callOrder(store, shopOrder, limit)).staff_notes ?? '';
}

async function callOrder(
  { url, token, send, policy, clock }: BigCommerceStore,
  shopOrder: number,
  { timeoutMs }: CallLimit,
  change?: object,
): Promise<z.output<typeof storeOrder>> {
  const answer = await send({
    method: change === undefined ? 'GET' : 'PUT',
    url: `${url}/v2/orders/${shopOrder}`,
    headers: { accept: 'application/json', 'content-type': 'application/json', 'x-auth-token': await token() },
    ...(change === undefined ? {} : { body: JSON.stringify(change) }),
    timeoutMs,
    party: policy.vendor,
    causes: 'dropped',
    // Bytes; enough for an order with many items.
    maxAnswerBytes: 512 * 1_024,
  });
  if (answer.status === 200) return readJson(policy.vendor, storeOrder, answer);
  // If the order does not exist, the status is 404, which is a terminal fault, or 204, which is an ambiguous one.
  if (answer.status >= 300) throw refusedFor(policy.vendor, answer, clock.nowMs());
  throw new AmbiguousError(`${policy.vendor}_answer_unexpected`, `The store responded with ${answer.status}.`);
}
