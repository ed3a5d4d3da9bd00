import type { CreateCredit, CreateReservation } from '../lambdas/orders/parties/shop-api.ts';

/** The table of magic names is in shop-api.ts. */
export type Behavior =
  /** The request is applied. */
  | { readonly kind: 'made' }
  /** The request is applied, but the only response is 504, after `SILENCE_MS`. */
  | { readonly kind: 'silent' }
  /** The request fails and is not applied. */
  | { readonly kind: 'failed'; readonly status: 500 | 503 }
  /** The request is refused and not applied. */
  | { readonly kind: 'refused'; readonly status: 409 | 422; readonly code: string; readonly message: string };

/** `first` also applies to requests without a key. */
export interface Behaviors {
  readonly first: Behavior;
  readonly later: Behavior;
}

const MADE: Behavior = { kind: 'made' };
const USUAL: Behaviors = { first: MADE, later: MADE };
const TIMEOUT: Behaviors = { first: { kind: 'silent' }, later: MADE };
const FLAKY: Behaviors = { first: { kind: 'failed', status: 500 }, later: MADE };
const always = (behavior: Behavior): Behaviors => ({ first: behavior, later: behavior });
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

const SKUS: ReadonlyMap<string, Behaviors> = new Map([
  ['sku_none', OUT_OF_STOCK],
  ['sku_timeout', TIMEOUT],
  ['sku_flaky', FLAKY],
]);

const REFERRERS: ReadonlyMap<string, Behaviors> = new Map([
  ['ref_nobody', UNKNOWN_REFERRER],
  ['ref_timeout', TIMEOUT],
  ['ref_flaky', FLAKY],
  ['ref_down', DOWN],
]);

export function reservationBehaviors({ items }: CreateReservation): Behaviors {
  const troubled = items.flatMap(({ sku }) => SKUS.get(sku) ?? []);
  return troubled.find((behaviors) => behaviors === OUT_OF_STOCK) ?? troubled[0] ?? USUAL;
}

export function creditBehaviors({ referrer }: CreateCredit): Behaviors {
  return REFERRERS.get(referrer) ?? USUAL;
}
