import type { Problem } from '../kernel/answer.ts';
import { defined } from '../kernel/defined.ts';

interface ProblemKind {
  readonly status: number;
  readonly title: string;
}

const kind = (status: number, title: string): ProblemKind => ({ status, title });
const conflict = (title: string): ProblemKind => kind(409, title);

/**
 * All problem codes of the API, including those of the gateway. Codes never change. The API documentation explains each
 * code (api-docs/problem-meanings.ts).
 */
export const PROBLEMS = {
  invalid_json: kind(400, 'Invalid JSON'),
  invalid_request: kind(400, 'Invalid request'),
  unknown_field: kind(400, 'Unknown field'),
  unknown_parameter: kind(400, 'Unknown parameter'),
  card_number_not_allowed: kind(400, 'Card number not allowed'),
  secret_not_allowed: kind(400, 'Secret not allowed'),
  url_not_allowed: kind(400, 'URL not allowed'),
  unbalanced: kind(400, 'Postings unbalanced'),
  missing_idempotency_key: kind(400, 'Idempotency-Key missing'),
  invalid_idempotency_key: kind(400, 'Idempotency-Key invalid'),
  unauthorized: kind(401, 'Unauthorized'),
  invalid_signature: kind(401, 'Invalid signature'),
  payment_failed: kind(402, 'Payment failed'),
  payment_canceled: kind(402, 'Payment canceled'),
  capture_failed: kind(402, 'Capture failed'),
  cancellation_failed: kind(402, 'Cancellation failed'),
  refund_failed: kind(402, 'Refund failed'),
  insufficient_scope: kind(403, 'Insufficient scope'),
  insufficient_role: kind(403, 'Insufficient role'),
  livemode_not_available: kind(403, 'Live mode not available'),
  own_approval: kind(403, 'Own approval'),
  testmode_not_available: kind(403, 'Test mode not available'),
  forbidden: kind(403, 'Forbidden'),
  not_found: kind(404, 'Not found'),
  method_not_allowed: kind(405, 'Method not allowed'),
  idempotency_key_in_progress: conflict('Request in progress'),
  webhook_endpoint_limit: conflict('Too many webhook endpoints'),
  webhook_endpoint_disabled: conflict('Webhook endpoint disabled'),
  webhook_replay_running: conflict('Webhook replay running'),
  too_many_exports: conflict('Too many unfinished exports'),
  idempotency_key_expired: conflict('Idempotency-Key expired'),
  already_reversed: conflict('Already reversed'),
  approval_ended: conflict('Approval ended'),
  approval_outdated: conflict('Approval outdated'),
  key_ended: conflict('Key ended'),
  last_owner_key: conflict('Last key of an owner'),
  nothing_to_redrive: conflict('Nothing to redrive'),
  reference_already_used: conflict('Reference already used'),
  payment_not_attempted: conflict('Payment not attempted'),
  capture_not_attempted: conflict('Capture not attempted'),
  cancellation_not_attempted: conflict('Cancellation not attempted'),
  refund_not_attempted: conflict('Refund not attempted'),
  order_not_attempted: conflict('Order not attempted'),
  out_of_stock: conflict('Out of stock'),
  order_canceled: conflict('Order canceled'),
  payment_not_capturable: conflict('Payment not capturable'),
  payment_not_cancelable: conflict('Payment not cancelable'),
  payment_not_refundable: conflict('Payment not refundable'),
  payment_not_in_review: conflict('Payment not in review'),
  change_not_undecided: conflict('Change not undecided'),
  charge_unknown_at_processor: conflict('Charge unknown at the processor'),
  amount_differs_from_processor: conflict('Amount differs from the processor'),
  processor_books_unreadable: conflict('Processor’s books unreadable'),
  override_not_allowed: conflict('Override not allowed'),
  change_in_progress: conflict('Change in progress'),
  too_many_refunds: conflict('Too many refunds of one payment'),
  amount_exceeds_left: conflict('Amount exceeds the remainder'),
  body_too_large: kind(413, 'Content too large'),
  unsupported_media_type: kind(415, 'Unsupported media type'),
  idempotency_key_payload_mismatch: kind(422, 'Idempotency-Key used with another request'),
  no_processor_for_payment: kind(422, 'No processor for this payment'),
  rate_limited: kind(429, 'Too many requests'),
  internal_error: kind(500, 'Internal error'),
  balance_too_large: kind(500, 'Balance too large'),
  no_processor_configured: kind(503, 'No processor configured'),
  processor_unavailable: kind(503, 'Processor unavailable'),
  temporarily_unavailable: kind(503, 'Temporarily unavailable'),
  timeout: kind(504, 'Gateway timeout'),
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof PROBLEMS;

export function problem(code: ProblemCode, detail: string, param?: string): Problem {
  const { status, title } = PROBLEMS[code];
  return { status, code, title, detail, ...defined({ param }) };
}

export type Parsed<Value> =
  | { readonly kind: 'valid'; readonly value: Value }
  | { readonly kind: 'refused'; readonly problem: Problem };

export function valid<Value>(value: Value): Parsed<Value> {
  return { kind: 'valid', value };
}

export function refused(code: ProblemCode, detail: string, param?: string): Parsed<never> {
  return { kind: 'refused', problem: problem(code, detail, param) };
}
