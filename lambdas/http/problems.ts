import type { Problem } from '../kernel/answer.ts';

interface ProblemKind {
  readonly status: number;
  readonly title: string;
}

const conflict = (title: string): ProblemKind => ({ status: 409, title });

/** Every problem code of the API, including those of the gateway. Codes never change. The API documents say what each means (api-docs/problem-meanings.ts). */
export const PROBLEMS = {
  invalid_json: { status: 400, title: 'Invalid JSON' },
  invalid_request: { status: 400, title: 'Invalid request' },
  unknown_field: { status: 400, title: 'Unknown field' },
  unknown_parameter: { status: 400, title: 'Unknown parameter' },
  card_number_not_allowed: { status: 400, title: 'Card number not allowed' },
  secret_not_allowed: { status: 400, title: 'Secret not allowed' },
  url_not_allowed: { status: 400, title: 'URL not allowed' },
  unbalanced: { status: 400, title: 'Postings unbalanced' },
  missing_idempotency_key: { status: 400, title: 'Idempotency-Key missing' },
  invalid_idempotency_key: { status: 400, title: 'Idempotency-Key invalid' },
  unauthorized: { status: 401, title: 'Unauthorized' },
  invalid_signature: { status: 401, title: 'Invalid signature' },
  payment_failed: { status: 402, title: 'Payment failed' },
  payment_canceled: { status: 402, title: 'Payment canceled' },
  capture_failed: { status: 402, title: 'Capture failed' },
  cancellation_failed: { status: 402, title: 'Cancellation failed' },
  refund_failed: { status: 402, title: 'Refund failed' },
  insufficient_scope: { status: 403, title: 'Insufficient scope' },
  insufficient_role: { status: 403, title: 'Insufficient role' },
  livemode_not_available: { status: 403, title: 'Live mode not available' },
  own_approval: { status: 403, title: 'Own approval' },
  testmode_not_available: { status: 403, title: 'Test mode not available' },
  forbidden: { status: 403, title: 'Forbidden' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
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
  body_too_large: { status: 413, title: 'Content too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  idempotency_key_payload_mismatch: { status: 422, title: 'Idempotency-Key used with another request' },
  no_processor_for_payment: { status: 422, title: 'No processor for this payment' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal_error: { status: 500, title: 'Internal error' },
  balance_too_large: { status: 500, title: 'Balance too large' },
  no_processor_configured: { status: 503, title: 'No processor configured' },
  processor_unavailable: { status: 503, title: 'Processor unavailable' },
  temporarily_unavailable: { status: 503, title: 'Temporarily unavailable' },
  timeout: { status: 504, title: 'Gateway timeout' },
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof PROBLEMS;

/** Makes a problem; `param` names the invalid field. */
export function problem(code: ProblemCode, detail: string, param?: string): Problem {
  const { status, title } = PROBLEMS[code];
  return { status, code, title, detail, ...(param === undefined ? {} : { param }) };
}

/** The result of validating a part of a request. */
export type Parsed<Value> =
  | { readonly kind: 'valid'; readonly value: Value }
  | { readonly kind: 'refused'; readonly problem: Problem };

export function valid<Value>(value: Value): Parsed<Value> {
  return { kind: 'valid', value };
}

export function refused(code: ProblemCode, detail: string, param?: string): Parsed<never> {
  return { kind: 'refused', problem: problem(code, detail, param) };
}
