/** Tests the guarantee "one vendor call". */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { receiveCallback } from '../../lambdas/callbacks/receive-callback.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { storedOrderDetails } from '../../lambdas/orders/domain/order-transition.ts';
import { orderStepOperation, paymentOfOrder } from '../../lambdas/orders/ids.ts';
import { makeAgain, recordGivenUp } from '../../lambdas/orders/parties/make-again.ts';
import type { OrderRedriveTools } from '../../lambdas/orders/use/call-for-order-again.ts';
import type { CreateOrder } from '../../lambdas/orders/use/create-order.ts';
import { callOnce, type SendRequest } from '../../lambdas/outbound/http-call.ts';
import { makeDelayedCall } from '../../lambdas/outbound/use/delayed-call.ts';
import { redriveDeadLetters } from '../../lambdas/outbound/use/redrive-dead-letters.ts';
import { MemoryDeadLetterStore } from '../outbound/memory-dead-letter-store.ts';
import { callback } from '../payments/payment-fixtures.ts';
import { type SandboxServer, serveSandbox } from '../sandbox/sandbox-server.ts';
import { createTestSandbox, type TestSandbox } from '../sandbox/sandbox-world.ts';
import { Stores } from '../world/stores.ts';
import { World } from '../world/world.ts';
import { type ConnectedParties, connectParties } from './connected-parties.ts';
import { orderRequest } from './order-fixtures.ts';

const LATE_BOUND_MS = 3 * 24 * 60 * 60_000;
const HIDDEN_MS = 6 * 60_000;
/** Longer than the retention of the claim of a sent e-mail, in milliseconds. */
const TERM_MS = 34 * 24 * 60 * 60_000;

let harness: World;
let sandbox: TestSandbox;
let server: SandboxServer;
let deadLetters: MemoryDeadLetterStore;
let claims: ConnectedParties['claims'];

beforeEach(async () => {
  harness = new World();
  sandbox = createTestSandbox();
  server = await serveSandbox(sandbox.handler);
  deadLetters = new MemoryDeadLetterStore(harness.clock);
  claims = new Stores(harness.clock).sendingClaims('sandbox');
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
});

function connect(givenUp: 'throw' | 'delay') {
  return connectParties({ clock: harness.clock, url: server.url, deadLetters }, givenUp, claims);
}

/** The e-mail fails until an operator acts, and the credit conflicts with an earlier credit under the same key. */
async function brokenOrder(key: string): Promise<CreateOrder> {
  const request = orderRequest(key, { email: 'account@example.com' });
  const { mailer, referrals } = connect('delay');
  const credit = { orderId: request.orderId, referrer: 'ref_friend', currency: 'EUR' };
  const operationId = orderStepOperation(systemDigest, 'credit', request.orderId);
  // This process has its own claim store, so the shared claim store has no claim for this earlier credit.
  const { referrals: other } = connectParties({ clock: harness.clock, url: server.url, deadLetters }, 'throw');
  await other.credit({ ...credit, operationId, amountMinor: 1 }, { timeoutMs: 5_000 });
  await harness.order(request, { mailer, referrals });
  harness.clock.advance(LATE_BOUND_MS);
  await harness.resolveFor(60, { mailer, referrals });
  expect(await harness.read(request)).toMatchObject({ email: { status: 'failed' }, referral: { status: 'failed' } });
  return request;
}

function redrive(changes: Partial<OrderRedriveTools> = {}) {
  const { emails, stock, referrals } = connect('throw');
  const parties = { ...harness.tools, ...changes, emails, stock, referrals };
  return redriveDeadLetters(
    {
      deadLetters,
      makeAgain: (deadLetter, limit, id) => makeAgain(parties, deadLetter, limit, id),
      runner: idempotentRunner,
      clock: harness.clock,
      report: (error) => {
        throw error;
      },
    },
    { deadlineMs: harness.clock.nowMs() + 300_000, atMost: 10 },
  );
}

interface Delivery extends Partial<OrderRedriveTools> {
  readonly isRepeated?: boolean;
}

/** @returns the result of each message */
async function delayedCall(
  connected = connect('throw'),
  { isRepeated = false, ...changes }: Delivery = {},
): Promise<readonly string[]> {
  harness.clock.advance(30_000);
  const { emails, stock, referrals } = connected;
  const parties = { ...harness.tools, ...changes, emails, stock, referrals };
  const results: string[] = [];
  for (const deadLetter of deadLetters.delayed) {
    results.push(
      await makeDelayedCall(
        {
          deadLetters,
          makeLast: (one, limit, id) => makeAgain(parties, one, limit, id),
          recordGivenUp: (one, id) => recordGivenUp(harness.tools, one, id),
          runner: idempotentRunner,
          report: (error) => {
            throw error;
          },
        },
        deadLetter,
        'delayed',
        isRepeated,
      ),
    );
  }
  deadLetters.delayed.length = 0;
  return results;
}

