import type { components } from '../generated/api-types.ts';

/** Problem details of the API (RFC 9457). */
export type Problem = components['schemas']['Problem'];
/** A stable code. A newer API may return codes that this client does not know. */
export type ProblemCode = Problem['code'];

/**
 * A caller's next action after a problem:
 *
 * - `new_operation`: the response is final for this operation. A further attempt needs a new operation.
 * - `read_object`: the operation already took effect, and its response is no longer stored. Read the object that the
 *   problem names.
 * - `same_operation`: no response was stored. The same operation can succeed later.
 * - `correct`: the request was refused, and nothing was stored. Fix the cause: a field, a missing scope, a setting, the
 *   state of the payment. The same operation can then succeed. If the key store has `keepRefusal`, the operation may
 *   have a corrected body.
 */
export type Recovery = 'new_operation' | 'read_object' | 'same_operation' | 'correct';

const FINAL = 'new_operation';
const LATER = 'same_operation';
const CORRECT = 'correct';

/** The recovery for each code. If the API gets a new code, this table does not compile until it contains the code. */
const RECOVERIES: Readonly<Record<ProblemCode, Recovery>> = {
  payment_failed: FINAL,
  payment_canceled: FINAL,
  capture_failed: FINAL,
  cancellation_failed: FINAL,
  refund_failed: FINAL,
  payment_not_attempted: FINAL,
  capture_not_attempted: FINAL,
  cancellation_not_attempted: FINAL,
  refund_not_attempted: FINAL,
  order_not_attempted: FINAL,
  out_of_stock: FINAL,
  order_canceled: FINAL,
  idempotency_key_expired: 'read_object',
  idempotency_key_in_progress: LATER,
  rate_limited: LATER,
  internal_error: LATER,
  processor_unavailable: LATER,
  temporarily_unavailable: LATER,
  timeout: LATER,
  no_processor_configured: LATER,
  change_in_progress: LATER,
  too_many_exports: LATER,
  webhook_replay_running: LATER,
  webhook_endpoint_limit: CORRECT,
  webhook_endpoint_disabled: CORRECT,
  invalid_json: CORRECT,
  invalid_request: CORRECT,
  unknown_field: CORRECT,
  unknown_parameter: CORRECT,
  card_number_not_allowed: CORRECT,
  secret_not_allowed: CORRECT,
  url_not_allowed: CORRECT,
  unbalanced: CORRECT,
  missing_idempotency_key: CORRECT,
  invalid_idempotency_key: CORRECT,
  unauthorized: CORRECT,
  invalid_signature: CORRECT,
  insufficient_scope: CORRECT,
  insufficient_role: CORRECT,
  livemode_not_available: CORRECT,
  own_approval: CORRECT,
  testmode_not_available: CORRECT,
  forbidden: CORRECT,
  not_found: CORRECT,
  method_not_allowed: CORRECT,
  already_reversed: CORRECT,
  approval_ended: CORRECT,
  approval_outdated: CORRECT,
  key_ended: CORRECT,
  last_owner_key: CORRECT,
  nothing_to_redrive: CORRECT,
  reference_already_used: CORRECT,
  payment_not_capturable: CORRECT,
  payment_not_cancelable: CORRECT,
  payment_not_refundable: CORRECT,
  payment_not_in_review: CORRECT,
  change_not_undecided: CORRECT,
  charge_unknown_at_processor: CORRECT,
  amount_differs_from_processor: CORRECT,
  processor_books_unreadable: LATER,
  override_not_allowed: CORRECT,
  too_many_refunds: CORRECT,
  amount_exceeds_left: CORRECT,
  body_too_large: CORRECT,
  unsupported_media_type: CORRECT,
  idempotency_key_payload_mismatch: CORRECT,
  no_processor_for_payment: CORRECT,
  balance_too_large: CORRECT,
};

/**
 * Problems that usually end within the time limit of a request. The client retries them automatically with the same key
 * and body.
 */
