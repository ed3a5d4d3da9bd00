/**
 * Oracles: clients get one response per idempotency key, each response agrees with the chain, and no request gets an
 * unexpected 500 or 503.
 */
import type { Transition } from '../../../../lambdas/payments/domain/transition.ts';
import type { ClientCall, Violation } from '../contract.ts';
import { booksOf } from '../processors.ts';
import { isKnownThere } from './processors.ts';
import { MAX_SKEW_MS, type Seen, type StoredAnswer, type Written } from './seen.ts';

/** Problem codes of final, stored responses other than 2xx. */
const FINAL_CODES = new Set([
  'payment_failed',
  'payment_canceled',
  'payment_not_attempted',
  'refund_failed',
  'refund_not_attempted',
  'capture_failed',
  'capture_not_attempted',
  'cancellation_failed',
  'cancellation_not_attempted',
  'order_not_attempted',
  'order_canceled',
  'out_of_stock',
]);
/** A request with a used idempotency key may get these codes instead of the stored response. */
const EXPIRED = 'idempotency_key_expired';
const MISMATCH = 'idempotency_key_payload_mismatch';

interface Answered {
  readonly call: ClientCall;
  readonly status: number;
  readonly body: string;
  readonly code: string | undefined;
  readonly atMs: number;
  readonly operation: string | undefined;
}

/** @param stored stored responses by operation */
export function checkKey(calls: readonly ClientCall[], stored: Seen['answers']): readonly Violation[] {
  const answered = calls.flatMap(answerOf);
  const first = answered.filter(isStored).sort((left, right) => left.atMs - right.atMs)[0];
  if (first === undefined) return [];
  const about = `${first.call.method} ${first.call.path} ${first.call.key}`;
  const found: Violation[] = [];
  const wrong = (oracle: string, what: string): void => void found.push({ oracle, what, about });
  const firstBody = JSON.stringify(first.call.body);
  const expiresAtMs = expiryOf(first, stored);
  for (const each of answered) {
    const isSameBody = JSON.stringify(each.call.body) === firstBody;
    const isAfter = each.call.sentAtMs > first.atMs;
    if (isSameBody && isStored(each) && !isSameAnswer(each, first)) {
      wrong('I3 one answer per key', `got ${short(first)} and later ${short(each)}`);
    }
    if (!isSameBody && isStored(each)) wrong('F09 other body', `a request with a different body got ${short(each)}`);
    if (!isSameBody && isAfter && each.status === 422 && each.code !== MISMATCH && each.code !== undefined) {
      wrong('F09 other body', `a request with a different body got ${each.code}`);
    }
    if (isAfter && isStored(each) && each.call.sentAtMs > expiresAtMs + MAX_SKEW_MS) {
      wrong('F15 expired key', `got ${short(each)} after its retention`);
    }
  }
  const isExpiredEarly = answered.some(({ code, atMs }) => code === EXPIRED && atMs < expiresAtMs - MAX_SKEW_MS);
  if (isExpiredEarly && stored.has(first.operation ?? ''))
    wrong('F15 expired key', 'was reported as expired during its retention');
  return found;
}

function answerOf(call: ClientCall): readonly Answered[] {
  const { answer } = call;
  if (answer === undefined || call.method === 'GET') return [];
  const { status, body, atMs } = answer;
  const { code, id, payment, order } = parsed(body);
  // The response to a capture or cancellation contains the payment, not an object with the operation's id.
  const isNamed = !/\/(?:capture|cancel)$/.test(call.path);
  const named = [id, idIn(payment), idIn(order)].find((each) => isNamed && typeof each === 'string');
  return [
    {
      call,
      status,
      body,
      atMs,
      code: typeof code === 'string' ? code : undefined,
      operation: typeof named === 'string' ? named : undefined,
    },
  ];
}

function idIn(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'id' in value ? value.id : undefined;
}

function isStored({ status, code }: Answered): boolean {
  return (status >= 200 && status < 300) || (code !== undefined && FINAL_CODES.has(code));
}

/** Fields with personal data, which an erasure removes from stored responses. */
const PERSONAL = new Set([
  'description',
  'metadata',
  'return_url',
  'details_erased',
  'email',
  'referrer',
  'affiliate',
  'reason',
]);

function isSameAnswer(left: Answered, right: Answered): boolean {
  if (left.status !== right.status) return false;
  if (left.body === right.body) return true;
  const isErased = left.body.includes('"details_erased":true') || right.body.includes('"details_erased":true');
  return isErased && withoutPersonal(left.body) === withoutPersonal(right.body);
}

function withoutPersonal(body: string): string {
  return JSON.stringify(parsed(body), (name, value: unknown) => (PERSONAL.has(name) ? undefined : value));
}

