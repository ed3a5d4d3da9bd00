import type { CreateCredit, CreateReservation } from '../lambdas/kernel/contract/shop-api.ts';

/** What a send of an order comes to, as the contract's table of magic names says. */
export type Manner =
  /** Made, and answered. */
  | { readonly kind: 'made' }
  /** Made, and no answer for so long. */
  | { readonly kind: 'silent' }
  /** Nothing made: it failed. */
  | { readonly kind: 'failed'; readonly status: 500 | 503 }
  /** Nothing made: it may not be. */
  | { readonly kind: 'refused'; readonly status: 409 | 422; readonly code: string; readonly message: string };

/** `first` is the first send of a key, `later` every one after it. */
export interface Manners {
  readonly first: Manner;
  readonly later: Manner;
}

const MADE: Manner = { kind: 'made' };
const USUAL: Manners = { first: MADE, later: MADE };
const TIMEOUT: Manners = { first: { kind: 'silent' }, later: MADE };
const FLAKY: Manners = { first: { kind: 'failed', status: 500 }, later: MADE };
const always = (manner: Manner): Manners => ({ first: manner, later: manner });
const DOWN = always({ kind: 'failed', status: 503 });
const OUT_OF_STOCK = always({
  kind: 'refused',
  status: 409,
  code: 'out_of_stock',
  message: 'There is no sku_none in stock.',
});
const UNKNOWN_REFERRER = always({
  kind: 'refused',
  status: 422,
  code: 'unknown_referrer',
  message: 'There is no referrer ref_nobody.',
});

const SKUS: ReadonlyMap<string, Manners> = new Map([
  ['sku_none', OUT_OF_STOCK],
  ['sku_timeout', TIMEOUT],
  ['sku_flaky', FLAKY],
]);

const REFERRERS: ReadonlyMap<string, Manners> = new Map([
  ['ref_nobody', UNKNOWN_REFERRER],
  ['ref_timeout', TIMEOUT],
  ['ref_flaky', FLAKY],
  ['ref_down', DOWN],
]);

export function reservationManners({ items }: CreateReservation): Manners {
  const troubled = items.flatMap(({ sku }) => SKUS.get(sku) ?? []);
  return troubled.find((manners) => manners === OUT_OF_STOCK) ?? troubled[0] ?? USUAL;
}

export function creditManners({ referrer }: CreateCredit): Manners {
  return REFERRERS.get(referrer) ?? USUAL;
}