const sent = async ({ orderId }: CreateOrder) =>
  sandbox.books.emailsLabelled(`metadata_payonce=${orderStepOperation(systemDigest, 'confirm', orderId)}`);

/** The copies are like those of another process. */
async function copyOf(operation: string): Promise<void> {
  const found = (await deadLetters.take(10)).filter(({ deadLetter }) => deadLetter?.operation === operation);
  for (const { deadLetter } of found) if (deadLetter !== undefined) await deadLetters.put(deadLetter);
  harness.clock.advance(HIDDEN_MS);
}

test('an order records the result of its redriven dead letter once, even if it no longer retries the call', async () => {
  const request = await brokenOrder('given_up');
  await copyOf('email.send');
  const reports = await redrive();
  expect(reports.filter(({ operation }) => operation === 'email.send')).toMatchObject([
    { state: 'applied' },
    { state: 'applied' },
  ]);
  expect(await harness.read(request)).toMatchObject({ status: 'completed', email: { status: 'sent' } });
  expect((await harness.typesOf(request)).filter((type) => type === 'email.sent')).toHaveLength(1);
  expect(await sent(request)).toHaveLength(1);
  const newest = (await harness.transitions(request.orderId)).at(-1);
  expect(newest?.cause).toEqual({ by: 'run', runId: `redrive:${reports[0]?.id}` });
});

test('an e-mail whose dead letter is redriven again after the expiry of the sending claim is not sent a second time', async () => {
  const stores = new Stores(harness.clock);
  claims = stores.sendingClaims('sandbox');
  const request = await brokenOrder('term');
  const kept = (await deadLetters.take(10)).flatMap(({ deadLetter }) =>
    deadLetter?.operation === 'email.send' ? [deadLetter] : [],
  );
  harness.clock.advance(HIDDEN_MS);
  await redrive();
  expect(await sent(request)).toHaveLength(1);
  harness.clock.advance(TERM_MS);
  expect(stores.database.deleteExpired(harness.clock.nowMs())).toBe(1);

  for (const deadLetter of kept) await deadLetters.put(deadLetter);
  const reports = await redrive();

  expect(reports.filter(({ operation }) => operation === 'email.send')).toMatchObject([{ state: 'applied' }]);
  expect(await sent(request)).toHaveLength(1);
});

test('a redrive that fails between sending and recording is retried, and its result is recorded once', async () => {
  const request = await brokenOrder('crash');
  const { orders } = harness.tools;
  const dying: OrderRedriveTools['orders'] = {
    listOrderTransitions: (...page) => orders.listOrderTransitions(...page),
    appendToOrder: () => Promise.reject(new RetryableError('store_throttled', 'no')),
  };
  expect(await redrive({ orders: dying })).toContainEqual(
    expect.objectContaining({ operation: 'email.send', state: 'stays', reason: 'store_throttled' }),
  );
  expect(await harness.read(request)).toMatchObject({ email: { status: 'failed' } });
  expect(await redrive()).toContainEqual(expect.objectContaining({ operation: 'email.send', state: 'applied' }));
  expect(await harness.read(request)).toMatchObject({ email: { status: 'sent' } });
  expect(await sent(request)).toHaveLength(1);
});

test('a dead letter waits while the money of its order is disputed, and takes effect after the money is returned', async () => {
  const request = await brokenOrder('disputed');
  const [charge] = harness.processor.charges(paymentOfOrder(systemDigest, request.orderId));
  const dispute = await harness.processor.inside.dispute(String(charge?.chargeId), 2_000);
  const sendCallback = (eventId: string) =>
    receiveCallback(
      { ...harness.tools, effects: harness.store, books: harness.processor },
      { processorName: 'sandbox', mode: 'test', eventId, type: 'charge.changed', chargeId: String(charge?.chargeId) },
    );
  await sendCallback('opened');
  const refused = await redrive();
  expect(new Set(refused.map(({ state, reason }) => `${state} ${reason}`))).toEqual(
    new Set(['stays payment_refunded']),
  );
  expect(await sent(request)).toEqual([]);
  await harness.processor.inside.closeDispute(dispute, 'won');
  await sendCallback('closed');
  expect(await redrive()).toContainEqual(expect.objectContaining({ operation: 'email.send', state: 'applied' }));
  expect(await sent(request)).toHaveLength(1);
});