function expiryOf({ operation }: Answered, stored: Seen['answers']): number {
  const seconds = stored.get(operation ?? '')?.at(0)?.expiresAtSeconds;
  return seconds === undefined ? Number.POSITIVE_INFINITY : seconds * 1_000;
}

function short({ status, body }: Answered): string {
  return `${status} ${body.slice(0, 160)}`;
}

function parsed(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/**
 * F32, B09, B10: checks that no request about a payment gets a processor-unavailable response while the payment's
 * processor has no fault or outage.
 */
export function checkAvailableProcessorIsUsed({ world, payments }: Seen): readonly Violation[] {
  return world.calls.flatMap(({ path, answer }) => {
    if (answer?.status !== 503 || !answer.body.includes('"processor_')) return [];
    const id = /^\/v1\/payments\/(pay_[a-z2-7]{32})\//.exec(path)?.[1] ?? '';
    const payment = payments.get(id)?.at(-1)?.row.payment;
    const processor = payment === undefined ? undefined : booksOf(payment);
    if (payment === undefined || processor === undefined || answer.well?.includes(processor) !== true) return [];
    // Skip a payment for which an operator has named a charge that the processor does not have.
    if (payment.chargeId !== undefined && !isKnownThere(world, payment, payment.chargeId)) return [];
    const what = `${path} was refused with 503 while ${processor} had no fault or outage`;
    return [{ oracle: 'F32 a processor that is well is called', what, about: id }];
  });
}

/** Holds even during infrastructure faults. */
export function checkErrors({ world }: Seen): readonly Violation[] {
  return world.calls.flatMap(({ method, path, answer }) => {
    if (answer?.status !== 500) return [];
    return [
      { oracle: 'no unexpected errors', what: `${method} got the response ${answer.body.slice(0, 160)}`, about: path },
    ];
  });
}

/** I4: checks that a stored response agrees with the chain at the time of the response. */
export function checkStored(
  operation: string,
  { answer, atMs }: StoredAnswer,
  chain: readonly Written<Transition>[],
): readonly Violation[] {
  const then = chain.filter((each) => each.atMs <= atMs);
  const wrong = (what: string): readonly Violation[] => [
    { oracle: 'I4 answers say what the chain says', what, about: operation },
  ];
  const subjects = then.flatMap(({ row }) => (row.subject === undefined ? [] : [row.subject]));
  const refund = subjects.findLast((subject) => subject.kind === 'refund' && subject.refundId === operation);
  const change = subjects.findLast(
    (subject) => (subject.kind === 'capture' || subject.kind === 'void') && subject.operationId === operation,
  );
  const statuses = new Set(then.map(({ row }) => row.payment.status));
  if (refund?.kind === 'refund') {
    if (answer.status === 201 && refund.status !== 'succeeded')
      return wrong(`the response is 201, but the refund is ${refund.status}`);
    if (answer.status >= 400 && refund.status !== 'failed')
      return wrong(`the response says failed, but the refund is ${refund.status}`);
    return [];
  }
  if (change?.kind === 'capture' || change?.kind === 'void') {
    const reached = change.kind === 'capture' ? 'succeeded' : 'canceled';
    if (answer.status === 200 && !statuses.has(reached))
      return wrong(`the response is 200, but the payment was never ${reached}`);
    if (answer.status < 400 || change.status === 'failed') return [];
    // A cancellation may fail because the hold was captured.
    if (change.kind === 'capture' && isTaken(then)) return wrong('the response says failed, but the hold was captured');
    const isCanceled = then.at(-1)?.row.payment.status === 'canceled';
    if (change.kind === 'void' && isCanceled) return wrong('the response says failed, but the payment is canceled');
    return [];
  }
  if (operation !== chain[0]?.row.payment.id) return [];
  if (answer.status === 201 && statuses.size === 1 && statuses.has('processing'))
    return wrong('the response is 201, but the payment is still processing');
  const isEnded = statuses.has('failed') || statuses.has('canceled');
  if (answer.status >= 400 && !isEnded) return wrong(`the response is ${answer.status}, but the payment is not final`);
  return [];
}

/** Returns true if the payment succeeded, or is in review because of the captured amount. */
function isTaken(chain: readonly Written<Transition>[]): boolean {
  const newest = chain.at(-1)?.row.payment;
  return newest?.status === 'succeeded' || newest?.failure?.code === 'wrong_amount';
}

export function byKey(calls: readonly ClientCall[]): ReadonlyMap<string, readonly ClientCall[]> {
  const found = new Map<string, ClientCall[]>();
  for (const call of calls) {
    if (call.key === undefined || call.method === 'GET') continue;
    const name = JSON.stringify([call.tenant, call.method, call.path, call.key]);
    const known = found.get(name);
    if (known === undefined) found.set(name, [call]);
    else known.push(call);
  }
  return found;
}
