import { defined } from '../../kernel/defined.ts';
import { AmbiguousError } from '../../kernel/faults.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { ProcessorCharge } from '../../payments/domain/processor-charge.ts';
import {
  ANSWER_MISMATCH,
  type ChargePage,
  type ChargeWindow,
  type ProcessorBooks,
  type UnreadableCharge,
} from '../../payments/use/processor.ts';
import { unreadable } from '../answers.ts';
import { unreadableCharge } from '../unreadable-charge.ts';
import { stripeContract } from './contract.ts';
import {
  type CallStripe,
  createStripeApi,
  requireSuccess,
  type StripeOptions,
  type TimeLeft,
  timeLeft,
} from './stripe-api.ts';
import { EXPAND_FEE, EXPAND_REFUNDS, refundsOf } from './stripe-change.ts';
import { processorCharge } from './stripe-charge.ts';
import { disputeList, intentList, intentObject, type StripeIntent, type StripeListedIntent } from './stripe-objects.ts';
import { assertContinues } from './stripe-pages.ts';
import { searchIntents } from './stripe-search.ts';

/** Fields that every read of an intent expands. An intent without refunds and disputes then needs only one request. */
const WHOLE = [...EXPAND_FEE, ...EXPAND_REFUNDS];
const WHOLE_IN_LIST = WHOLE.map((path) => `data.${path}`);

const PAGE = 100;

/**
 * Creates a reader of Stripe's books. Each request is sent once; the caller decides whether to retry.
 *
 * Reads by charge id and by time are consistent. Reads by payment are not: they use Stripe's search, whose index lags
 * by less than a minute, and during outages by up to an hour.
 */
export function createStripeBooks(options: StripeOptions): ProcessorBooks {
  const { account, mode, clock } = options;
  const call = createStripeApi(options);
  return {
    name: stripeContract.name,
    mode,
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
    listCharges: (window, limit) => listCharges(call, window, timeLeft(clock, limit), limit.timeoutMs / 2),
  };
}

export async function readCharge(
  call: CallStripe,
  chargeId: string,
  left: TimeLeft,
): Promise<ProcessorCharge | undefined> {
  const options = { timeout: left() };
  const answer = await call(
    (stripe) => stripe.paymentIntents.retrieve(chargeId, { expand: WHOLE }, options),
    intentObject,
  );
  if (answer.kind === 'refused' && answer.status === 404) return undefined;
  return wholeCharge(call, requireSuccess(answer), left);
}

async function wholeCharge(call: CallStripe, intent: StripeIntent, left: TimeLeft): Promise<ProcessorCharge> {
  const { latest_charge: charge } = intent;
  if (typeof charge === 'string') throw unexpected('The intent does not contain the expanded charge.');
  const refunds = await refundsOf(call, intent, left, { withFees: true });
  return processorCharge(intent, refunds, charge?.disputed === true ? await disputesOf(call, intent.id, left) : []);
}

async function disputesOf(call: CallStripe, intentId: string, left: TimeLeft) {
  const options = { timeout: left() };
  const params = { payment_intent: intentId, limit: PAGE };
  const { data, has_more } = requireSuccess(await call((stripe) => stripe.disputes.list(params, options), disputeList));
  if (has_more) throw unexpected(`The charge has more than ${PAGE} disputes.`);
  return data.toReversed();
}

// ---------------------------------------------------------------------------------------------------------- the list by time

/** After 22 halvings, even the longest window, 31 days, is one second long. */
const MAX_HALVINGS = 25;
/** For most accounts, Stripe's rate limit allows fewer intents per second than fit on one page. */
const MAX_PAGES_OF_A_SECOND = 20;

/**
 * Lists charges oldest first. Stripe lists only newest first. Therefore, the interval is halved until its intents fit
 * on one page, and the page is reversed. The cursor contains the start of the next interval and its maximum length, in
 * seconds.
 *
 *   window   |------------------------------------------------|   more than a page
 *            |-----------------------|                            more than a page
 *            |-----------|                                        fits: answered, oldest first
 *   cursor               ^ start of the next interval, at most twice as long
 *
 * A charge with disputes or refunds can need an additional call. After half of the time, the page ends before the next
 * charge that needs such a call; otherwise, a page with many such charges would exceed its time limit at every read.
 * The cursor then contains the creation time (in whole seconds) and the id of the last intent on the page:
 *
 *            |-----------|
 *   answered |------|
 *   cursor         ^ this time, after this intent
 *
 * @param spareMs if less than this time (in milliseconds) remains, no further charge that needs a call is read
 */
