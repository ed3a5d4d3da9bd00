import { defined } from '../../kernel/defined.ts';
import { TerminalError } from '../../kernel/faults.ts';
import type { CallLimit } from '../../kernel/world.ts';
import type { HttpAnswer } from '../../outbound/http-call.ts';
import { type SendAnswer, sendOnce } from '../../outbound/send-once.ts';
import { STOCK_IN_DOUBT } from '../domain/order.ts';
import type { OrderItem, StockKeeper } from '../use/order-parties.ts';
import { readAdjustment, refusedFor } from './bigcommerce-answers.ts';
import { type BigCommerceStore, noteOnOrder } from './bigcommerce-note.ts';

export interface BigCommerceOptions extends BigCommerceStore {
  readonly locationId: number;
}

/** These dead letters are not redriven: an operator compares them with the inventory history. */
export const ADJUST_OPERATION = 'inventory.adjust';

interface Adjustment {
  readonly key: string;
  readonly orderId: string | undefined;
  /** Text that the inventory history shows. */
  readonly reason: string;
  /** A negative quantity removes items, a positive quantity returns them. */
  readonly items: readonly OrderItem[];
}

/**
 * Creates the stock service of orders, which adjusts the inventory of a BigCommerce store. The API has no idempotency
 * keys, and adjustments cannot be searched. Therefore, each key's adjustment is sent at most once, under a sending
 * claim. If no response arrived, or the process crashed while sending, the adjustment may have been applied. It then
 * becomes a dead letter for an operator, and is never sent again.
 *
 *   claim ── send ── answer                    adjusted, or refused
 *   claim ── send ── ✗                         dead letter; a reservation is treated as refused, so the money is returned
 *   claim ── send ── (crash) ── claim exists   dead letter; as above
 *
 * The reason of every adjustment contains the order's id, and the store shows it in its inventory history. If the
 * request contained the shop's order number, reservations and releases are also noted on the shop's order.
 */
export function createBigCommerceStock(options: BigCommerceOptions): StockKeeper {
  const { policy, claims, clock, deadLetters } = options;
  const { vendor } = policy;

  /** @returns undefined when the outcome is unknown; the adjustment was then dead-lettered for an operator */
  const adjust = async (adjustment: Adjustment, { timeoutMs }: CallLimit): Promise<SendAnswer | undefined> => {
    const { key, orderId } = adjustment;
    const outcome = await sendOnce(
      { policy, claims, clock },
      {
        key,
        operation: ADJUST_OPERATION,
        about: orderId,
        deadlineMs: clock.nowMs() + timeoutMs,
        send: async (limit) =>
          readAdjustment(vendor, await post(options, bodyOf(options, adjustment), limit), clock.nowMs()),
        withinCall: 'never',
        payload: adjustment,
      },
    );
    if (outcome.kind === 'sent' || outcome.kind === 'refused') return outcome;
    await deadLetters.put({
      vendor,
      operation: ADJUST_OPERATION,
      ...defined({ about: orderId }),
      payload: adjustment,
      attempts: 1,
      reason: `${vendor}_in_doubt`,
      mayBeApplied: true,
    });
    return undefined;
  };

  return {
    reserve: async ({ operationId, orderId, items, shopOrder }, limit) => {
      const taken = perSku(items).map(({ sku, quantity }) => ({ sku, quantity: -quantity }));
      const reserving = { key: operationId, orderId, reason: `Payonce ${orderId}`, items: taken };
      const outcome = await adjust(reserving, limit);
      if (outcome?.kind === 'sent') {
        const reservationId = outcome.vendorId;
        if (shopOrder !== undefined)
          await noteOnOrder(options, { orderId, shopOrder, reservationId, orderStatus: 'paid' }, limit);
        return { kind: 'reserved', reservationId };
      }
      return { kind: 'refused', failure: outcome?.failure ?? IN_DOUBT };
    },
    release: async ({ reservationId, orderId, items, shopOrder }, limit) => {
      const reason = `Payonce ${orderId ?? reservationId} released`;
      const outcome = await adjust({ key: `release:${reservationId}`, orderId, reason, items: perSku(items) }, limit);
      if (orderId !== undefined && shopOrder !== undefined)
        await noteOnOrder(options, { orderId, shopOrder, reservationId, orderStatus: 'canceled' }, limit);
      // If the outcome is unknown, the order does not wait: an operator handles the dead letter.
      if (outcome?.kind !== 'refused') return;
      throw new TerminalError(`${vendor}_refused`, `The release of ${reservationId} was refused.`);
    },
    note: (note, limit) => noteOnOrder(options, note, limit),
  };
}

const IN_DOUBT = {
  code: STOCK_IN_DOUBT,
  message: 'The stock service did not answer, and an operator must check the inventory.',
};

/** Also tests whether BigCommerce accepts the token. */
export async function probeBigCommerce(
  vendor: string,
  { url, token, send }: Pick<BigCommerceOptions, 'url' | 'token' | 'send'>,
  { timeoutMs }: CallLimit,
  nowMs: number,
): Promise<void> {
  const address = `${url}/v3/inventory/locations?limit=1`;
  const headers = await authorized(token);
  const answer = await send({ method: 'GET', url: address, headers, timeoutMs, party: vendor });
  if (answer.status !== 200) throw refusedFor(vendor, answer, nowMs);
}

async function post(
  { url, token, send, policy }: BigCommerceOptions,
  body: object,
  { timeoutMs }: CallLimit,
): Promise<HttpAnswer> {
  return send({
    method: 'POST',
    url: `${url}/v3/inventory/adjustments/relative`,
    headers: { ...(await authorized(token)), 'content-type': 'application/json' },
    body: JSON.stringify(body),
    timeoutMs,
    party: policy.vendor,
    causes: 'dropped',
  });
}

async function authorized(token: () => Promise<string>): Promise<Readonly<Record<string, string>>> {
  return { accept: 'application/json', 'x-auth-token': await token() };
}

function bodyOf({ locationId }: BigCommerceOptions, { reason, items }: Adjustment): object {
  return { reason, items: items.map(({ sku, quantity }) => ({ location_id: locationId, sku, quantity })) };
}

/** BigCommerce does not document how it handles two lines of one SKU. */
function perSku(items: readonly OrderItem[]): readonly OrderItem[] {
  const sums = new Map<string, number>();
  for (const { sku, quantity } of items) sums.set(sku, (sums.get(sku) ?? 0) + quantity);
  return [...sums].map(([sku, quantity]) => ({ sku, quantity }));
}
