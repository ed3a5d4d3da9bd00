import type { Problem } from '../kernel/answer.ts';

interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** For the API documents: when the problem occurs and what to do. */
  readonly meaning: string;
}

/** Every problem code of the API, including those of the gateway. Codes never change. The API documents are generated from this list. */
export const PROBLEMS = {
  invalid_json: {
    status: 400,
    title: 'Invalid JSON',
    meaning: 'The body is not one JSON object that every reader understands alike (RFC 8259, RFC 7493).',
  },
  invalid_request: { status: 400, title: 'Invalid request', meaning: 'A field or parameter has a value out of range.' },
  unknown_field: {
    status: 400,
    title: 'Unknown field',
    meaning: 'The body has a field that this route does not accept.',
  },
  unknown_parameter: {
    status: 400,
    title: 'Unknown parameter',
    meaning: 'The query has a parameter that this route does not accept.',
  },
  card_number_not_allowed: {
    status: 400,
    title: 'Card number not allowed',
    meaning:
      'A field, parameter, header or path contains text that looks like a card number. Send a token from your processor instead.',
  },
  secret_not_allowed: {
    status: 400,
    title: 'Secret not allowed',
    meaning:
      'A field, parameter, header or path contains text that looks like a secret key. Replace that key now, and send the request without it.',
  },
  url_not_allowed: {
    status: 400,
    title: 'URL not allowed',
    meaning: 'Webhooks are sent to public https addresses only. The address is checked again before each delivery.',
  },
  unbalanced: {
    status: 400,
    title: 'Postings unbalanced',
    meaning: 'The debits of the postings do not equal their credits.',
  },
  missing_idempotency_key: {
    status: 400,
    title: 'Idempotency-Key missing',
    meaning: 'This route needs an Idempotency-Key header.',
  },
  invalid_idempotency_key: {
    status: 400,
    title: 'Idempotency-Key invalid',
    meaning: 'A key is 1 to 128 visible ASCII characters, raw or quoted, and only one is given.',
  },
  unauthorized: {
    status: 401,
    title: 'Unauthorized',
    meaning: 'No valid API key was presented in the Authorization header.',
  },
  invalid_signature: {
    status: 401,
    title: 'Invalid signature',
    meaning: 'The callback is not signed by its processor, or was signed too long ago. Nothing of it was stored.',
  },
  payment_failed: {
    status: 402,
    title: 'Payment failed',
    meaning:
      'The payment failed without a charge. The answer contains the payment or its order, and is final for this key.',
  },
  payment_canceled: {
    status: 402,
    title: 'Payment canceled',
    meaning: 'The payment was canceled at the processor before its capture, without a charge. Final for this key.',
  },
  capture_failed: {
    status: 402,
    title: 'Capture failed',
    meaning: 'The processor refused the capture; nothing has changed. Final for this key; a new key can succeed.',
  },
  cancellation_failed: {
    status: 402,
    title: 'Cancellation failed',
    meaning: 'The processor refused the cancellation; nothing has changed. Final for this key.',
  },
  refund_failed: {
    status: 402,
    title: 'Refund failed',
    meaning:
      'The processor refused the refund; no money was returned. The answer contains the refund, and is final for this key.',
  },
  insufficient_scope: {
    status: 403,
    title: 'Insufficient scope',
    meaning: 'The API key is valid, but lacks the scope that this route needs.',
  },
  forbidden: { status: 403, title: 'Forbidden', meaning: 'The firewall before the API refused the request.' },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning: 'The path or object does not exist, or this API key has no access to it.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path exists, and the Allow header names its methods.',
  },
  idempotency_key_in_progress: {
    status: 409,
    title: 'Request in progress',
    meaning: 'The first request with this key is still running. Retry, or send Prefer: wait=8.',
  },
  webhook_endpoint_limit: {
    status: 409,
    title: 'Too many webhook endpoints',
    meaning: 'The maximum number of endpoints exists. Delete one, then retry with the same key.',
  },
  webhook_endpoint_disabled: {
    status: 409,
    title: 'Webhook endpoint disabled',
    meaning: 'Nothing is sent to this endpoint. Enable it, then retry with the same key.',
  },
  idempotency_key_expired: {
    status: 409,
    title: 'Idempotency-Key expired',
    meaning:
      'The key was used before, and its answer is no longer stored. Read the named payment or order; this request had no effect.',
  },
  already_reversed: {
    status: 409,
    title: 'Already reversed',
    meaning:
      'This set of postings was reversed before. The reversing correction is a transition that can itself be reversed once.',
  },
  reference_already_used: {
    status: 409,
    title: 'Reference already used',
    meaning: 'Another payment uses this reference. It is free again after that payment has failed or was canceled.',
  },
  payment_not_attempted: {
    status: 409,
    title: 'Payment not attempted',
    meaning: 'Nothing was sent to the processor, so there is no charge. Start again with a new key.',
  },
  capture_not_attempted: {
    status: 409,
    title: 'Capture not attempted',
    meaning: 'Nothing was sent to the processor; nothing has changed. Start again with a new key.',
  },
  cancellation_not_attempted: {
    status: 409,
    title: 'Cancellation not attempted',
    meaning: 'Nothing was sent to the processor; nothing has changed. Start again with a new key.',
  },
  refund_not_attempted: {
    status: 409,
    title: 'Refund not attempted',
    meaning: 'Nothing was sent to the processor, so there is no refund. Start again with a new key.',
  },
  order_not_attempted: {
    status: 409,
    title: 'Order not attempted',
    meaning: 'Nothing was sent to the processor, so there is no charge. Start again with a new key.',
  },
  out_of_stock: {
    status: 409,
    title: 'Out of stock',
    meaning: 'The charge was reversed. The answer contains the order, and is final for this key.',
  },
  order_canceled: {
    status: 409,
    title: 'Order canceled',
    meaning:
      'The order could not be fulfilled, and its charge was reversed. The answer contains the order, and is final for this key.',
  },
  payment_not_capturable: {
    status: 409,
    title: 'Payment not capturable',
    meaning: 'Only a payment that requires capture can be captured. Nothing is stored against the key.',
  },
  payment_not_cancelable: {
    status: 409,
    title: 'Payment not cancelable',
    meaning:
      'Only a payment that waits for its payer or its capture can be canceled. Nothing is stored against the key.',
  },
  payment_not_refundable: {
    status: 409,
    title: 'Payment not refundable',
    meaning: 'Only a payment that has succeeded can be refunded. Nothing is stored against the key.',
  },
  payment_not_in_review: {
    status: 409,
    title: 'Payment not in review',
    meaning: 'Only a payment that needs review waits for an operator’s decision.',
  },
  change_not_undecided: {
    status: 409,
    title: 'Change not undecided',
    meaning:
      'An operator can decide a change only when its outcome is undecidable, and only as the payment’s transitions allow.',
  },
  change_in_progress: {
    status: 409,
    title: 'Change in progress',
    meaning: 'Another capture or cancellation of the payment is in progress. Retry after it has ended.',
  },
  too_many_refunds: {
    status: 409,
    title: 'Too many refunds of one payment',
    meaning: 'The payment has the largest number of refunds that a payment can have.',
  },
  amount_exceeds_left: {
    status: 409,
    title: 'Amount exceeds the remainder',
    meaning:
      'The amount exceeds what can still be captured or refunded; pending refunds count. The answer states the remainder.',
  },
  body_too_large: { status: 413, title: 'Content too large', meaning: 'The body is larger than the API accepts.' },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'The body must be application/json in UTF-8.',
  },
  idempotency_key_payload_mismatch: {
    status: 422,
    title: 'Idempotency-Key used with another request',
    meaning: 'The key belongs to a request with another body. Its stored answer is unchanged; use a new key.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    meaning: 'The request had no effect. Retry with the same key after Retry-After.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    meaning: 'The service failed. Retry with the same key: the request takes effect at most once.',
  },
  balance_too_large: {
    status: 500,
    title: 'Balance too large',
    meaning: 'A sum is beyond the integers that JSON carries exactly (2^53 - 1), and is not answered rounded.',
  },
  processor_unavailable: {
    status: 503,
    title: 'Processor unavailable',
    meaning: 'The payment processor cannot be reached now. Retry with the same key after Retry-After.',
  },
  temporarily_unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    meaning: 'The request could not be served now. Retry with the same key after Retry-After.',
  },
  timeout: {
    status: 504,
    title: 'Gateway timeout',
    meaning: 'The gateway got no answer in time. Retry with the same key: the request takes effect at most once.',
  },
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
