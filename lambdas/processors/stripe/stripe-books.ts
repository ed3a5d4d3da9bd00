import { AmbiguousError } from '../../kernel/faults.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { ProcessorCharge } from '../../payments/domain/processor-charge.ts';
import type { ChargeWindow, ProcessorBooks } from '../../payments/use/processor.ts';
import { stripeContract } from './contract.ts';
import {
  type CallStripe,
  createStripeApi,
  mustBeDone,
  type StripeOptions,
  type TimeLeft,
  timeLeft,
} from './stripe-api.ts';
import { refundsOf, WITH_FEE, WITH_REFUNDS } from './stripe-change.ts';
import { processorCharge } from './stripe-charge.ts';
import { disputeList, intentList, intentObject, type StripeIntent } from './stripe-objects.ts';
import { searchIntents } from './stripe-search.ts';

/** What an intent is read with, so that most need one call. */
const WHOLE = [...WITH_FEE, ...WITH_REFUNDS];
const WHOLE_IN_LIST = WHOLE.map((path) => `data.${path}`);

/** Stripe's largest page. */
const PAGE = 100;

/**
 * Stripe's own list. Reads only, each made once: whoever asks decides whether to ask again.
 *
 * A charge by its id, and the list by time, are consistent. The charges of a payment are not: Stripe finds them by its
 * search, which has a new one in less than a minute, and during outages up to an hour later.
 */
export function createStripeBooks(options: StripeOptions): ProcessorBooks {
  const { account, clock } = options;
  const call = createStripeApi(options);
  return {
    name: stripeContract.name,
    account,
    readCharge: (chargeId, limit) => readCharge(call, chargeId, timeLeft(clock, limit)),
    chargesOfPayment: async (paymentId, limit) => {
      const left = timeLeft(clock, limit);
      const charges: ProcessorCharge[] = [];
      for (const intentId of (await searchIntents(call, 'payment', paymentId, left)).toReversed()) {
        const charge = await readCharge(call, intentId, left);
        if (charge !== undefined) charges.push(charge);
      }
      return charges;
    },
    listCharges: (window, limit) => listCharges(call, window, timeLeft(clock, limit)),
  };
}

async function readCharge(call: CallStripe, chargeId: string, left: TimeLeft): Promise<ProcessorCharge | undefined> {
  const options = { timeout: left() };
  const answer = await call(
    (stripe) => stripe.paymentIntents.retrieve(chargeId, { expand: WHOLE }, options),
    intentObject,
  );
  if (answer.kind === 'refused' && answer.status === 404) return undefined;
  return wholeCharge(call, mustBeDone(answer), left);
}

async function wholeCharge(call: CallStripe, intent: StripeIntent, left: TimeLeft): Promise<ProcessorCharge> {
  const { latest_charge: charge } = intent;
  if (typeof charge === 'string') throw unexpected('the charge that was asked for is not in the intent');
  const refunds = await refundsOf(call, intent, left);
  return processorCharge(intent, refunds, charge?.disputed === true ? await disputesOf(call, intent.id, left) : []);
}

async function disputesOf(call: CallStripe, intentId: string, left: TimeLeft) {
  const options = { timeout: left() };
  const params = { payment_intent: intentId, limit: PAGE };
  const { data, has_more } = mustBeDone(await call((stripe) => stripe.disputes.list(params, options), disputeList));
  if (has_more) throw unexpected(`a charge has more than ${PAGE} disputes`);
  return data.toReversed();
}

// ---------------------------------------------------------------------------------------------------------- the list by time

/** More than a page, halved again and again, comes to one second: of 31 days after 22 times. */
const MAX_HALVINGS = 25;
/** Of one second: 100 intents are more than Stripe lets most accounts make in it. */
const MAX_PAGES_OF_A_SECOND = 20;

/**
 * Stripe lists the newest first and has no cursor from the oldest on. So a stretch of time is halved until it fits on one
 * page, which is then turned round; the cursor says where the next stretch begins and how long it may be.
 *
 *   window   |------------------------------------------------|   more than a page
 *            |-----------------------|                            more than a page
 *            |-----------|                                        fits: answered, oldest first
 *   cursor               ^ next begins here, twice as long at most
 */
async function listCharges(
  call: CallStripe,
  { fromSeconds, untilSeconds, cursor }: ChargeWindow,
  left: TimeLeft,
): Promise<{ readonly charges: readonly ProcessorCharge[]; readonly next?: string }> {
  const start = readCursor(cursor) ?? { fromSeconds, lengthSeconds: untilSeconds - fromSeconds };
  let lengthSeconds = Math.min(start.lengthSeconds, untilSeconds - start.fromSeconds);
  if (lengthSeconds <= 0) return { charges: [] };
  for (let halving = 0; halving < MAX_HALVINGS; halving += 1) {
    const endSeconds = start.fromSeconds + lengthSeconds;
    const intents = await intentsWithin(call, start.fromSeconds, endSeconds, left);
    if (intents === undefined) {
      lengthSeconds = Math.ceil(lengthSeconds / 2);
      continue;
    }
    const charges: ProcessorCharge[] = [];
    for (const intent of intents.toReversed()) charges.push(await wholeCharge(call, intent, left));
    if (endSeconds >= untilSeconds) return { charges };
    return { charges, next: `${endSeconds}+${lengthSeconds * 2}` };
  }
  throw unexpected('a stretch of time cannot be made short enough');
}

/** Newest first; undefined when there are more than fit on a page and the time can still be halved. */
async function intentsWithin(
  call: CallStripe,
  fromSeconds: number,
  untilSeconds: number,
  left: TimeLeft,
): Promise<readonly StripeIntent[] | undefined> {
  const found: StripeIntent[] = [];
  for (let page = 0; page < MAX_PAGES_OF_A_SECOND; page += 1) {
    const last = found.at(-1);
    const params = {
      created: { gte: fromSeconds, lt: untilSeconds },
      limit: PAGE,
      expand: WHOLE_IN_LIST,
      ...(last === undefined ? {} : { starting_after: last.id }),
    };
    const options = { timeout: left() };
    const { data, has_more } = mustBeDone(
      await call((stripe) => stripe.paymentIntents.list(params, options), intentList),
    );
    found.push(...data);
    if (!has_more) return found;
    if (untilSeconds - fromSeconds > 1) return undefined;
  }
  throw unexpected('more intents were made in one second than can be read');
}

function readCursor(cursor: string | undefined): { fromSeconds: number; lengthSeconds: number } | undefined {
  if (cursor === undefined) return undefined;
  const [fromSeconds = Number.NaN, lengthSeconds = Number.NaN] = cursor.split('+').map(Number);
  const isOurs = Number.isSafeInteger(fromSeconds) && Number.isSafeInteger(lengthSeconds) && lengthSeconds > 0;
  invariant(isOurs, 'a cursor is one that this list gave');
  return { fromSeconds, lengthSeconds };
}

function unexpected(message: string): AmbiguousError {
  return new AmbiguousError('processor_answer_unexpected', message);
}
