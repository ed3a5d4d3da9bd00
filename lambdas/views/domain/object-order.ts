import { PAYMENT_OBJECT } from '../../payments/domain/payment.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Field order of `paymentObject`, `refundObject` and the dispute object. */
const ORDERS: Readonly<Record<string, readonly string[]>> = {
  payment: PAYMENT_OBJECT.names,
  refund: ['id', 'object', 'payment', 'amount', 'currency', 'status', 'reason', 'failure', 'created'],
  dispute: ['id', 'object', 'payment', 'charge_id', 'amount', 'currency', 'status'],
  event: ['id', 'object', 'type', 'version', 'created', 'sequence', 'livemode', 'data'],
};
const INNER: Readonly<Record<string, readonly string[]>> = {
  next_action: ['type', 'url'],
  processor: ['name', 'charge_id', 'fee'],
  failure: ['code', 'message'],
};

/**
 * Restores the field order in which an API object was rendered. The event bus and JSON parsers can change it, and a list must
 * return the same bytes as a read by id.
 */
export function renderedOrder(object: Fields): Fields {
  const order = ORDERS[String(object['object'])] ?? [];
  return Object.fromEntries(
    Object.entries(inOrder(object, order)).map(([name, value]) => [name, isFields(value) ? inner(name, value) : value]),
  );
}

function inner(name: string, value: Fields): Fields {
  const about = value['object'];
  if (name === 'data' && isFields(about)) return { ...value, object: renderedOrder(about) };
  // `paymentObject` sorts metadata by key.
  if (name === 'metadata') return inOrder(value, Object.keys(value).sort());
  return inOrder(value, INNER[name] ?? []);
}

function inOrder(object: Fields, order: readonly string[]): Fields {
  const known = order.filter((name) => Object.hasOwn(object, name));
  const others = Object.keys(object).filter((name) => !order.includes(name));
  return Object.fromEntries([...known, ...others].map((name) => [name, object[name]]));
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
