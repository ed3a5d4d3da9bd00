import { type ProblemCode, problem } from '../http/problems.ts';
import { problemBody } from '../kernel/answer.ts';
import { MAX_BODY_BYTES } from '../kernel/contract/limits.ts';
import { heldPayment, succeededRefund } from './change-examples.ts';
import { type Example, PAYMENT_ID, succeededPayment } from './examples.ts';
import { CORRECTION_ID } from './ledger-examples.ts';
import { canceledOrder } from './order-examples.ts';

/** How each problem is really answered, for the API's documents: the tests provoke each and compare. */

const REQUEST_ID = '2b1f9d4e-6c53-4f0a-9a51-0d6c0f8f6f11';

interface ProblemExample {
  readonly detail: string;
  readonly param?: string;
  readonly members?: Readonly<Record<string, unknown>>;
}

const NOTHING_CHANGED =
  'The processor was never asked and nothing has changed. Start again with a new Idempotency-Key.';

/** In the order of {@link PROBLEMS}. */
const PROBLEM_DETAILS: Readonly<Record<ProblemCode, ProblemExample>> = {
  invalid_json: { detail: 'An object has the same key twice.' },
  invalid_request: {
    detail: 'amount must be a JSON integer of minor units, for example 1000 for 10.00 EUR.',
    param: 'amount',
  },
  unknown_field: { detail: 'It is not known here; see /v1/openapi.json for what is.', param: 'status' },
  unknown_parameter: { detail: 'It is not known here; see /v1/openapi.json for what is.', param: 'expand' },
  card_number_not_allowed: {
    detail: 'This looks like a card number. Send a token of your processor instead; nothing was kept.',
    param: 'metadata.note',
  },
  secret_not_allowed: {
    detail: 'This looks like a secret key. Replace that key now, and send the request without it; nothing was kept.',
    param: 'description',
  },
  url_not_allowed: { detail: 'url must have a public name or address.', param: 'url' },
  unbalanced: { detail: 'The debits are 2 more than the credits, in minor units.', param: 'postings' },
  missing_idempotency_key: { detail: 'Send an Idempotency-Key header: 1 to 128 visible ASCII characters.' },
  invalid_idempotency_key: {
    detail: 'The Idempotency-Key is not valid: a key is 1 to 128 visible ASCII characters.',
  },
  unauthorized: { detail: 'Send a valid API key as "Authorization: Bearer <key>".' },
  invalid_signature: { detail: 'The signature is not good, or its time is more than 300 seconds away.' },
  payment_failed: {
    detail: 'The card was declined.',
    members: {
      payment: failed('tok_declined', 'ch_1', { code: 'card_declined', message: 'The card was declined.' }),
    },
  },
  payment_canceled: {
    detail: 'The payment was let go at the processor before it was taken. Nobody was charged.',
    members: {
      payment: {
        ...succeededPayment,
        amount_captured: 0,
        status: 'canceled',
        source: 'tok_async',
        cancellation_reason: 'expired',
      },
    },
  },
  capture_failed: {
    detail: 'A voided charge cannot be captured.',
    members: { payment: heldPayment },
  },
  cancellation_failed: {
    detail: 'A succeeded charge cannot be voided.',
    members: { payment: heldPayment },
  },
  refund_failed: {
    detail: 'At most 100 can be refunded.',
    members: { refund: failedRefund({ code: 'amount_too_large', message: 'At most 100 can be refunded.' }) },
  },
  insufficient_scope: { detail: 'This API key lacks the scope that this route needs.' },
  forbidden: { detail: 'The request was refused by the firewall.' },
  not_found: { detail: 'There is no such payment.' },
  method_not_allowed: { detail: 'This path takes POST, GET, HEAD.' },
  idempotency_key_in_progress: {
    detail: 'The first request with this Idempotency-Key is still running. Ask again, or send Prefer: wait=8.',
  },
  webhook_endpoint_limit: { detail: 'There are 16 webhook endpoints already, the most there may be.' },
  webhook_endpoint_disabled: { detail: 'This webhook endpoint is disabled: nothing is sent to it.' },
  idempotency_key_expired: {
    detail: 'This Idempotency-Key was used before, and its answer is no longer kept. Look at the payment.',
    members: { payment_id: PAYMENT_ID },
  },
  already_reversed: {
    detail: 'These postings were undone before. To put them back, reverse the correction that undid them.',
    param: 'reverses',
    members: { correction_id: CORRECTION_ID },
  },
  reference_already_used: {
    detail: 'Another payment has this reference; it is free again once that one has failed or was canceled.',
    param: 'reference',
    members: { payment_id: PAYMENT_ID },
  },
  payment_not_attempted: {
    detail: 'The processor was never asked and nobody was charged. Start again with a new Idempotency-Key.',
    members: {
      payment: failed('tok_ok', null, {
        code: 'not_attempted',
        message: 'The processor was never asked for this payment.',
      }),
    },
  },
  capture_not_attempted: { detail: NOTHING_CHANGED, members: { payment: heldPayment } },
  cancellation_not_attempted: { detail: NOTHING_CHANGED, members: { payment: heldPayment } },
  refund_not_attempted: {
    detail: NOTHING_CHANGED,
    members: { refund: failedRefund({ code: 'not_attempted', message: 'The processor was never asked.' }) },
  },
  order_not_attempted: {
    detail: 'The processor was never asked and nobody was charged. Start again with a new Idempotency-Key.',
    members: {
      order: canceledOrder({ code: 'not_attempted', message: 'The processor was never asked for this payment.' }),
    },
  },
  out_of_stock: {
    detail: 'There is no sku_none in stock. What was charged has been given back.',
    members: {
      order: {
        ...canceledOrder({ code: 'out_of_stock', message: 'There is no sku_none in stock.' }),
        items: [{ sku: 'sku_none', quantity: 2 }],
      },
    },
  },
  order_canceled: {
    detail: 'The stock did not say whether the goods are there. What was charged has been given back.',
    members: {
      order: {
        ...canceledOrder({
          code: 'stock_unavailable',
          message: 'The stock did not say whether the goods are there.',
        }),
        reservation: 'rsv_1',
      },
    },
  },
  payment_not_capturable: {
    detail: 'The payment’s status is succeeded: it cannot be captured.',
    members: { payment_status: 'succeeded' },
  },
  payment_not_cancelable: {
    detail: 'The payment’s status is succeeded: it cannot be canceled.',
    members: { payment_status: 'succeeded' },
  },
  payment_not_refundable: {
    detail: 'The payment’s status is requires_capture: it cannot be refunded.',
    members: { payment_status: 'requires_capture' },
  },
  payment_not_in_review: {
    detail: 'The payment’s status is succeeded: only one that needs review waits for a decision.',
    members: { payment_status: 'succeeded' },
  },
  change_not_undecided: {
    detail: 'Programs may still find out what became of the change. Decide when they could not.',
    members: { decidable_from: 1_772_369_100 },
  },
  change_in_progress: {
    detail: 'Another capture or cancellation of this payment is under way. Ask again when it has ended.',
  },
  amount_exceeds_left: { detail: 'At most 700 is left.', param: 'amount', members: { amount_left: 700 } },
  body_too_large: { detail: `The body must be at most ${MAX_BODY_BYTES} bytes.` },
  unsupported_media_type: { detail: 'Content-Type must be application/json, in UTF-8.' },
  idempotency_key_payload_mismatch: {
    detail: 'This Idempotency-Key belongs to a request with another body. A new request needs a new key.',
  },
  rate_limited: { detail: 'Nothing was done. Ask again shortly, with the same key.' },
  internal_error: { detail: 'The service failed. Ask again with the same Idempotency-Key: nothing happens twice.' },
  balance_too_large: {
    detail: 'A sum is beyond 2^53 - 1 and would lose digits as a JSON number. Add up the entries instead.',
  },
  processor_unavailable: {
    detail: 'This cannot be done now. Ask again with the same Idempotency-Key: nothing happens twice.',
  },
  temporarily_unavailable: {
    detail: 'This cannot be done now. Ask again with the same Idempotency-Key: nothing happens twice.',
  },
  timeout: { detail: 'No answer in time. Ask again with the same key: nothing happens twice.' },
};

export function problemExample(code: ProblemCode): Example {
  const { detail, param, members } = PROBLEM_DETAILS[code];
  const found = problem(code, detail, param);
  return { summary: found.title, value: JSON.parse(problemBody(found, REQUEST_ID, members)) as unknown };
}

function failed(source: string, chargeId: string | null, failure: { code: string; message: string }): unknown {
  const processor = { name: 'sandbox', charge_id: chargeId };
  return { ...succeededPayment, amount_captured: 0, status: 'failed', source, processor, failure };
}

function failedRefund(failure: { code: string; message: string }): unknown {
  return { ...succeededRefund, status: 'failed', failure };
}