async function listCharges(
  call: CallStripe,
  { fromSeconds, untilSeconds, cursor }: ChargeWindow,
  left: TimeLeft,
  spareMs: number,
): Promise<ChargePage> {
  const start: ListPlace = readCursor(cursor) ?? { fromSeconds, lengthSeconds: untilSeconds - fromSeconds };
  let lengthSeconds = Math.min(start.lengthSeconds, untilSeconds - start.fromSeconds);
  if (lengthSeconds <= 0) return { charges: [] };
  for (let halving = 0; halving < MAX_HALVINGS; halving += 1) {
    const endSeconds = start.fromSeconds + lengthSeconds;
    const newestFirst = await intentsWithin(call, start.fromSeconds, endSeconds, left);
    if (newestFirst === undefined) {
      lengthSeconds = Math.ceil(lengthSeconds / 2);
      continue;
    }
    const intents = newestFirst.toReversed();
    const rest = intents.slice(intents.findIndex(({ id }) => id === start.afterId) + 1);
    const { last, ...read } = await listedCharges(call, rest, left, spareMs);
    if (last !== undefined) {
      return { ...read, next: `${last.created}+${endSeconds - last.created}+${last.id}` };
    }
    return endSeconds >= untilSeconds ? read : { ...read, next: `${endSeconds}+${lengthSeconds * 2}` };
  }
  throw unexpected(`The interval's intents do not fit on one page even after ${MAX_HALVINGS} halvings.`);
}

/**
 * Reads as many of the intents as the time allows, but at least one.
 * @returns the charges; if intents remain, `last` is the last intent that was read
 */
async function listedCharges(
  call: CallStripe,
  intents: readonly StripeListedIntent[],
  left: TimeLeft,
  spareMs: number,
): Promise<Pick<ChargePage, 'charges' | 'unreadable'> & { readonly last?: StripeListedIntent }> {
  const charges: ProcessorCharge[] = [];
  const unread: UnreadableCharge[] = [];
  let last: StripeListedIntent | undefined;
  for (const intent of intents) {
    if (last !== undefined && left() < spareMs && needsCall(intent)) return { charges, unreadable: unread, last };
    const listed = await listedCharge(call, intent, left);
    if ('fault' in listed) unread.push(listed);
    else charges.push(listed);
    last = intent;
  }
  return { charges, unreadable: unread };
}

/** Reports whether an additional request is needed to list the intent's refunds or disputes. */
function needsCall(intent: StripeListedIntent): boolean {
  const charge = intentObject.safeParse(intent).data?.latest_charge ?? undefined;
  return typeof charge === 'object' && (charge.disputed || charge.refunds?.data.length !== 0);
}

/** Codes of faults of a single charge: Stripe has responded, but the charge cannot be parsed. The list continues. */
const CHARGE_FAULTS: ReadonlySet<string> = new Set([
  'processor_answer_unreadable',
  ANSWER_MISMATCH,
  'processor_answer_unexpected',
]);

/** @throws RetryableError or AmbiguousError when Stripe does not respond */
async function listedCharge(
  call: CallStripe,
  intent: StripeListedIntent,
  left: TimeLeft,
): Promise<ProcessorCharge | UnreadableCharge> {
  try {
    const read = intentObject.safeParse(intent);
    if (!read.success) throw unreadable(read.error);
    return await wholeCharge(call, read.data, left);
  } catch (error) {
    if (!(error instanceof AmbiguousError && CHARGE_FAULTS.has(error.code))) throw error;
    return unreadableCharge(intent, error);
  }
}

/**
 * Lists the intents of an interval, newest first.
 * @returns undefined if the intents do not fit on one page and the interval is longer than a second
 * @throws AmbiguousError `processor_answer_unexpected` if a page does not continue the list, or if one second has too
 * many intents
 */
async function intentsWithin(
  call: CallStripe,
  fromSeconds: number,
  untilSeconds: number,
  left: TimeLeft,
): Promise<readonly StripeListedIntent[] | undefined> {
  const found: StripeListedIntent[] = [];
  for (let page = 0; page < MAX_PAGES_OF_A_SECOND; page += 1) {
    const last = found.at(-1);
    const params = {
      created: { gte: fromSeconds, lt: untilSeconds },
      limit: PAGE,
      expand: WHOLE_IN_LIST,
      ...defined({ starting_after: last?.id }),
    };
    const options = { timeout: left() };
    const { data, has_more } = requireSuccess(
      await call((stripe) => stripe.paymentIntents.list(params, options), intentList),
    );
    found.push(...data);
    assertContinues(found, ({ created }) => created >= fromSeconds && created < untilSeconds);
    if (!has_more) return found;
    if (untilSeconds - fromSeconds > 1) return undefined;
  }
  throw unexpected('More intents were created in one second than one list can read.');
}

interface ListPlace {
  readonly fromSeconds: number;
  readonly lengthSeconds: number;
  /** The id of the last intent of the interval that was already returned. @default none */
  readonly afterId?: string;
}

function readCursor(cursor: string | undefined): ListPlace | undefined {
  if (cursor === undefined) return undefined;
  const [from, length, afterId] = cursor.split('+');
  const [fromSeconds, lengthSeconds] = [Number(from), Number(length)];
  const isOurs = Number.isSafeInteger(fromSeconds) && Number.isSafeInteger(lengthSeconds) && lengthSeconds > 0;
  invariant(isOurs, 'the cursor was not returned by this list');
  return { fromSeconds, lengthSeconds, ...defined({ afterId }) };
}

function unexpected(message: string): AmbiguousError {
  return new AmbiguousError('processor_answer_unexpected', message);
}
