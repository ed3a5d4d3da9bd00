import type { RoutePath } from '../../http/authenticated-api.ts';

const post = (path: string) => ({ method: 'POST', path }) as const satisfies RoutePath;

/** Served by the payments function. */
export const PAYMENT_POSTS = {
  payments: post('/v1/payments'),
  capture: post('/v1/payments/{id}/capture'),
  cancel: post('/v1/payments/{id}/cancel'),
  refund: post('/v1/payments/{id}/refunds'),
};

/**
 * Served by the reads function. A `POST` to one of these paths returns 405 unless `PAYMENT_POSTS` contains the path.
 * A test checks that this list equals the declared endpoints.
 */
export const PAYMENT_READ_PATHS: readonly string[] = [
  '/v1/payments',
  '/v1/payments/{id}',
  '/v1/payments/{id}/transitions',
  '/v1/payments/{id}/charges',
  '/v1/payments/{id}/refunds',
  '/v1/payments/{id}/disputes',
  '/v1/payments/{id}/captures',
  '/v1/payments/{id}/cancellations',
  '/v1/refunds/{id}',
  '/v1/disputes/{id}',
  '/v1/captures/{id}',
  '/v1/cancellations/{id}',
  '/v1/disputes',
  '/v1/payment_requests/{id}',
];

/** The `Allow` header of a path lists its methods in this order. */
export const PAYMENT_PATHS: readonly RoutePath[] = [
  ...Object.values(PAYMENT_POSTS),
  ...PAYMENT_READ_PATHS.map((path) => ({ method: 'GET', path }) as const),
];
