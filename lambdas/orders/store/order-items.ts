import * as z from 'zod';
import { EmailRow, LedgerRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import { type OrderId, type PaymentId, type TenantId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type Item, itemSchema } from '../../kernel/platform/items.ts';
import { causeItem } from '../../once/store/cause-item.ts';
import {
  type DetailsRows,
  type DetailsTools,
  detailsItem,
  emailAttributes,
  readDetails,
} from '../../once/store/details-rows.ts';
import type { StoreTables, TransactItem } from '../../once/store/transact-items.ts';
import { type NewDetails, outcomeAttributes, transitionSort } from '../../payments/store/items.ts';
import {
  CHARGE_STATUSES,
  EMAIL_STATUSES,
  isOrderOutcome,
  ORDER_STATUSES,
  ORDER_TRANSITION_TYPES,
  type Order,
  REFERRAL_STATUSES,
  RESERVATION_STATUSES,
  REVERSAL_KINDS,
} from '../domain/order.ts';
import {
  contactsOf,
  type OrderContacts,
  type OrderDetails,
  type OrderTransition,
  type StoredOrderDetails,
  storedOrderDetails,
} from '../domain/order-transition.ts';

const bytes = z.instanceof(Uint8Array);
const milliseconds = z.int();
const orderId = z.string().transform((id) => id as OrderId);
const step = <Status extends string>(statuses: readonly [Status, ...Status[]]) => ({
  status: z.enum(statuses),
  sinceMs: milliseconds,
});

const orderItem = itemSchema<Order>()({
  id: orderId,
  tenantId: z.string().transform((id) => id as TenantId),
  mode: z.enum(['test', 'live']),
  status: z.enum(ORDER_STATUSES),
  amountMinor: z.int().min(1),
  currency: z.string(),
  paymentId: z.string().transform((id) => id as PaymentId),
  charge: itemSchema<Order['charge']>()({
    ...step(CHARGE_STATUSES),
    attempt: z.int().min(1).exactOptional(),
    by: z.enum(REVERSAL_KINDS).exactOptional(),
  }),
  reservation: itemSchema<Order['reservation']>()({
    ...step(RESERVATION_STATUSES),
    reservationId: z.string().exactOptional(),
  }),
  email: itemSchema<Order['email']>()(step(EMAIL_STATUSES)),
  referral: itemSchema<Order['referral']>()(step(REFERRAL_STATUSES)),
  failure: z.object({ code: z.string(), message: z.string() }).exactOptional(),
  failedAtMs: milliseconds.exactOptional(),
  answered: z.boolean(),
  createdAtMs: milliseconds,
});

const orderTransitionItem = itemSchema<OrderTransition>()({
  sequence: z.int().min(1),
  type: z.enum(ORDER_TRANSITION_TYPES),
  occurredAtMs: milliseconds,
  cause: causeItem(),
  order: orderItem,
  first: itemSchema<StoredOrderDetails>()({
    requestId: z.string(),
    source: z.string(),
    items: z.array(z.object({ sku: z.string(), quantity: z.int().min(1) })),
    shopOrder: z.int().min(1).exactOptional(),
    commitment: bytes,
  }).exactOptional(),
  prevHash: bytes,
  hash: bytes,
});

export function orderPartition(id: OrderId): string {
  return `${LedgerRow.order}${id}`;
}

/** The row has no personal data, which is in the details row. */
export function storedOrderTransition(transition: OrderTransition): Item {
  return {
    ...transition,
    ...(transition.first === undefined ? {} : { first: storedOrderDetails(transition.first) }),
  };
}

export function orderTransitionRow(transition: OrderTransition): Item {
  return {
    [KeyAttribute.partition]: orderPartition(transition.order.id),
    [KeyAttribute.sort]: transitionSort(transition.sequence),
    ...storedOrderTransition(transition),
    ...(isOrderOutcome(transition.type) ? outcomeAttributes(transition.order.id, transition) : {}),
  };
}

const contactsItem = itemSchema<OrderContacts>()({
  email: z.string(),
  referrer: z.string().exactOptional(),
  affiliate: z.string().exactOptional(),
  returnUrl: z.string().exactOptional(),
});

export function newContacts({ email, salt, emailHash, ...contacts }: OrderDetails): NewDetails {
  invariant(email !== undefined && salt !== undefined, 'a new order has no contacts');
  return { salt, details: contactsOf({ ...contacts, email }), ...defined({ emailHash }) };
}

export function contactsPut(
  tables: Pick<StoreTables, 'registry'>,
  { id, createdAtMs }: Pick<Order, 'id' | 'createdAtMs'>,
  { salt, details, emailHash: hash }: NewDetails,
): TransactItem {
  const found = hash === undefined ? {} : emailAttributes(id, { kind: EmailRow.order, hash, createdAtMs });
  return detailsItem(tables, id, salt, details, { found });
}

/**
 * Adds the contacts to an order's first transition, or `detailsErased` after their erasure.
 *
 * @throws InvariantViolation as `readDetails`
 */
export async function withContacts(
  from: DetailsTools | DetailsRows,
  transition: OrderTransition,
): Promise<OrderTransition> {
  const { first, order } = transition;
  if (first === undefined) return transition;
  const contacts = await readDetails(from, order.id, first.commitment, contactsItem);
  return { ...transition, first: { ...first, ...(contacts ?? { detailsErased: true }) } };
}

export function parseOrderTransition(item: Item): OrderTransition {
  return orderTransitionItem.parse(item);
}
