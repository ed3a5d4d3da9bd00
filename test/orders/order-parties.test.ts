/** Tests the guarantee "one vendor call". */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { type OrderId, storedOperationId, tenantId } from '../../lambdas/kernel/ids.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { createMailer } from '../../lambdas/orders/parties/mailer.ts';
import { makeAgain } from '../../lambdas/orders/parties/make-again.ts';
import type { CreditOrder, OrderEmail, ReservationOrder } from '../../lambdas/orders/use/order-parties.ts';
import type { OnGivenUp } from '../../lambdas/outbound/outbound-calls.ts';
import { redriveDeadLetters } from '../../lambdas/outbound/use/redrive-dead-letters.ts';
import { MemoryDeadLetterStore } from '../outbound/memory-dead-letter-store.ts';
import { type SandboxServer, serveSandbox } from '../sandbox/sandbox-server.ts';
import { createTestSandbox, type TestSandbox } from '../sandbox/sandbox-world.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { World } from '../world/world.ts';
import { type ConnectedParties, connectParties } from './connected-parties.ts';

const LIMIT = { timeoutMs: 600_000 };
const ORDER = 'ord_1' as OrderId;

let clock: SimulatedClock;
let sandbox: TestSandbox;
let server: SandboxServer;
let deadLetters: MemoryDeadLetterStore;
let parties: ConnectedParties;

beforeEach(async () => {
  clock = new SimulatedClock();
  sandbox = createTestSandbox();
  server = await serveSandbox(sandbox.handler);
  deadLetters = new MemoryDeadLetterStore(clock);
  parties = connect('delay');
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
});

/** Each attempt is made in another process, as a saga does. */
async function askUntilKnown<T>(ask: (again: ConnectedParties) => Promise<T>): Promise<T> {
  for (let asked = 1; asked <= 10; asked += 1) {
    try {
      return await ask(asked === 1 ? parties : connect('delay', parties.claims));
    } catch (error) {
      if (!(error instanceof RetryableError || error instanceof AmbiguousError)) throw error;
      clock.advance((error.retryAfterSeconds ?? 60) * 1_000);
    }
  }
  throw new Error('the outcome is unknown after ten attempts');
}

const connect = (givenUp: OnGivenUp, claims?: ConnectedParties['claims']) =>
  connectParties({ clock, url: server.url, deadLetters }, givenUp, claims);
const operation = (name = 'op_1') => storedOperationId(name);
const posts = () => server.requests.filter((request) => request.startsWith('POST')).length;

describe('at the stock service,', () => {
  const reservation = (sku = 'sku_tea'): ReservationOrder => ({
    operationId: operation(),
    orderId: ORDER,
    items: [{ sku, quantity: 2 }],
  });
  const booked = () => sandbox.books.stock.entriesOfOrder(ORDER);
  const reserve = (sku?: string) => parties.stock.reserve(reservation(sku), LIMIT);

  test.each(['sku_tea', 'sku_timeout', 'sku_flaky'])(
    '%s is reserved once, even if requested repeatedly',
    async (sku) => {
      const first = await reserve(sku);
      expect(await reserve(sku)).toEqual(first);
      expect(first).toEqual({ kind: 'reserved', reservationId: (await booked())[0]?.id });
      expect(await booked()).toHaveLength(1);
    },
  );

  test('a request for an item out of stock is refused after one call', async () => {
    expect(await reserve('sku_none')).toMatchObject({ kind: 'refused', failure: { code: 'out_of_stock' } });
    expect(posts()).toBe(1);
  });

  test('a reservation is released once despite repeated requests, and the items are not reserved again', async () => {
    const made = await reserve();
    if (made.kind !== 'reserved') throw new Error(made.kind);
    await parties.stock.release({ reservationId: made.reservationId, items: [] }, LIMIT);
    await parties.stock.release({ reservationId: made.reservationId, items: [] }, LIMIT);
    expect(await booked()).toMatchObject([{ status: 'released' }]);
    expect(await reserve()).toMatchObject({ kind: 'refused', failure: { code: 'reservation_released' } });
  });

  test('a permanently refused release is dead-lettered; a refused reservation is not dead-lettered', async () => {
    await expect(parties.stock.release({ reservationId: 'rsv_unknown', items: [] }, LIMIT)).rejects.toMatchObject({
      code: 'stock_refused',
    });
    expect(await deadLetters.take(10)).toMatchObject([
      { deadLetter: { operation: 'reservation.release', payload: { reservationId: 'rsv_unknown' } } },
    ]);
    await expect(parties.stock.reserve({ ...reservation(), items: [] }, LIMIT)).rejects.toThrow(TerminalError);
    expect(await deadLetters.take(10)).toEqual([]);
  });
});

