import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { factsOf } from '../../lambdas/payments/domain/processor-charge.ts';
import type { ChargeOrder, ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import { createSandboxBooks } from '../../lambdas/processors/sandbox/sandbox-books.ts';
import { createSandboxClient } from '../../lambdas/processors/sandbox/sandbox-client.ts';
import { freshOrder } from '../orders/sandbox-orders.ts';
import { callSandbox } from '../sandbox/sandbox-calls.ts';
import { httpAnswer, serveRaw } from '../sandbox/sandbox-raw-server.ts';
import { type SandboxServer, serveSandbox } from '../sandbox/sandbox-server.ts';
import { createTestSandbox, SANDBOX_START_MS } from '../sandbox/sandbox-world.ts';

const CLOCK = { nowMs: () => SANDBOX_START_MS };
const LIMIT = { timeoutMs: 600_000 };
const START_SECONDS = SANDBOX_START_MS / 1000;

let sandbox: ReturnType<typeof createTestSandbox>;
let server: SandboxServer;
let books: ProcessorBooks;
beforeEach(async () => {
  sandbox = createTestSandbox();
  server = await serveSandbox(sandbox.handler);
  books = createSandboxBooks({ url: server.url, clock: CLOCK });
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
});

async function charged(changes: Partial<ChargeOrder> = {}): Promise<{ order: ChargeOrder; chargeId: string }> {
  const order = freshOrder(changes);
  const outcome = await createSandboxClient({ url: server.url, clock: CLOCK }).charge(order, LIMIT);
  if (outcome.chargeId === undefined) throw new Error('the processor returned no charge id');
  return { order, chargeId: outcome.chargeId };
}

const post = (path: string, body: object) =>
  callSandbox(sandbox.handler, { method: 'POST', path, body: JSON.stringify(body) });

test('a charge that belongs to another operation results in the fact foreign_charge', async () => {
  const { order, chargeId } = await charged();
  const charge = await books.readCharge(chargeId, LIMIT);
  if (charge === undefined) throw new Error('the charge is missing');
  expect(factsOf({ ...charge, operationId: 'another' }, { id: order.paymentId }, 0)).toMatchObject([
    { kind: 'foreign_charge', status: 'captured', amountMinor: order.amountMinor },
  ]);
});

describe('the sandbox’s books over HTTP', () => {
  test.each([
    ['tok_ok', 'automatic', [{ kind: 'succeeded' }]],
    ['tok_ok', 'manual', [{ kind: 'authorized' }]],
    ['tok_declined', 'automatic', [{ kind: 'declined', failure: { code: 'card_declined' } }]],
    ['tok_async', 'automatic', [{ kind: 'pending' }]],
    ['tok_action', 'automatic', [{ kind: 'action_required', actionUrl: expect.stringMatching(/^http/) }]],
    [
      'tok_fee',
      'automatic',
      [
        { kind: 'succeeded', feeMinor: 88 },
        { kind: 'fee', feeMinor: 88 },
      ],
    ],
  ] as const)('report the facts of a charge with %s (%s)', async (source, capture, facts) => {
    const { order, chargeId } = await charged({ source, capture });
    const charge = await books.readCharge(chargeId, LIMIT);
    if (charge === undefined) throw new Error('the charge is missing');
    expect(charge).toMatchObject({ paymentId: order.paymentId, operationId: order.operationId });
    expect(factsOf(charge, { id: order.paymentId }, 0)).toMatchObject(facts);
  });

  test('contain each refund and each dispute once', async () => {
    const { order, chargeId } = await charged();
    await post(`/charges/${chargeId}/refunds`, { amount: 100 });
    await post(`/charges/${chargeId}/refunds`, { amount: 100 });
    await post(`/control/charges/${chargeId}/dispute`, { amount: 50 });
    const charge = await books.readCharge(chargeId, LIMIT);
    if (charge === undefined) throw new Error('the charge is missing');
    expect(factsOf(charge, { id: order.paymentId }, 0).map(({ kind }) => kind)).toEqual([
      'succeeded',
      'refund',
      'refund',
      'dispute',
    ]);
  });

  test('accept a list of 1,000 refunds, and replace unpaired surrogates in failure texts with spaces', async () => {
    const { order, chargeId } = await charged();
    const answer = await fetch(`${server.url}/charges/${chargeId}`);
    const charge = (await answer.json()) as Record<string, unknown>;
    const refund = { id: 're_1', object: 'refund', charge: chargeId, amount: 1, status: 'succeeded', metadata: {} };
    const long = {
      ...charge,
      status: 'declined',
      failure: { code: '\ud83d', message: `${'a'.repeat(199)}😀` },
      refunds: Array.from({ length: 1_000 }, (_, index) => ({ ...refund, id: `re_${index}` })),
    };
    const raw = await serveRaw((socket) => void socket.end(httpAnswer(200, JSON.stringify(long))));
    const found = await createSandboxBooks({ url: raw.url, clock: CLOCK }).readCharge(chargeId, LIMIT);
    await raw[Symbol.asyncDispose]();
    expect(found?.refunds).toHaveLength(1_000);
    const [declined] = factsOf(found ?? never(), { id: order.paymentId }, 0);
    expect(JSON.stringify(declined).isWellFormed()).toBe(true);
    expect(declined).toMatchObject({ failure: { code: ' ', message: `${'a'.repeat(199)} ` } });
  });

  test('return undefined for an unknown charge', async () => {
    expect(await books.readCharge('ch_none', LIMIT)).toBeUndefined();
  });

  test('list all charges of a payment, and page through all charges of a time window', async () => {
    const made = [];
    for (let count = 0; count < 103; count += 1) made.push(await charged());
    const { order, chargeId } = made[0] ?? (await charged());
    expect((await books.chargesOfPayment(order.paymentId, LIMIT)).map((charge) => charge.chargeId)).toEqual([chargeId]);

    const window = { fromSeconds: START_SECONDS - 60, untilSeconds: START_SECONDS + 60 };
    const first = await books.listCharges(window, LIMIT);
    expect(first.charges).toHaveLength(100);
    const second = await books.listCharges({ ...window, cursor: first.next ?? '' }, LIMIT);
    expect(second.next).toBeUndefined();
    const ids = [...first.charges, ...second.charges].map((charge) => charge.chargeId);
    expect(new Set(ids)).toEqual(new Set(made.map((each) => each.chargeId)));
  });

  test('list an unreadable charge with the payment in its metadata, and still list all other charges', async () => {
    const [before, odd, after] = [await charged(), await charged(), await charged()];
    const query = `created_from=${START_SECONDS}&created_to=${START_SECONDS + 60}`;
    const listed = await fetch(`${server.url}/charges?${query}`);
    const { data } = (await listed.json()) as { data: Record<string, unknown>[] };
    const changed = data.map((charge) => (charge['id'] === odd.chargeId ? { ...charge, status: 'held' } : charge));
    const body = JSON.stringify({ data: changed, next: null });
    const raw = await serveRaw((socket) => void socket.end(httpAnswer(200, body)));
    const window = { fromSeconds: START_SECONDS, untilSeconds: START_SECONDS + 60 };
    const found = await createSandboxBooks({ url: raw.url, clock: CLOCK }).listCharges(window, LIMIT);
    await raw[Symbol.asyncDispose]();
    expect(new Set(found.charges.map(({ chargeId }) => chargeId))).toEqual(new Set([before.chargeId, after.chargeId]));
    expect(found.unreadable).toMatchObject([{ chargeId: odd.chargeId, paymentId: odd.order.paymentId }]);
  });

  test.each([
    [500, '{}', 'processor_error'],
    [401, '{}', 'processor_unauthorized'],
    [200, '{}', 'processor_answer_unreadable'],
    [200, 'no JSON', 'processor_answer_unreadable'],
  ])(
    'throw on a %d response with the body “%s” instead of reporting the charge as missing',
    async (status, body, code) => {
      const raw = await serveRaw((socket) => void socket.end(httpAnswer(status, body)));
      const broken = createSandboxBooks({ url: raw.url, clock: CLOCK });
      await expect(broken.readCharge('ch_1', LIMIT)).rejects.toMatchObject({ code });
      await raw[Symbol.asyncDispose]();
    },
  );
});

function never(): never {
  throw new Error('the charge is missing');
}
