import * as z from 'zod';
import type { CallLimit, Clock } from '../../kernel/world.ts';
import { callOnce, type HttpAnswer } from '../../outbound/http-call.ts';
import type { OutboundPolicy } from '../../outbound/outbound-policy.ts';
import { type SendOptions, type SendOutcome, sendOnce } from '../../outbound/send-once.ts';
import type { SendingClaims } from '../../outbound/use/sending-claims.ts';
import { readCreateAnswer, readFoundOrder, refusedFor } from './bigcommerce-answers.ts';

const line = z.string().min(1).max(255);

/** An order for fulfilment by the store. The payment was taken elsewhere. */
export const storeOrderSchema = z.strictObject({
  /** Payonce's own reference, the same for every attempt to create this order. */
  reference: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  billingAddress: z.strictObject({
    firstName: line,
    lastName: line,
    street: line,
    city: line,
    state: line,
    zip: line,
    country: line,
    /** ISO 3166-1 alpha-2. */
    countryCode: z.string().regex(/^[A-Z]{2}$/),
    email: z.email(),
  }),
  items: z
    .array(
      z.strictObject({
        name: line,
        quantity: z.int().min(1).max(10_000),
        /** The price of one item, tax included, in the store's currency: `19.99`. */
        price: z.string().regex(/^\d{1,12}(\.\d{1,3})?$/),
      }),
    )
    .min(1)
    .max(100),
});

export type StoreOrder = Readonly<z.infer<typeof storeOrderSchema>>;

export interface BigCommerceOptions {
  /** Without a trailing slash. @default https://api.bigcommerce.com */
  readonly url?: string;
  readonly storeHash: string;
  /** Called for every request, so that a rotated token takes effect. Required scope: orders, modify. */
  readonly token: () => Promise<string>;
  readonly policy: OutboundPolicy;
  readonly claims: SendingClaims;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** `none` for a store where other clients may change the orders' references. @default absence is proof after 15 minutes */
  readonly lookup?: { readonly kind: 'eventual'; readonly maxLagMs: number } | { readonly kind: 'none' };
}

export interface OrderMaker {
  /**
   * Creates an order once, by its `reference`. The payload of a dead letter is the order; send it to redrive.
   *
   * @throws as `sendOnce`
   */
  createOrder(order: StoreOrder, options: SendOptions): Promise<SendOutcome>;
}

const BIGCOMMERCE_URL = 'https://api.bigcommerce.com';

/** BigCommerce documents no figure for the lag of the list. The value is long: a second parcel is worse than a late one. */
const DEFAULT_LOOKUP = { kind: 'eventual', maxLagMs: 15 * 60 * 1_000 } as const;

/** BigCommerce's order statuses: awaiting fulfilment. */
const AWAITING_FULFILMENT = 11;

/**
 * Orders in a BigCommerce store. Its API has no idempotency keys: two equal requests create two orders. Payonce's
 * reference is sent three times: as `external_id`, which cannot be changed; as `external_order_id`, the only such field
 * that the list can be filtered by; and in the staff notes, for operators.
 */
export function createBigCommerce(options: BigCommerceOptions): OrderMaker {
  const { url = BIGCOMMERCE_URL, storeHash, policy, claims, clock, lookup = DEFAULT_LOOKUP } = options;
  const orders = `${url}/stores/${encodeURIComponent(storeHash)}/v2/orders`;

  const post = async (order: StoreOrder, { timeoutMs }: CallLimit): Promise<HttpAnswer> => {
    const headers = { ...(await authorized(options.token)), 'content-type': 'application/json' };
    const body = JSON.stringify(orderBody(order));
    return callOnce({ method: 'POST', url: orders, headers, body, timeoutMs, party: policy.vendor });
  };
  const list = async (reference: string, { timeoutMs }: CallLimit): Promise<HttpAnswer> => {
    const query = new URLSearchParams({ external_order_id: reference });
    const headers = await authorized(options.token);
    return callOnce({ method: 'GET', url: `${orders}?${query.toString()}`, headers, timeoutMs, party: policy.vendor });
  };

  return {
    createOrder: (order, { deadlineMs, givenUp = 'throw' }) => {
      const { reference } = order;
      return sendOnce(
        { policy, claims, clock },
        {
          key: reference,
          operation: 'order.create',
          deadlineMs,
          send: async (limit) => readCreateAnswer(policy.vendor, await post(order, limit), clock.nowMs()),
          ...(lookup.kind === 'none'
            ? {}
            : {
                lookUp: {
                  find: async (limit) =>
                    readFoundOrder(policy.vendor, reference, await list(reference, limit), clock.nowMs()),
                  maxLagMs: lookup.maxLagMs,
                },
              }),
          withinCall: 'never',
          givenUp,
          payload: order,
        },
      );
    },
  };
}

/** Counts the store's orders, to test whether BigCommerce is available and accepts the token. */
export async function probeBigCommerce(
  vendor: string,
  { url = BIGCOMMERCE_URL, storeHash, token }: Pick<BigCommerceOptions, 'url' | 'storeHash' | 'token'>,
  { timeoutMs }: CallLimit,
  nowMs: number,
): Promise<void> {
  const address = `${url}/stores/${encodeURIComponent(storeHash)}/v2/orders/count`;
  const headers = await authorized(token);
  const answer = await callOnce({ method: 'GET', url: address, headers, timeoutMs, party: vendor });
  if (answer.status !== 200) throw refusedFor(vendor, answer, nowMs);
}

async function authorized(token: () => Promise<string>): Promise<Readonly<Record<string, string>>> {
  return { accept: 'application/json', 'x-auth-token': await token() };
}

function orderBody({ reference, billingAddress, items }: StoreOrder): object {
  return {
    status_id: AWAITING_FULFILMENT,
    external_id: reference,
    external_order_id: reference,
    external_source: 'Payonce',
    staff_notes: `Payonce ${reference}`,
    billing_address: {
      first_name: billingAddress.firstName,
      last_name: billingAddress.lastName,
      street_1: billingAddress.street,
      city: billingAddress.city,
      state: billingAddress.state,
      zip: billingAddress.zip,
      country: billingAddress.country,
      country_iso2: billingAddress.countryCode,
      email: billingAddress.email,
    },
    products: items.map(({ name, quantity, price }) => ({
      name,
      quantity,
      price_inc_tax: price,
      price_ex_tax: price,
    })),
  };
}
