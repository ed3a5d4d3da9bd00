import * as z from 'zod';
import { TerminalError } from '../../kernel/faults.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { HttpAnswer } from '../../outbound/http-call.ts';
import { readJson, standardRetryAfter, vendorFault } from '../../outbound/vendor-answers.ts';
import type { ReservationOutcome, StockKeeper } from '../use/order-parties.ts';
import type { CreateReservation } from './shop-api.ts';
import { postToShop, refusalOf, type ShopOptions } from './shop-call.ts';

export const STOCK_PATH = '/stock/reservations';

/**
 * The operation in this adapter's dead letters. Reservations are not dead-lettered: an operator might redrive one after
 * its order was canceled.
 */
export const RELEASE_OPERATION = 'reservation.release';
export const releaseSchema = z.strictObject({ reservationId: z.string().min(1) });

const reservation = z.object({
  object: z.literal('reservation'),
  id: z.string().min(1),
  order: z.string(),
  status: z.enum(['reserved', 'released']),
});

/** The shop keeps idempotency keys permanently, so that however late a retry is, it takes effect once. */
export function createShopStock(options: ShopOptions): StockKeeper {
  const { policy, givenUp = 'throw' } = options;
  const { vendor } = policy;
  return {
    reserve: async ({ operationId, orderId, items }, limit) => {
      const body: CreateReservation = { order: orderId, items };
      const request = {
        operation: 'reservation.make',
        about: orderId,
        path: STOCK_PATH,
        key: operationId,
        body,
        limit,
      };
      const outcome = await postToShop(options, request, (answer, nowMs) =>
        readReservation(vendor, orderId, answer, nowMs),
      );
      invariant(!('mayBeApplied' in outcome), 'a reservation request was dead-lettered');
      return outcome;
    },
    release: async ({ reservationId }, limit) => {
      const path = `${STOCK_PATH}/${encodeURIComponent(reservationId)}/release`;
      const payload: z.infer<typeof releaseSchema> = { reservationId };
      const outcome = await postToShop(
        options,
        { operation: RELEASE_OPERATION, path, limit },
        (answer, nowMs) => mustBeReleased(vendor, answer, nowMs),
        // Throw if a retry could succeed: the order waits for the release, so its driver retries the call.
        { givenUp: givenUp === 'delay' ? 'dead_letter_terminal' : givenUp, payload },
      );
      if (outcome !== true) throw new TerminalError(outcome.reason, 'The release was dead-lettered.');
    },
  };
}

function readReservation(vendor: string, order: string, answer: HttpAnswer, nowMs: number): ReservationOutcome {
  if (answer.status !== 201) return { kind: 'refused', failure: refusalOf(vendor, answer, nowMs) };
  const made = readJson(vendor, reservation.extend({ order: z.literal(order) }), answer);
  if (made.status === 'reserved') return { kind: 'reserved', reservationId: made.id };
  // For a known key, the shop returns the current state of the reservation. A released reservation stays released.
  return {
    kind: 'refused',
    failure: { code: 'reservation_released', message: 'The reservation was already released.' },
  };
}

/** @throws as `vendorFault` (TerminalError `<vendor>_refused` for a reservation that does not exist) and `readJson` */
function mustBeReleased(vendor: string, answer: HttpAnswer, nowMs: number): true {
  if (answer.status !== 200) throw vendorFault(vendor, answer, standardRetryAfter(answer, nowMs));
  readJson(vendor, reservation.extend({ status: z.literal('released') }), answer);
  return true;
}
