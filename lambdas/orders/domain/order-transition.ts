import type { Cause, Occasion } from '../../kernel/cause.ts';
import { type Digest, sameBytes } from '../../kernel/digest.ts';
import { everyField } from '../../kernel/fields.ts';
import { brokenLink, hex, type Link, linkHash, NO_PREDECESSOR } from '../../kernel/hash-chain.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type Seal, sealOf } from '../../kernel/sealed-details.ts';
import type { Order, OrderDraft, OrderTransitionType } from './order.ts';

export interface OrderLine {
  readonly sku: string;
  readonly quantity: number;
}

/** Personal data, stored in a details row that can be erased. */
export interface OrderContacts {
  readonly email: string;
  readonly referrer?: string;
  /** The payment's metadata also contains the affiliate. */
  readonly affiliate?: string;
  /** @default the page of the deployment */
  readonly returnUrl?: string;
}

export function contactsOf({ email, referrer, affiliate, returnUrl }: OrderContacts): OrderContacts {
  return everyField<OrderContacts>({ email, referrer, affiliate, returnUrl });
}

/** Fields that are stored on the first transition only, because they are long or never change. */
export interface StoredOrderDetails {
  /** Later responses repeat the id of the request that created the order, so that all responses have the same bytes. */
  readonly requestId: string;
  readonly source: string;
  readonly items: readonly OrderLine[];
  readonly shopOrder?: number;
  /** Salted hash of the contacts. */
  readonly commitment: Seal['commitment'];
}

/** The hash covers the contacts only through their commitment. */
export interface OrderDetails extends StoredOrderDetails, Partial<OrderContacts>, Partial<Pick<Seal, 'salt'>> {
  readonly detailsErased?: true;
  /** Keyed hash of a new order's e-mail address, by which an index finds the contacts row. */
  readonly emailHash?: string;
}

/** The postings are in the payment's chain. */
export interface OrderTransition {
  /** From 1. */
  readonly sequence: number;
  readonly type: OrderTransitionType;
  readonly occurredAtMs: number;
  readonly cause: Cause;
  readonly order: Order;
  readonly first?: OrderDetails;
  readonly prevHash: Uint8Array;
  readonly hash: Uint8Array;
}

type Unsealed = Omit<OrderTransition, 'prevHash' | 'hash'>;

export function firstOrderTransition(
  digest: Digest,
  draft: OrderDraft,
  first: OrderDetails,
  { occurredAtMs, cause }: Occasion,
): OrderTransition {
  return seal(digest, { sequence: 1, ...draft, occurredAtMs, cause, first }, NO_PREDECESSOR);
}

export function nextOrderTransitions(
  digest: Digest,
  newest: OrderTransition,
  drafts: readonly OrderDraft[],
  { occurredAtMs, cause }: Occasion,
): readonly OrderTransition[] {
  const sealed: OrderTransition[] = [];
  let last = newest;
  for (const draft of drafts) {
    last = seal(digest, { sequence: last.sequence + 1, ...draft, occurredAtMs, cause }, last.hash);
    sealed.push(last);
  }
  return sealed;
}

function seal(digest: Digest, unsealed: Unsealed, prevHash: Uint8Array): OrderTransition {
  return { ...unsealed, prevHash, hash: linkHash(digest, contentOf(unsealed), prevHash) };
}

function contentOf({ first, ...rest }: Unsealed): Readonly<Record<string, unknown>> {
  if (first === undefined) return rest;
  const { commitment, ...stored } = storedOrderDetails(first);
  return { ...rest, first: { ...stored, commitment: hex(commitment) } };
}

export function storedOrderDetails(details: OrderDetails): StoredOrderDetails {
  const { requestId, source, items, shopOrder, commitment } = details;
  return everyField<StoredOrderDetails>({ requestId, source, items, shopOrder, commitment });
}

/**
 * Used when the record of the request that created the order no longer exists. The chain contains no fingerprint, so
 * this function compares the terms, and the contacts through their commitment. Erased contacts are not compared.
 */
export function isOrderedBy(
  digest: Digest,
  { order, details }: { readonly order: Order; readonly details: OrderDetails },
  request: Pick<Order, 'amountMinor' | 'currency'> &
    Pick<StoredOrderDetails, 'source' | 'items' | 'shopOrder'> &
    OrderContacts,
): boolean {
  const terms = ({ amountMinor, currency, source, items, shopOrder = 0 }: Omit<typeof request, 'email'>) =>
    digest.canonicalJson({ amountMinor, currency, source, items, shopOrder });
  if (terms({ ...order, ...details }) !== terms(request)) return false;
  const { commitment, salt } = details;
  return salt === undefined || sameBytes(sealOf(digest, contactsOf(request), salt).commitment, commitment);
}

/**
 * @param transitions oldest first
 * @param before the preceding transition @default none: `transitions` begin the chain
 * @returns the sequence of the first transition that is out of order or does not match its hash; undefined if there is
 * none
 */
export function firstBrokenOrderLink(
  digest: Digest,
  transitions: readonly OrderTransition[],
  before?: Link,
): number | undefined {
  return brokenLink(
    transitions,
    ({ prevHash, hash: _claimed, ...unsealed }) => linkHash(digest, contentOf(unsealed), prevHash),
    before,
  );
}

/** @throws InvariantViolation when `transition` is not an order's first transition */
export function orderDetailsOf(transition: OrderTransition): OrderDetails {
  invariant(
    transition.first !== undefined,
    `transition ${transition.sequence} is not the first transition of an order`,
  );
  return transition.first;
}
