import type { ProblemCode } from '../http/problems.ts';

/**
 * Describes the causes of problems, and the actions to take. Only the API documents contain these texts, so no other
 * function loads them.
 */
export const MEANINGS: Readonly<Record<ProblemCode, string>> = {
  invalid_json: 'The body is not one JSON object that every reader understands alike (RFC 8259, RFC 7493).',
  invalid_request: 'A field or parameter has a value out of range.',
  unknown_field: 'The body has a field that this route does not accept.',
  unknown_parameter: 'The query has a parameter that this route does not accept.',
  card_number_not_allowed:
    'A field, parameter, header or path contains text that looks like a card number. Send a token from your processor instead.',
  secret_not_allowed:
    'A field, parameter, header or path contains text that looks like a secret key. Replace that key now, and send the request without it.',
  url_not_allowed:
    'Webhooks are sent to public https addresses only. The address is checked again before each delivery.',
  unbalanced: 'The debits of the postings do not equal their credits.',
  missing_idempotency_key: 'This route needs an Idempotency-Key header.',
  invalid_idempotency_key: 'A key is 1 to 128 visible ASCII characters, raw or quoted, and only one is given.',
  unauthorized: 'No valid API key was presented in the Authorization header.',
  invalid_signature: 'The callback is not signed by its processor, or was signed too long ago. It was not stored.',
  payment_failed:
    'The payment failed without a charge. The answer contains the payment or its order, and is final for this key.',
  payment_canceled:
    'The payment was canceled at the processor before its capture, without a charge. Final for this key.',
  capture_failed:
    'The processor refused the capture, and nothing was captured. Final for this key; while the payment can be captured, a new key can succeed.',
  cancellation_failed:
    'The processor refused the cancellation, for example because the payment has been captured since. Final for this key.',
  refund_failed:
    'The processor refused the refund; no money was returned. The answer contains the refund, and is final for this key.',
  insufficient_scope: 'The API key is valid, but lacks the scope that this route needs.',
  insufficient_role: 'The operator is known, but the role does not include the one that this route needs.',
  livemode_not_available:
    'The deployment calls processors in test mode only, or the sandbox plays the shop and the mailer of its orders. Nothing was begun. Use a test key.',
  own_approval:
    'The caller made the request that waits for approval, with this key or another. Another person must approve or reject it.',
  testmode_not_available:
    'The shop and the mailer of orders are real, and an order of test mode must not reserve their goods. Nothing was begun. Use a live key.',
  forbidden: 'The firewall before the API refused the request.',
  not_found: 'The path or object does not exist, or this API key has no access to it.',
  method_not_allowed: 'The path exists, and the Allow header names its methods.',
  idempotency_key_in_progress: 'The first request with this key is still running. Retry, or send Prefer: wait=8.',
  webhook_endpoint_limit: 'The maximum number of endpoints exists. Delete one, then retry with the same key.',
  webhook_endpoint_disabled: 'Nothing is sent to this endpoint. Enable it, then retry with the same key.',
  webhook_replay_running: 'An endpoint has one range replay at a time. Retry with the same key when it has ended.',
  too_many_exports: 'Five exports are unfinished. Retry with the same key when one has ended.',
  idempotency_key_expired:
    'The key was used before, and its answer is no longer stored. Read the named object; this request had no effect.',
  already_reversed:
    'This set of postings was reversed before. The reversing correction is a transition that can itself be reversed once.',
  approval_ended: 'The approval has expired, or has the other verdict of another person. Read it.',
  approval_outdated:
    'The payment has changed since the request, so that the request would now have another effect than the approval shows. Send a new request.',
  nothing_to_redrive: 'No message waits in the queue, or another redrive has moved them.',
  key_ended: 'Only a valid key that was not replaced before can be replaced. Replace its successor, or create a key.',
  last_owner_key:
    'No other owner has a valid key that was not replaced, so no operator could manage keys by the API. First create one with the command line, which may also revoke the last one.',
  reference_already_used:
    'Another payment uses this reference; references are compared byte by byte. It is free again after that payment has failed or was canceled.',
  payment_not_attempted: 'Nothing was sent to the processor, so there is no charge. Start again with a new key.',
  capture_not_attempted: 'Nothing was sent to the processor; nothing has changed. Start again with a new key.',
  cancellation_not_attempted: 'Nothing was sent to the processor; nothing has changed. Start again with a new key.',
  refund_not_attempted: 'Nothing was sent to the processor, so there is no refund. Start again with a new key.',
  order_not_attempted: 'Nothing was sent to the processor, so there is no charge. Start again with a new key.',
  out_of_stock: 'The charge was reversed. The answer contains the order, and is final for this key.',
  order_canceled:
    'The order could not be fulfilled, and its charge was reversed. The answer contains the order, and is final for this key.',
  payment_not_capturable: 'Only a payment that requires capture can be captured. Nothing is stored against the key.',
  payment_not_cancelable:
    'Only a payment that waits for its payer or its capture can be canceled. Nothing is stored against the key.',
  payment_not_refundable: 'Only a payment that has succeeded can be refunded. Nothing is stored against the key.',
  payment_not_in_review: 'Only a payment that needs review waits for an operator’s decision.',
  change_not_undecided:
    'An operator can decide a change only when its outcome cannot be determined, and only as the payment’s transitions allow.',
  charge_unknown_at_processor:
    'The processor’s books have no charge of this payment with that id. Nothing is stored against the key.',
  amount_differs_from_processor:
    'The processor’s books show another amount or currency than the decision. The answer contains the processor’s (`processor_amount`, `processor_currency`). Nothing is stored against the key.',
  processor_books_unreadable:
    'A decision is compared with the processor’s books, which cannot be read now, or cannot be read at all because the processor has no look-up. Decide later, or with `override`.',
  override_not_allowed:
    'The processor’s books can be read, so the decision is compared with them. Decide without `override`.',
  change_in_progress: 'Another capture or cancellation of the payment is in progress. Retry after it has ended.',
  too_many_refunds: 'The payment has reached the maximum number of refunds.',
  amount_exceeds_left:
    'The amount exceeds the remainder that can be captured or refunded; pending refunds count. The answer contains the remainder.',
  body_too_large: 'The body is larger than the API accepts.',
  unsupported_media_type: 'The body must be application/json in UTF-8.',
  idempotency_key_payload_mismatch:
    'The key belongs to a request with another body, which may have taken effect. Send that body again. A new key is a new operation.',
  no_processor_for_payment:
    'No routing rule of the deployment matches the mode and the currency of the payment. Nothing was begun, and the key stays unused.',
  rate_limited: 'The request had no effect. Retry with the same key after Retry-After.',
  internal_error: 'The service failed. Retry with the same key: the request takes effect at most once.',
  balance_too_large:
    'A sum exceeds the integers that JSON carries exactly (2^53 - 1). It is not returned, because it would have to be rounded.',
  no_processor_configured:
    'The deployment calls no payment processor. Its operator must configure one; then the same key can succeed.',
  processor_unavailable: 'The payment processor cannot be reached now. Retry with the same key after Retry-After.',
  temporarily_unavailable: 'The request could not be served now. Retry with the same key after Retry-After.',
  timeout: 'The gateway got no answer in time. Retry with the same key: the request takes effect at most once.',
};