const PASSING: ReadonlySet<string> = new Set<ProblemCode>([
  'idempotency_key_in_progress',
  'rate_limited',
  'internal_error',
  'processor_unavailable',
  'temporarily_unavailable',
  'timeout',
]);

/** Returns whether the client retries the problem. It also retries unknown codes of server errors. */
export function isTransient({ code, status }: Pick<Problem, 'code' | 'status'>): boolean {
  return PASSING.has(code) || (!isKnown(code) && status >= 500);
}

/** Returns whether the API has stored the problem as the final response for the idempotency key. */
export function isFinal(code: ProblemCode): boolean {
  return isKnown(code) && RECOVERIES[code] === FINAL;
}

/**
 * Returns whether the problem says that the API stored nothing for the idempotency key. Returns false if another body
 * or response already belongs to the key, and for codes that this client does not know.
 */
export function storedNothing(code: ProblemCode): boolean {
  return isKnown(code) && !HAS_RECORD.has(RECOVERIES[code]) && code !== 'idempotency_key_payload_mismatch';
}

const HAS_RECORD: ReadonlySet<Recovery> = new Set<Recovery>([FINAL, 'read_object']);

function isKnown(code: string): code is ProblemCode {
  return Object.hasOwn(RECOVERIES, code);
}

/** Codes of errors that the client detects itself. */
export type ClientCode =
  | 'invalid_operation'
  | 'operation_changed'
  | 'invalid_key_store'
  | 'connection_refused'
  | 'no_connection'
  | 'no_answer'
  | 'unexpected_answer'
  | 'unfinished'
  | 'invalid_webhook';

/**
 * The base of the client's errors, except for a `TypeError` for an argument. Errors of the caller's `AbortSignal` and
 * key store are thrown unchanged.
 */
export class PayonceError extends Error {
  override readonly name: string = 'PayonceError';
  readonly code: ProblemCode | ClientCode;
  /**
   * Whether this operation may have taken effect, now or in an earlier process. To find out, call again with the same
   * operation, which never causes a second effect.
   */
  readonly mayHaveTakenEffect: boolean;

  constructor(
    code: ProblemCode | ClientCode,
    message: string,
    { mayHaveTakenEffect = false, cause }: { readonly mayHaveTakenEffect?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.mayHaveTakenEffect = mayHaveTakenEffect;
  }
}

/** Thrown when the API responds to a request with a problem document. */
export class ProblemError extends PayonceError {
  override readonly name = 'ProblemError';
  declare readonly code: ProblemCode;
  /** The problem, with additional members that depend on its code, such as `payment`, `payment_id` or `amount_left`. */
  readonly problem: Problem;
  readonly recovery: Recovery;

  constructor(problem: Problem, mayHaveTakenEffect: boolean) {
    const { code, detail, request_id } = problem;
    super(code, `${code}: ${detail}${adviceFor(code)} (request ${request_id})`, { mayHaveTakenEffect });
    this.problem = problem;
    this.recovery = isKnown(code) ? RECOVERIES[code] : CORRECT;
  }
}

function adviceFor(code: ProblemCode): string {
  if (code === 'idempotency_key_expired')
    return ' The operation already took effect: retrieve the object that the problem names.';
  return isFinal(code) ? ' This response is final for the operation: a further attempt needs a new operation.' : '';
}

/** Returns whether an error is a problem of the API with one of these codes. */
export function isProblem<Code extends ProblemCode>(
  error: unknown,
  ...codes: readonly Code[]
): error is ProblemError & { readonly code: Code } {
  return error instanceof ProblemError && (codes as readonly ProblemCode[]).includes(error.code);
}

/** Thrown when a wait ends before the object has an outcome. */
export class UnfinishedError<Item> extends PayonceError {
  override readonly name = 'UnfinishedError';
  /** The object as last read. */
  readonly object: Item;

  constructor(object: Item, waitedMs: number) {
    super('unfinished', `There was no outcome within ${waitedMs} ms. Wait again, or rely on the webhook.`);
    this.object = object;
  }
}
