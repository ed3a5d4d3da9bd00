import { describe, expect, test } from '@jest/globals';
import { LedgerRow } from '../../lambdas/kernel/contract/rows.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { MAX_TRANSITIONS, readTimeline } from '../../lambdas/operators/use/read-timeline.ts';
import type { ChangeCommand } from '../../lambdas/payments/domain/change.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { readChain } from '../../lambdas/payments/use/payment-chain.ts';
import { typicalPayment } from '../bench/bench-typical-payment.ts';
import { type CountedCall, countedClient, isRead, unitsOf } from '../support/counted-client.ts';
import { whole } from '../support/slice.ts';
import { itemSize, storedItem } from '../world/dynamodb-values.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';
import { change } from './payment-fixtures.ts';

const KILOBYTE = 1_024;

/** Makes changes of one payment, and counts the DynamoDB calls of each change before its request is sent. */
class CountedChanges {
  /** The ids of the processor are as long as in production, for example Stripe's ids. */
  readonly world = new World({ newId: (prefix, count) => `${prefix}${String(count).padStart(24, 'x')}` });
  readonly request: CreatePayment;
  #made = 0;

  constructor(changes: Partial<CreatePayment> = {}) {
    this.request = typicalPayment('counted', { amountMinor: 1_000_000, ...changes });
  }

  async make(command: ChangeCommand) {
    const { world } = this;
    const { client, calls } = countedClient(world.store.database.client);
    const store = new Stores(world.clock, { client });
    let before: readonly CountedCall[] | undefined;
    const processor: typeof world.processor = {
      ...world.processor,
      change: (...asked) => {
        before ??= [...calls];
        return world.processor.change(...asked);
      },
    };
    this.#made += 1;
    const asked = change(this.request, `key-${this.#made}`, command);
    const outcome = await world.change(asked, { store, effects: store, processor });
    return { asked, outcome, before: before ?? [], calls };
  }

  /**
   * Counts the calls that read the whole chain, the calls that fold the chain, and the calls that read its whole
   * timeline.
   */
  async readingCalls(): Promise<{ readonly transitions: number; readonly fold: number; readonly timeline: number }> {
    const { world, request } = this;
    const { client, calls } = countedClient(world.store.database.client);
    const store = new Stores(world.clock, { client });
    const chain = await readChain(store, request.paymentId);
    const fold = calls.length;
    const { activity, webhooks } = store;
    const tools = { chains: store, records: store, effects: store, webhooks, activity, digest: systemDigest };
    const last = chain?.transitions.length ?? 0;
    for (let afterSequence = 0; afterSequence < last; afterSequence += MAX_TRANSITIONS) {
      await readTimeline(tools, request.paymentId, { afterSequence, limit: MAX_TRANSITIONS });
    }
    return { transitions: last, fold, timeline: calls.length - fold };
  }

  /** Returns the sizes of the rows of the payment's chain, in bytes. */
  rowSizes(): readonly number[] {
    const rows = this.world.store.database.items(TABLES.ledger, `${LedgerRow.payment}${this.request.paymentId}`);
    return rows.map((row) => itemSize(storedItem(row)));
  }
}

const SIZES = whole([1, 10, 100, 500], { slice: [1, 10, 100] });
/** Numbers of refunds with which a chain has 10, 100 and 1,000 transitions. */
const LENGTHS = whole([4, 49, 499], { slice: [4, 49] });

describe.each([
  ['with reasons', { reason: 'Returned by the customer' }],
  ['without reasons', {}],
])('a refund of a payment with many refunds, %s,', (_name, reasoned) => {
  test('makes at most 3 calls and uses at most 4 read units before it is sent, and none of its rows exceeds a kilobyte', async () => {
    const changes = new CountedChanges();
    await changes.world.pay(changes.request);
    for (let number = 1; number <= Math.max(...SIZES); number += 1) {
      const { outcome, before, calls } = await changes.make({ kind: 'refund', amountMinor: 1_111, ...reasoned });
      expect(outcome).toMatchObject({ kind: 'first', answer: { status: 201 } });
      if (!SIZES.includes(number)) continue;
      expect(before.length).toBeLessThanOrEqual(3);
      expect(unitsOf(before.filter(isRead))).toBeLessThanOrEqual(4);
      // Nothing is read after the refund was sent.
      expect(calls.filter(isRead)).toEqual(before.filter(isRead));
    }
    expect(Math.max(...changes.rowSizes())).toBeLessThanOrEqual(KILOBYTE);
  });
});

test('the calls that fold a chain or read its timeline grow at most with the number of transitions', async () => {
  const changes = new CountedChanges();
  await changes.world.pay(changes.request);
  const found: Awaited<ReturnType<CountedChanges['readingCalls']>>[] = [];
  for (let number = 1; number <= Math.max(...LENGTHS); number += 1) {
    await changes.make({ kind: 'refund', amountMinor: 1_111, reason: 'Returned by the customer' });
    if (LENGTHS.includes(number)) found.push(await changes.readingCalls());
  }
  expect(found.map(({ transitions }) => transitions)).toEqual(LENGTHS.map((refunds) => 2 + 2 * refunds));
  for (const { transitions, fold, timeline } of found) {
    expect(fold).toBeLessThanOrEqual(transitions + Math.ceil((transitions + 1) / 250));
    expect(timeline).toBeLessThanOrEqual(4 * transitions);
  }
});
