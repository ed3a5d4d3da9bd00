declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** `pay_…`: derived from the request that created the payment. */
export type PaymentId = Branded<'PaymentId'>;

/** `ord_…`: derived from the request that created the order. */
export type OrderId = Branded<'OrderId'>;

/**
 * Identifies one operation that must take effect once. Every attempt sends this id to the processor as the idempotency
 * key. A payment's id is the operation id of its charge.
 */
export type OperationId = Branded<'OperationId'>;

/**
 * Identifies the owner of a claim. Every attempt gets a new token, so that a stale owner's write fails its condition (a
 * fencing token).
 */
export type OwnerToken = Branded<'OwnerToken'>;

export type TenantId = Branded<'TenantId'>;

export type Mode = 'test' | 'live';

export function storedOperationId(text: string): OperationId {
  return text as OperationId;
}

export function ownerToken(text: string): OwnerToken {
  return text as OwnerToken;
}

export function tenantId(text: string): TenantId {
  return text as TenantId;
}
