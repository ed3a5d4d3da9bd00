import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { ProcessorCharge } from '../../lambdas/payments/domain/processor-charge.ts';
import { parsePaymentId } from '../../lambdas/payments/ids.ts';
import type { ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import { positionAt, type RecentOutcomes, timeOf } from '../../lambdas/payments/use/transition-reader.ts';
import { readPage } from '../../lambdas/reconciliation/use/reconcile-pages.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { MemoryViews } from '../views/memory-views.ts';

const HOUR_SECONDS = 3_600;
const MONTH_HOURS = 730;
const STRIPE_PAGE = 100;
const MAX_PAGES = 100_000;
const PAYMENT = parsePaymentId(`pay_${'a'.repeat(32)}`);

/** A comparison lists the charges and queries the outcome index. */
export interface ListCost {
  readonly payments: number;
  readonly pages: number;
  readonly calls: number;
  readonly queries: number;
}

/** Payments have an even rate. The outcome of a payment occurs at the time of the next payment's charge. */
export async function listCost(paymentsPerMonth: number, hours: number): Promise<ListCost> {
  const perSecond = paymentsPerMonth / MONTH_HOURS / HOUR_SECONDS;
  const untilSeconds = hours * HOUR_SECONDS;
  const count = (seconds: number) => Math.ceil(Math.max(0, seconds) * perSecond);
  let calls = 0;
  let queries = 0;
  let payments = 0;
  const { paymentId } = chargeAt(0);
  /** Halves the period until its charges fit on a page, as lambdas/processors/stripe/stripe-books.ts does. */
  const listCharges: ProcessorBooks['listCharges'] = async ({ fromSeconds, untilSeconds: endSeconds, cursor }) => {
    const [from = fromSeconds, length = endSeconds - fromSeconds] = cursor?.split('+').map(Number) ?? [];
    let seconds = Math.min(length, endSeconds - from);
    calls += 1;
    while (count(from + seconds) - count(from) > STRIPE_PAGE) {
      seconds = Math.ceil(seconds / 2);
      calls += 1;
    }
    const charges = Array.from({ length: count(from + seconds) - count(from) }, (_, index) =>
      chargeAt(Math.floor((count(from) + index) / perSecond)),
    );
    const at = from + seconds;
    return at >= endSeconds ? { charges } : { charges, next: `${at}+${seconds * 2}` };
  };
  const outcomes: RecentOutcomes = {
    outcomesAfter: async (position, endMs, limit) => {
      queries += 8;
      const from = count(timeOf(position) / 1000);
      const found = Math.min(limit, count(endMs / 1000) - from);
      payments += found;
      const isLast = from + found >= count(endMs / 1000);
      const outcome = (index: number) => {
        const at = positionAt(Math.floor(((from + index + 1) / perSecond) * 1000));
        return { place: { paymentId, sequence: 2 }, position: at };
      };
      return { outcomes: Array.from({ length: found }, (_, index) => outcome(index)), isLast };
    },
  };
  const unread = () => Promise.reject(new Error('unexpected read of a single charge'));
  const books: ProcessorBooks = {
    name: 'stripe',
    mode: 'live',
    account: 'acct',
    listCharges,
    readCharge: unread,
    chargesOfPayment: unread,
  };
  const tools = { books: [books], outcomes, views: new MemoryViews(), clock: new SimulatedClock() };
  const untilMs = untilSeconds * 1000;
  const window = { untilMs, completeMs: untilMs, begin: async () => ({ from: positionAt(0) }) };
  let cursor: string | undefined;
  for (let pages = 1; pages < MAX_PAGES; pages += 1) {
    const page = await readPage(tools, window, cursor, 1);
    if (page.next === undefined || page.next.includes('"open"')) return { payments, pages, calls, queries };
    cursor = page.next;
  }
  invariant(false, 'the comparison does not end');
}

function chargeAt(createdAtSeconds: number): ProcessorCharge & { readonly paymentId: NonNullable<typeof PAYMENT> } {
  invariant(PAYMENT !== undefined, 'the payment id is malformed');
  return {
    chargeId: 'pi_1',
    paymentId: PAYMENT,
    status: 'succeeded',
    amountMinor: 1_000,
    capturedMinor: 1_000,
    currency: 'EUR',
    refunds: [],
    disputes: [],
    createdAtSeconds,
  };
}

/**
 * A page reads its lists concurrently and writes the run; it reads eight chains concurrently. The durations are
 * assumed.
 */
const COST = { secondsOfPage: 1.4, secondsEach: 0.01 / 8 };

const RECONCILED_PER_MONTH = 10_000_000;
/** The hourly window includes the 15 minutes by which the reconciliation mark lags. */
const RUNS = [
  { run: '`reconcile-recent`', hours: 1.25, everyHours: 1, halfMinutes: 30 },
  { run: '`reconcile-days`', hours: 7 * 24, everyHours: 24, halfMinutes: 12 * 60 },
];

export async function reconcileDurations() {
  return Promise.all(
    RUNS.map(async ({ run, hours, everyHours, halfMinutes }) => {
      const cost = await listCost(RECONCILED_PER_MONTH, hours);
      const minutes = (cost.pages * COST.secondsOfPage + cost.payments * COST.secondsEach) / 60;
      return { run, everyHours, ...cost, minutes, halfMinutes };
    }),
  );
}

/** `seconds` is the run time of the worker. */
export async function reconcilingOfMonth() {
  const sum = { payments: RECONCILED_PER_MONTH, chains: 0, queries: 0, pages: 0, seconds: 0 };
  for (const { everyHours, payments, queries, pages, minutes } of await reconcileDurations()) {
    const runs = MONTH_HOURS / everyHours;
    sum.chains += Math.round(runs * payments);
    sum.queries += Math.round(runs * queries);
    sum.pages += Math.round(runs * pages);
    sum.seconds += Math.round(runs * minutes * 60);
  }
  return sum;
}

export async function reconcileTable(): Promise<string> {
  const number = (value: number) => Math.round(value).toLocaleString('en-US');
  const rows = (await reconcileDurations()).map(
    ({ run, payments, calls, minutes, halfMinutes }) =>
      `| ${run} | ${number(payments)} | ${number(calls)} | ${number(minutes)} | ${number(halfMinutes)} |`,
  );
  return ['| run | payments | calls of Stripe | minutes | limit |', '|---|---|---|---|---|', ...rows].join('\n');
}
