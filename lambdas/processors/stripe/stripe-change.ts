import type { Stripe } from 'stripe';
import { defined } from '../../kernel/defined.ts';
import { AmbiguousError } from '../../kernel/faults.ts';
import type { Fact } from '../../payments/domain/facts.ts';
import type { ChangeOrder, ChangeOutcome } from '../../payments/use/processor.ts';
import { chargeUnknown, mismatch } from '../answers.ts';
import { stripeAmount } from './stripe-amounts.ts';
import { type CallStripe, requireSuccess, type StripeAnswer, type TimeLeft } from './stripe-api.ts';
import { cancelReasonOf, currencyOf, exactMinor, feesOfIntent, refundOf, stripeMetadata } from './stripe-charge.ts';
import { intentObject, refundList, refundObject, type StripeIntent, type StripeRefund } from './stripe-objects.ts';
import { assertContinues } from './stripe-pages.ts';

/** Fields to expand for the fee: only the balance transaction contains it. */
export const EXPAND_FEE = ['latest_charge.balance_transaction'];

export const EXPAND_REFUNDS = ['latest_charge.refunds'];

const REFUND_FEES = ['data.balance_transaction', 'data.failure_balance_transaction'];

const PAGE = 100;
/** An operator must handle a charge with more than a thousand refunds. */
const MAX_PAGES = 10;

type FoundChange = ChangeOutcome | { readonly kind: 'absent' };

/**
 * Sends a capture, a void or a refund once. Stripe also refuses a change that was already made, either by another
 * client or by an earlier request whose response was lost and whose key has expired. Therefore, the intent is read
 * after a refusal, and the change is treated as refused only if the intent does not contain it.
 *
 * @throws RetryableError `processor_charge_unknown` if Stripe has no such intent: the API key belongs to another
 * account or mode
 */
export async function makeChange(call: CallStripe, order: ChangeOrder, timeLeft: TimeLeft): Promise<ChangeOutcome> {
  const sent = await send(call, order, timeLeft());
  if (sent.kind === 'done') return applied(sent.value);
  const { status, failure } = sent;
  if (status === 404) throw chargeUnknown();
  let found: FoundChange;
  try {
    found = await findChange(call, order, timeLeft);
  } catch (cause) {
    if (cause instanceof AmbiguousError) throw cause;
    // The read failed, so the meaning of the refusal is unknown.
    throw new AmbiguousError('processor_refusal_unexplained', 'Stripe refused; the intent could not be read.', {
      cause,
    });
  }
  return found.kind === 'absent' ? { kind: 'refused', failure } : found;
}

/**
 * A capture or a void is found even if another client requested it. The reads are consistent, because they do not use
 * the search index.
 */
export async function findChange(call: CallStripe, order: ChangeOrder, timeLeft: TimeLeft): Promise<FoundChange> {
  const fact =
    order.change.kind === 'refund'
      ? await findRefund(call, order, timeLeft)
      : await findHoldChange(call, order, timeLeft);
  return fact === undefined ? { kind: 'absent' } : applied(fact);
}

async function send(call: CallStripe, order: ChangeOrder, timeoutMs: number): Promise<StripeAnswer<Fact>> {
  const { change, chargeId, operationId: idempotencyKey, currency } = order;
  const options = { idempotencyKey, timeout: timeoutMs };
  const counted = stripeAmount(change.kind === 'void' ? 0 : change.amountMinor, currency);
  if (counted.kind === 'unsupported') return { kind: 'refused', status: 400, failure: counted.failure };
  const { amount } = counted;
  switch (change.kind) {
    case 'capture':
      return mapDone(
        await call(
          (stripe) =>
            stripe.paymentIntents.capture(chargeId, { amount_to_capture: amount, expand: EXPAND_FEE }, options),
          intentObject,
        ),
        (intent) => {
          const fact = factOfHold(order, intent);
          const asAsked = fact?.kind === 'succeeded' && fact.capturedMinor === change.amountMinor;
          if (!asAsked) throw mismatch('The requested amount was not captured.');
          return fact;
        },
      );
    case 'void':
      return mapDone(
        await call(
          (stripe) => stripe.paymentIntents.cancel(chargeId, { cancellation_reason: 'requested_by_customer' }, options),
          intentObject,
        ),
        (intent) => {
          const fact = factOfHold(order, intent);
          if (fact === undefined) throw mismatch('The hold was not released.');
          return fact;
        },
      );
    case 'refund': {
      const params: Stripe.RefundCreateParams = { payment_intent: chargeId, amount, metadata: stripeMetadata(order) };
      const answer = await call((stripe) => stripe.refunds.create(params, options), refundObject);
      return mapDone(answer, (refund) => factOfRefund(order, refund));
    }
  }
}