test('the redrive of a dead letter of a canceled order removes the dead letter without effect', async () => {
  const request = orderRequest('canceled', { email: 'account@example.com' });
  const { mailer } = connect('delay');
  await harness.order(request, { mailer, stock: { ...harness.shop.stock, reserve: outOfStock } });
  expect(await harness.read(request)).toMatchObject({ status: 'canceled' });
  await mailer
    .send(
      {
        operationId: orderStepOperation(systemDigest, 'confirm', request.orderId),
        orderId: request.orderId,
        to: request.email,
        tenantId: request.tenantId,
        mode: 'live',
        dueAtMs: 0,
        subject: 'Your order',
        text: 'Thank you.',
        tag: 'order-confirmation',
      },
      { timeoutMs: 5_000 },
    )
    .catch(() => undefined);
  expect(await redrive()).toMatchObject([{ state: 'refused', reason: 'order_canceled' }]);
  expect(await redrive()).toEqual([]);
  expect(await sent(request)).toEqual([]);
});

test('the redrive of the e-mail of an erased order removes the dead letter without sending the e-mail', async () => {
  const request = await brokenOrder('erased');
  const { orders } = harness.tools;
  const erased: OrderRedriveTools['orders'] = {
    listOrderTransitions: async (...page) =>
      (await orders.listOrderTransitions(...page)).map(({ first, ...rest }) =>
        first === undefined ? rest : { ...rest, first: { ...storedOrderDetails(first), detailsErased: true } },
      ),
    appendToOrder: (append) => orders.appendToOrder(append),
  };
  expect(await redrive({ orders: erased })).toContainEqual(
    expect.objectContaining({ operation: 'email.send', state: 'refused', reason: 'order_erased' }),
  );
  expect(await sent(request)).toEqual([]);
});

async function outOfStock() {
  return { kind: 'refused', failure: { code: 'out_of_stock', message: 'None left.' } } as const;
}

async function unreachableParties(givenUp: 'throw' | 'delay') {
  const { url, [Symbol.asyncDispose]: close } = await serveSandbox(sandbox.handler);
  await close();
  return connectParties({ clock: harness.clock, url, deadLetters }, givenUp, claims);
}

test('after all attempts of an order’s e-mail and credit have failed, delayed messages make one last attempt of each', async () => {
  const request = orderRequest('delayed');
  const { mailer, referrals } = await unreachableParties('delay');
  await harness.order(request, { mailer, referrals });
  expect(await harness.read(request)).toMatchObject({ email: { status: 'queued' }, referral: { status: 'queued' } });
  // The resolver skips a call that a delayed message will retry.
  await harness.resolveFor(3, { mailer: refusing, referrals: refusing });
  expect(await delayedCall()).toEqual(['applied', 'applied']);
  expect(await harness.read(request)).toMatchObject({ email: { status: 'sent' }, referral: { status: 'credited' } });
  expect([await sent(request), await deadLetters.take(10)]).toMatchObject([[{}], []]);
});

test('a delayed call that fails is dead-lettered with the id of its order, and the order shows the result of a redrive', async () => {
  const request = orderRequest('dead');
  const { mailer, referrals } = await unreachableParties('delay');
  await harness.order(request, { mailer, referrals });
  expect(await delayedCall(await unreachableParties('throw'))).toEqual(['stays', 'stays']);
  expect(await harness.read(request)).toMatchObject({ email: { status: 'failed' }, referral: { status: 'failed' } });
  const reports = await redrive();
  expect(reports.map(({ order, state }) => [order, state])).toEqual([
    [request.orderId, 'applied'],
    [request.orderId, 'applied'],
  ]);
  expect(await harness.read(request)).toMatchObject({ email: { status: 'sent' }, referral: { status: 'credited' } });
  expect(await sent(request)).toHaveLength(1);
});

test.each([
  ['nothing was written', RetryableError],
  ['the write may have taken effect', AmbiguousError],
])(
  'if the result of an applied delayed call cannot be recorded, its message is delivered again, and the call does not count as failed: %s',
  async (_what, Fault) => {
    const request = orderRequest('unrecorded');
    const { mailer } = await unreachableParties('delay');
    await harness.order(request, { mailer });
    const { orders } = harness.tools;
    const dying: OrderRedriveTools['orders'] = {
      listOrderTransitions: (...page) => orders.listOrderTransitions(...page),
      appendToOrder: () => Promise.reject(new Fault('store_throttled', 'not recorded')),
    };
    await expect(delayedCall(connect('throw'), { orders: dying })).rejects.toThrow('not recorded');
    expect(await harness.read(request)).toMatchObject({ email: { status: 'queued' } });
    expect(await delayedCall(connect('throw'), { isRepeated: true })).toEqual(['applied']);
    expect(await harness.read(request)).toMatchObject({ email: { status: 'sent' } });
    expect([await sent(request), await deadLetters.take(10)]).toMatchObject([[{}], []]);
  },
);

