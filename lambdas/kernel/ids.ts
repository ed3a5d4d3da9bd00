declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** `pay_…`: derived from the request that created the payment. */
export type PaymentId = Branded<'PaymentId'>;

/** `ord_…`: derived from the request that created the order. */
export type OrderId = Branded<'OrderId'>;

/**
 * Identifies one operation that must take effect once. It is also the idempotency key at the processor, the same on
 * every attempt. A payment's id is the operation id of its charge.
 */
export type OperationId = Branded<'OperationId'>;

/** The owner of a claim: new for every attempt, so that a stale owner's write fails its condition (a fencing token). */
export type OwnerToken = Branded<'OwnerToken'>;

export type TenantId = Branded<'TenantId'>;

export type Mode = 'test' | 'live';

/** Converts stored text to an operation id, without checking it. */
export function storedOperationId(text: string): OperationId {
  return text as OperationId;
}

export function ownerToken(text: string): OwnerToken {
  return text as OwnerToken;
}

export function tenantId(text: string): TenantId {
  return text as TenantId;
}