describe('the client of the referral program', () => {
  const credit = (referrer = 'ref_friend', changes: Partial<CreditOrder> = {}): CreditOrder => ({
    operationId: operation(),
    orderId: ORDER,
    referrer,
    amountMinor: 500,
    currency: 'EUR',
    ...changes,
  });
  const booked = () => sandbox.books.credits.entriesOfOrder(ORDER);

  test.each(['ref_friend', 'ref_timeout', 'ref_flaky'])('credits %s once', async (referrer) => {
    const first = await parties.referrals.credit(credit(referrer), LIMIT);
    expect(await parties.referrals.credit(credit(referrer), LIMIT)).toEqual(first);
    expect(first).toEqual({ kind: 'credited', creditId: (await booked())[0]?.id });
    expect(await booked()).toMatchObject([{ referrer, amount: 500, currency: 'EUR' }]);
  });

  test('does not credit an unknown referrer', async () => {
    expect(await parties.referrals.credit(credit('ref_nobody'), LIMIT)).toMatchObject({
      kind: 'refused',
      failure: { code: 'unknown_referrer' },
    });
  });

  test('queues a delayed message while the program is unavailable, because the credit may have been given', async () => {
    expect(await parties.referrals.credit(credit('ref_down'), LIMIT)).toEqual({ kind: 'queued' });
    expect([await booked(), await deadLetters.take(10)]).toEqual([[], []]);
    expect(deadLetters.delayed).toMatchObject([{ operation: 'credit.give', mayBeApplied: true }]);
  });

  test('treats a key that was used for a different credit as a bug, and dead-letters the credit', async () => {
    // This process has its own claim store, so the claim store of `parties` has no claim for this credit.
    await connect('delay').referrals.credit(credit(), LIMIT);
    expect(await parties.referrals.credit(credit('ref_friend', { amountMinor: 501 }), LIMIT)).toEqual({
      kind: 'given_up',
      reason: 'referrals_key_mismatch',
      mayBeApplied: false,
    });
    expect(await deadLetters.take(10)).toMatchObject([
      { deadLetter: { vendor: 'referrals', operation: 'credit.give' } },
    ]);
    expect(await booked()).toHaveLength(1);
  });
});

test('a real mailer sends no test-mode e-mail, but reports it as sent', async () => {
  const sent: string[] = [];
  const sender = {
    sendEmail: async ({ messageId }: { readonly messageId: string }) => {
      sent.push(messageId);
      return { kind: 'sent', vendorId: 'one' } as const;
    },
  };
  const counts = { admit: async () => true };
  const mailer = createMailer(sender, { clock: new SimulatedClock(), counts, capped: () => undefined });
  const owner = { tenantId: tenantId('ten_1'), dueAtMs: 0 };
  const email = {
    ...owner,
    to: 'ada@example.com',
    subject: 'Your order',
    text: 'Thank you.',
    tag: 'order-confirmation',
  };
  const operationId = storedOperationId('op_test');

  expect((await mailer.send({ ...email, operationId, mode: 'test' }, LIMIT)).kind).toBe('sent');
  expect(sent).toEqual([]);
  await mailer.send({ ...email, operationId, mode: 'live' }, LIMIT);
  expect(sent).toEqual(['op_test']);
});

describe('the mailer', () => {
  const email = (to = 'ada@example.com'): OrderEmail => ({
    operationId: operation(),
    to,
    tenantId: tenantId('ten_1'),
    mode: 'live',
    dueAtMs: 0,
    subject: 'Your order',
    text: 'Thank you.',
    tag: 'order-confirmation',
  });
  const sent = () => sandbox.books.emailsLabelled('metadata_payonce=op_1');
  const send = (to?: string) => askUntilKnown(({ mailer }) => mailer.send(email(to), LIMIT));

  test.each(['ada', 'timeout', 'flaky'])('sends one e-mail to %s@, even if requested repeatedly', async (name) => {
    const first = await send(`${name}@example.com`);
    expect(await send(`${name}@example.com`)).toEqual(first);
    expect(first).toEqual({ kind: 'sent', messageId: (await sent())[0]?.MessageID });
    expect(await sent()).toMatchObject([{ Tag: 'order-confirmation', From: 'shop@example.org' }]);
  });

  test('reports an e-mail to an inactive recipient as refused', async () => {
    expect(await send('bounce@example.com')).toMatchObject({
      kind: 'refused',
      failure: { code: 'inactive_recipient' },
    });
    expect(await sent()).toEqual([]);
  });

  test('queues a delayed message while the e-mail service is unavailable, because the e-mail may have been sent', async () => {
    expect(await send('down@example.com')).toEqual({ kind: 'queued' });
    expect([await sent(), await deadLetters.take(10)]).toEqual([[], []]);
    expect(deadLetters.delayed).toMatchObject([{ operation: 'email.send', mayBeApplied: true }]);
  });

  test('dead-letters a call that needs an operator; a redrive sends it once, even while callers retry', async () => {
    expect(await send('account@example.com')).toEqual({
      kind: 'given_up',
      reason: 'postmark_account',
      mayBeApplied: false,
    });
    expect(await sent()).toEqual([]);
    const redrive = () =>
      redriveDeadLetters(
        {
          deadLetters,
          makeAgain: (one, limit, id) =>
            makeAgain({ ...new World().tools, ...connect('throw', parties.claims) }, one, limit, id),
          runner: idempotentRunner,
          clock,
          report: () => {},
        },
        { deadlineMs: clock.nowMs() + 300_000, atMost: 10 },
      );
    expect(await redrive()).toMatchObject([{ state: 'applied', operation: 'email.send', reason: 'postmark_account' }]);
    expect(await redrive()).toEqual([]);
    const [only] = await sent();
    expect(await send('account@example.com')).toEqual({ kind: 'sent', messageId: only?.MessageID });
    expect(await sent()).toHaveLength(1);
  });
});
