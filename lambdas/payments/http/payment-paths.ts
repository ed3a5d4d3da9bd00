import type { RouteBy } from '../../http/authenticated-api.ts';

type Path = Pick<RouteBy<never, never>, 'method' | 'path'>;

const post = (path: string) => ({ method: 'POST', path }) as const satisfies Path;
const get = (path: string) => ({ method: 'GET', path }) as const satisfies Path;

/** Methods and paths of the requests that change payments. */
export const PAYMENT_POSTS = {
  payments: post('/v1/payments'),
  capture: post('/v1/payments/{id}/capture'),
  cancel: post('/v1/payments/{id}/cancel'),
  refund: post('/v1/payments/{id}/refunds'),
};

/** Methods and paths of the requests that read payments and their parts. */
export const PAYMENT_READS = {
  payments: get('/v1/payments'),
  payment: get('/v1/payments/{id}'),
  transitions: get('/v1/payments/{id}/transitions'),
  charges: get('/v1/payments/{id}/charges'),
  refundsOfPayment: get('/v1/payments/{id}/refunds'),
  disputesOfPayment: get('/v1/payments/{id}/disputes'),
  capturesOfPayment: get('/v1/payments/{id}/captures'),
  cancellationsOfPayment: get('/v1/payments/{id}/cancellations'),
  refund: get('/v1/refunds/{id}'),
  dispute: get('/v1/disputes/{id}'),
  capture: get('/v1/captures/{id}'),
  cancellation: get('/v1/cancellations/{id}'),
  disputes: get('/v1/disputes'),
  paymentRequest: get('/v1/payment_requests/{id}'),
};