async function findHoldChange(call: CallStripe, order: ChangeOrder, timeLeft: TimeLeft): Promise<Fact | undefined> {
  return factOfHold(order, await readIntent(call, order.chargeId, EXPAND_FEE, timeLeft));
}

async function findRefund(call: CallStripe, order: ChangeOrder, timeLeft: TimeLeft): Promise<Fact | undefined> {
  const intent = await readIntent(call, order.chargeId, EXPAND_REFUNDS, timeLeft);
  assertSameCharge(order, intent);
  const refunds = await refundsOf(call, intent, timeLeft, { withFees: false });
  const [made, ...more] = refunds.filter(({ metadata }) => metadata?.['operation'] === order.operationId);
  // An operator must handle two refunds under one key: selecting one refund would hide the other.
  if (more.length > 0) throw mismatch(`The charge has ${more.length + 1} refunds for one operation.`);
  return made && factOfRefund(order, made);
}

async function readIntent(
  call: CallStripe,
  intentId: string,
  expand: string[],
  timeLeft: TimeLeft,
): Promise<StripeIntent> {
  const options = { timeout: timeLeft() };
  return requireSuccess(
    await call((stripe) => stripe.paymentIntents.retrieve(intentId, { expand }, options), intentObject),
  );
}

/**
 * Returns all refunds of an intent, oldest first. The intent contains up to ten refunds (`EXPAND_REFUNDS`). If it has
 * more, or if their fees are needed, the refunds are listed by separate requests: Stripe expands at most four levels,
 * but in a list of intents, the fee of a refund is at the fifth level.
 */
export async function refundsOf(
  call: CallStripe,
  { id, latest_charge: charge }: StripeIntent,
  timeLeft: TimeLeft,
  { withFees }: { readonly withFees: boolean },
): Promise<readonly StripeRefund[]> {
  if (charge === null) return [];
  if (typeof charge !== 'string' && charge.refunds?.has_more === false) {
    const { data } = charge.refunds;
    if (data.length === 0 || !withFees) return data.toReversed();
  }
  const found: StripeRefund[] = [];
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const last = found.at(-1);
    const params = {
      payment_intent: id,
      limit: PAGE,
      expand: REFUND_FEES,
      ...defined({ starting_after: last?.id }),
    };
    const options = { timeout: timeLeft() };
    const { data, has_more } = requireSuccess(await call((stripe) => stripe.refunds.list(params, options), refundList));
    found.push(...data);
    assertContinues(found, (refund) => refund.payment_intent === id);
    if (!has_more) return found.toReversed();
  }
  throw new AmbiguousError('processor_answer_unexpected', `The charge has more than ${MAX_PAGES * PAGE} refunds.`);
}

function factOfHold(order: ChangeOrder, intent: StripeIntent): Fact | undefined {
  const { change, chargeId, currency } = order;
  assertSameCharge(order, intent);
  if (change.kind === 'void') {
    if (intent.status !== 'canceled') return undefined;
    return { kind: 'voided', chargeId, reason: cancelReasonOf(intent.cancellation_reason) };
  }
  if (intent.status !== 'succeeded') return undefined;
  const capturedMinor = exactMinor(intent.amount_received, currency);
  return { kind: 'succeeded', chargeId, capturedMinor, ...feesOfIntent(intent) };
}

function factOfRefund({ operationId, chargeId, currency, change }: ChangeOrder, refund: StripeRefund): Fact {
  const fact = refundOf(chargeId, refund, operationId);
  const asAsked =
    refund.payment_intent === chargeId &&
    refund.currency.toUpperCase() === currency &&
    refund.metadata?.['operation'] === operationId &&
    change.kind === 'refund' &&
    change.amountMinor === fact.amountMinor;
  if (!asAsked) throw mismatch('The refund differs from the request.');
  return fact;
}

function assertSameCharge({ chargeId, currency }: ChangeOrder, intent: StripeIntent): void {
  if (intent.id !== chargeId || currencyOf(intent) !== currency)
    throw mismatch('The response describes a charge that was not requested.');
}

function applied(fact: Fact): ChangeOutcome {
  return { kind: 'applied', facts: [fact] };
}

function mapDone<From, To>(answer: StripeAnswer<From>, map: (value: From) => To): StripeAnswer<To> {
  return answer.kind === 'done' ? { kind: 'done', value: map(answer.value) } : answer;
}
