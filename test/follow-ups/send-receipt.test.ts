import { describe, expect, test } from '@jest/globals';
import type { ReceiptTools } from '../../lambdas/follow-ups/send-receipt.ts';
import { type PaidEvent, sendReceipt } from '../../lambdas/follow-ups/send-receipt.ts';
import { RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { Fact } from '../../lambdas/payments/domain/facts.ts';
import { MemoryMailer } from '../orders/memory-mailer.ts';
import { chainOfPaid, disputed, eventsOfPaid, ledgerOf, refunded } from '../payments/paid-chain.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';

const TO = 'ada@example.com';

class ReceiptHarness {
  readonly clock = new SimulatedClock();
  readonly stores = new Stores(this.clock);
  readonly records = this.stores.consumed;
  readonly mailer = new MemoryMailer();
  readonly reported: string[] = [];
  readonly #entropy = countingEntropy();

  send(event: PaidEvent, changes: Partial<ReceiptTools> = {}) {
    const { clock, records, mailer } = this;
    const unsent: ReceiptTools['unsent'] = (payment, why) => this.reported.push(`${payment} ${why}`);
    const payments = ledgerOf(chainOfPaid('receipt', {}));
    const tools = { records, mailer, payments, unsent, clock, entropy: this.#entropy };
    return sendReceipt({ ...tools, runner: idempotentRunner, digest: systemDigest, ...changes }, event);
  }
}

function paid(metadata: Readonly<Record<string, string>> = { receipt_email: TO }): PaidEvent {
  const [event] = eventsOfPaid('receipt', metadata);
  if (event === undefined) throw new Error('the payment has no event');
  return event;
}

describe('a receipt', () => {
  test('is sent once, even if its event is redelivered much later', async () => {
    const harness = new ReceiptHarness();
    expect(await harness.send(paid())).toEqual({ kind: 'done' });
    harness.clock.advance(400 * 24 * 60 * 60 * 1000);
    harness.stores.database.deleteExpired();
    expect(await harness.send(paid())).toEqual({ kind: 'done_before' });
    expect(harness.mailer.outbox).toMatchObject([{ to: TO, tag: 'payment-receipt', subject: 'Your receipt' }]);
    expect(harness.mailer.outbox[0]?.text).toContain('Paid: 10.00 EUR');
    expect(harness.reported).toEqual([]);
  });

  test('is sent and recorded only if it was requested', async () => {
    const harness = new ReceiptHarness();
    expect(await harness.send(paid({}))).toEqual({ kind: 'done' });
    expect(harness.mailer.calls).toBe(0);
    expect(harness.stores.consumptions()).toEqual([]);
  });

  test.each([
    ['that is refused', 'refuses', 'refused'],
    ['over the limit of its recipient', 'caps', 'capped'],
    ['with an undecidable outcome', 'doubts', 'needs_review'],
  ] as const)('in an e-mail %s is recorded as done and reported once', async (_what, trouble, why) => {
    const harness = new ReceiptHarness();
    harness.mailer.trouble = trouble;
    expect(await harness.send(paid())).toEqual({ kind: 'done' });
    harness.mailer.trouble = undefined;
    expect(await harness.send(paid())).toEqual({ kind: 'done_before' });
    expect(harness.reported).toEqual([`${paid().payment.id} ${why}`]);
    expect(harness.mailer.calls).toBe(1);
  });

  test('with a malformed address is recorded as done without a call to the mailer', async () => {
    const harness = new ReceiptHarness();
    expect(await harness.send(paid({ receipt_email: 'ada' }))).toEqual({ kind: 'done' });
    expect(await harness.send(paid({ receipt_email: 'ada' }))).toEqual({ kind: 'done_before' });
    expect(harness.reported).toEqual([`${paid().payment.id} malformed`]);
    expect(harness.mailer.calls).toBe(0);
  });

  test.each([
    ['is down', 'down', 'mailer_down'],
    ['does not answer', 'sends_in_silence', 'mailer_timeout'],
  ] as const)(
    'is sent once although the first delivery of its event fails because the mailer %s',
    async (_what, trouble, code) => {
      const harness = new ReceiptHarness();
      harness.mailer.trouble = trouble;
      await expect(harness.send(paid())).rejects.toMatchObject({ code });
      harness.mailer.trouble = undefined;
      expect(await harness.send(paid())).toEqual({ kind: 'done' });
      expect(harness.mailer.outbox).toHaveLength(1);
      expect(harness.reported).toEqual([]);
    },
  );

  test('is sent when its event is redelivered after the mailer threw a terminal error, which it could not store as a dead letter', async () => {
    const harness = new ReceiptHarness();
    const send = async () => {
      throw new TerminalError('postmark_unauthorized', 'Who are you?');
    };
    await expect(harness.send(paid(), { mailer: { send } })).rejects.toMatchObject({ code: 'postmark_unauthorized' });
    expect(await harness.send(paid())).toEqual({ kind: 'done' });
    expect(harness.mailer.outbox).toHaveLength(1);
  });

  const pending: Fact = {
    kind: 'refund',
    refundId: 're_1',
    chargeId: 'ch_1',
    amountMinor: 1000,
    status: 'pending',
    createdAtMs: 0,
  };
  test.each<[string, number, readonly Fact[]]>([
    ['was refunded', 0, [refunded('re_1', 1000)]],
    ['is being refunded', 0, [pending]],
    ['was refunded and disputed', 0, [refunded('re_1', 400), disputed('open', 600)]],
    ['is disputed', 0, [disputed('open')]],
    ['was lost in a dispute', 0, [disputed('open'), disputed('lost')]],
    ['was refunded in part', 1, [refunded('re_1', 400)]],
    ['has a refund that failed', 1, [refunded('re_1', 1000, true)]],
    ['has a dispute that was won', 1, [disputed('open'), disputed('won')]],
  ])('for a charge that %s is sent %i times', async (_what, count, facts) => {
    const harness = new ReceiptHarness();
    const payments = ledgerOf(chainOfPaid('receipt', {}, facts));
    expect(await harness.send(paid(), { payments })).toEqual({ kind: 'done' });
    expect(await harness.send(paid())).toEqual({ kind: 'done_before' });
    expect([harness.mailer.outbox.length, harness.mailer.calls]).toEqual([count, count]);
    expect(harness.reported).toEqual([]);
  });

  test('is not sent if its address is erased while the event waits in the queue', async () => {
    const harness = new ReceiptHarness();
    const chain = chainOfPaid('receipt', {}).map(({ first, ...each }) =>
      first === undefined ? each : { ...each, first: { ...first, detailsErased: true as const } },
    );
    expect(await harness.send(paid(), { payments: ledgerOf(chain) })).toEqual({ kind: 'done' });
    expect(harness.mailer.calls).toBe(0);
  });

  test('is sent when its event is redelivered, if the Ledger could not be read at the first delivery', async () => {
    const harness = new ReceiptHarness();
    const listTransitions = async () => {
      throw new RetryableError('store_unavailable', 'the Ledger is unavailable');
    };
    await expect(harness.send(paid(), { payments: { listTransitions } })).rejects.toMatchObject({
      code: 'store_unavailable',
    });
    expect(await harness.send(paid())).toEqual({ kind: 'done' });
    expect(harness.mailer.outbox).toHaveLength(1);
  });
});
