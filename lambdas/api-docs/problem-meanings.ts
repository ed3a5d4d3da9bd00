import type { ProblemCode } from '../http/problems.ts';

/** Only the function that serves the API documentation loads these texts. */
export const MEANINGS: Readonly<Record<ProblemCode, string>> = {
  invalid_json: 'The body is not a JSON object, or different parsers would read different values (RFC 8259, RFC 7493).',
  invalid_request: 'A field or parameter has an invalid value, or one that the payment’s processor does not support.',
  unknown_field: 'The body has a field that this route does not accept.',
  unknown_parameter: 'The query has a parameter that this route does not accept.',
  card_number_not_allowed:
    'A field, parameter, header or path contains text that looks like a card number. Send a token from your processor instead.',
  secret_not_allowed:
    'A field, parameter, header or path contains text that looks like a secret key. Replace that key now, and send the request without it.',
  url_not_allowed:
    'Webhooks are sent to public https addresses only. The address is checked again before each delivery.',
  unbalanced: 'The debits of the postings do not equal their credits.',
  missing_idempotency_key: 'This route requires an Idempotency-Key header.',
  invalid_idempotency_key:
    'A key must be 1 to 128 visible ASCII characters, raw or quoted, and only one key may be sent.',
  unauthorized: 'The Authorization header contains no valid API key.',
  invalid_signature:
    'The callback was not signed by its processor, or its time differs too much from the current time. It was not stored.',
  payment_failed:
    'The payment failed, and nothing was charged. The response contains the payment or its order, and is final for this key.',
  payment_canceled:
    'The payment was canceled at the processor before its capture, so nothing was charged. The response is final for this key.',
  capture_failed:
    'The processor refused the capture, and nothing was captured. The response is final for this key. While the payment can be captured, a request with a new key can succeed.',
  cancellation_failed:
    'The processor refused the cancellation, for example because the payment was captured in the meantime. The response is final for this key.',
  refund_failed:
    'The processor refused the refund; no money was returned. The response contains the refund, and is final for this key.',
  insufficient_scope: 'The API key is valid, but lacks the scope that this route requires.',
  insufficient_role: 'The operator’s role does not include the role that this route requires.',
  livemode_not_available:
    'The deployment calls processors in test mode only, or uses the sandbox’s shop and mailer for orders. Nothing was begun. Use a test key.',
  own_approval:
    'The caller made the request that waits for approval, with this operator key or another one. Another person must approve or reject it.',
  testmode_not_available:
    'The deployment uses a real shop and mailer for orders, and an order in test mode must not reserve real goods. Nothing was begun. Use a live key.',
  forbidden: 'The firewall in front of the API refused the request.',
  not_found: 'The path or object does not exist, or this API key has no access to it.',
  method_not_allowed: 'The path does not support this method. The Allow header lists the supported methods.',
  idempotency_key_in_progress: 'The first request with this key is still running. Retry, or send Prefer: wait=8.',
  webhook_endpoint_limit:
    'The tenant has the maximum number of endpoints. Delete one, and then retry with the same key.',
  webhook_endpoint_disabled:
    'The endpoint is disabled, so nothing is sent to it. Enable it, and then retry with the same key.',
  webhook_replay_running:
    'An endpoint can have only one range replay at a time. Retry with the same key after the running one has ended.',
  too_many_exports: 'Five exports are unfinished. Retry with the same key after one has ended.',
  idempotency_key_expired:
    'The key was already used, and its response is no longer stored. This request had no effect. Retrieve the object that the first request created or changed.',
  already_reversed: 'This set of postings was already reversed. The reversing correction can itself be reversed once.',
  approval_ended:
    'The approval has expired or ended with the opposite verdict, or its response is no longer stored. Retrieve the approval.',
  approval_outdated:
    'Since the request, the payment has changed, so the effect would differ from the one that the approval shows, or the reason was erased. Send a new request.',
  nothing_to_redrive:
    'The queue does not contain the messages now. Another request may hold them, or may have redriven or dismissed them.',
  key_ended: 'Only a valid key that was not already replaced can be replaced. Replace its successor, or create a key.',
  last_owner_key:
    'This is the last valid key with the role `owner`; keys that were replaced do not count. Without it, no operator could manage keys with the API. First create another owner’s key with the command line, which can also revoke the last one.',
  reference_already_used:
    'Another payment uses this reference. References are compared byte by byte. The reference becomes available when that payment has failed or was canceled.',
  payment_not_attempted:
    'The processor has no charge of this payment, so nothing was charged. Start again with a new key.',
  capture_not_attempted: 'The processor has no such capture, so nothing has changed. Start again with a new key.',
  cancellation_not_attempted:
    'The processor has no such cancellation, so nothing has changed. Start again with a new key.',
  refund_not_attempted: 'The processor has no such refund, so nothing was refunded. Start again with a new key.',
  order_not_attempted: 'The processor has no charge of this order, so nothing was charged. Start again with a new key.',
  out_of_stock:
    'Not all goods were available, so the charge was reversed. The response contains the order, and is final for this key.',
  order_canceled:
    'The order could not be fulfilled, and its charge was reversed. The response contains the order, and is final for this key.',
  payment_not_capturable: 'Only a payment that requires capture can be captured. Nothing is stored under the key.',
  payment_not_cancelable:
    'Only a payment that waits for its payer or its capture can be canceled. Nothing is stored under the key.',
  payment_not_refundable: 'Only a payment that has succeeded can be refunded. Nothing is stored under the key.',
  payment_not_in_review: 'An operator can decide a payment only while it needs review.',
  change_not_undecided:
    'An operator can decide a change only while its outcome is not known, not before `decidable_from`, and only with an outcome that the payment’s transitions allow.',
  charge_unknown_at_processor:
    'The processor’s books contain no charge with that id for this payment. Nothing is stored under the key.',
  amount_differs_from_processor:
    'The amount or currency in the processor’s books differs from the decision. The response contains the processor’s values (`processor_amount`, `processor_currency`). Nothing is stored under the key.',
  processor_books_unreadable:
    'A decision is compared with the processor’s books. The books cannot be read now, or the processor has no look-up. Try again later, or use `override`.',
  override_not_allowed:
    'The processor’s books can be read, so the decision must be compared with them. Remove `override`.',
  change_in_progress: 'Another capture or cancellation of the payment is in progress. Retry after it has ended.',
  too_many_refunds: 'The payment has reached the maximum number of refunds.',
  amount_exceeds_left:
    'The amount exceeds the remainder that can be captured or refunded. Pending refunds reduce the remainder. The response contains the remainder.',
  body_too_large: 'The body is larger than the API accepts.',
  unsupported_media_type: 'The body must be application/json in UTF-8.',
  idempotency_key_payload_mismatch:
    'The key belongs to a request with a different body, which may have taken effect. Send that body again. A new key starts a new operation.',
  no_processor_for_payment:
    'No processor or routing rule of the deployment matches the payment’s mode, tenant and currency. Nothing was begun, and the key stays unused.',
  rate_limited: 'The request had no effect. Retry with the same key after Retry-After.',
  internal_error: 'The service failed. Retry with the same key: the request takes effect at most once.',
  balance_too_large:
    'A sum exceeds the largest integer that JSON represents exactly (2^53 - 1). It is not returned, because it would have to be rounded.',
  no_processor_configured:
    'The deployment has no payment processor. After its operator has configured one, the same key can succeed.',
  processor_unavailable:
    'The payment processor cannot be reached now, or the deployment no longer calls it; `detail` names such a processor. Retry with the same key after Retry-After.',
  temporarily_unavailable: 'The request cannot be served at the moment. Retry with the same key after Retry-After.',
  timeout: 'The gateway received no response in time. Retry with the same key: the request takes effect at most once.',
};