/** As a redrive by the API does; with `twice`, as after a crash between the send and the removal. */
async function putIntoDelayed({ twice = false } = {}): Promise<void> {
  for (const taken of await deadLetters.take(10)) {
    if (taken.deadLetter !== undefined)
      deadLetters.delayed.push(taken.deadLetter, ...(twice ? [taken.deadLetter] : []));
    await deadLetters.remove(taken);
  }
}

test('dead letters that an operator returns to the delayed calls take effect once, or become dead letters again if they fail', async () => {
  const request = orderRequest('put-back');
  const { mailer, referrals } = await unreachableParties('delay');
  await harness.order(request, { mailer, referrals });
  expect(await delayedCall(await unreachableParties('throw'))).toEqual(['stays', 'stays']);
  await putIntoDelayed();
  expect(await delayedCall(await unreachableParties('throw'))).toEqual(['stays', 'stays']);
  expect(await harness.read(request)).toMatchObject({ email: { status: 'failed' }, referral: { status: 'failed' } });
  await putIntoDelayed({ twice: true });
  expect(await delayedCall()).toEqual(['applied', 'applied', 'applied', 'applied']);
  expect(await harness.read(request)).toMatchObject({ email: { status: 'sent' }, referral: { status: 'credited' } });
  expect([await sent(request), await deadLetters.take(10)]).toMatchObject([[{}], []]);
  expect(await sandbox.books.credits.entriesOfOrder(request.orderId)).toHaveLength(1);
});

test.each([
  ['the later attempts are refused with 429', 429],
  ['the later attempts are refused with 401', 401],
])(
  'a credit is given once although a worker was killed after the send; its outcome stays unknown until a redrive: %s',
  async (_what, status) => {
    const request = orderRequest('killed');
    const { mailer } = connect('delay');
    const around = { clock: harness.clock, url: server.url, deadLetters };
    const killed: SendRequest = async (call) => {
      await callOnce(call);
      throw new Error('the worker was killed after the send');
    };
    const dying = connectParties({ ...around, send: killed }, 'delay', claims);
    await expect(harness.order(request, { mailer, referrals: dying.referrals })).rejects.toThrow('killed');
    harness.clock.advance(120_000);
    const refused: SendRequest = async () => ({ status, retryAfter: null, headers: new Headers(), text: '' });
    const busy = connectParties({ ...around, send: refused }, 'delay', claims);
    await harness.resolve({ mailer, referrals: busy.referrals });
    await delayedCall(connectParties({ ...around, send: refused }, 'throw', claims));
    expect(await harness.read(request)).toMatchObject({ status: 'completed', referral: { status: 'unknown' } });

    harness.clock.advance(HIDDEN_MS);
    expect(await redrive()).toContainEqual(
      expect.objectContaining({ operation: 'credit.give', state: 'applied', mayBeApplied: true }),
    );
    expect(await harness.read(request)).toMatchObject({ referral: { status: 'credited' } });
    expect(await sandbox.books.credits.entriesOfOrder(request.orderId)).toHaveLength(1);
  },
);

test.each([
  ['stays unknown after an earlier delivery that may have made it', true, 'unknown'],
  ['fails without an earlier delivery', false, 'failed'],
])('a delayed call of a refunded order is skipped and %s', async (_what, isRepeated, status) => {
  const request = orderRequest('gone');
  const { mailer, referrals } = await unreachableParties('delay');
  await harness.order(request, { mailer, referrals });
  const { store } = harness;
  const orders = {
    listOrderTransitions: store.listOrderTransitions.bind(store),
    appendToOrder: () => Promise.reject(new RetryableError('store_unavailable', 'no', { retryAfterSeconds: 1 })),
  };
  if (isRepeated) await expect(delayedCall(undefined, { orders })).rejects.toThrow('no');
  expect(await sent(request)).toHaveLength(isRepeated ? 1 : 0);
  const paymentId = paymentOfOrder(systemDigest, request.orderId);
  const chargeId = harness.chargeOf({ paymentId });
  await harness.processor.inside.refund(chargeId, 2_000);
  await harness.deliver(callback('refunded', chargeId));
  await delayedCall(undefined, { isRepeated });
  expect(await harness.read(request)).toMatchObject({ email: { status }, referral: { status } });
  expect((await deadLetters.take(10)).map(({ deadLetter }) => deadLetter?.mayBeApplied)).toEqual([
    isRepeated,
    isRepeated,
  ]);
});

const refusing = {
  send: () => Promise.reject(new Error('the driver must not send')),
  credit: () => Promise.reject(new Error('the driver must not credit')),
};
