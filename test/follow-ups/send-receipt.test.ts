import { describe, expect, test } from '@jest/globals';
import type { ReceiptTools } from '../../lambdas/follow-ups/send-receipt.ts';
import { type PaidEvent, sendReceipt } from '../../lambdas/follow-ups/send-receipt.ts';
import { TerminalError } from '../../lambdas/kernel/faults.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { MemoryConsumerRecords } from '../once/memory-consumer-records.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { MemoryMailer } from '../support/memory-mailer.ts';
import { eventsOfPaid } from '../support/paid-chain.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const TO = 'ada@example.com';

class ReceiptDesk {
  readonly clock = new SimulatedClock();
  readonly records = new MemoryConsumerRecords();
  readonly mailer = new MemoryMailer();
  readonly told: string[] = [];
  readonly #entropy = countingEntropy();

  send(event: PaidEvent, changes: Partial<ReceiptTools> = {}) {
    const { clock, records, mailer } = this;
    const unsent: ReceiptTools['unsent'] = (payment, why) => this.told.push(`${payment} ${why}`);
    const tools = { records, mailer, unsent, clock, entropy: this.#entropy };
    return sendReceipt({ ...tools, runner: idempotentRunner, digest: systemDigest, ...changes }, event);
  }
}

function paid(metadata: Readonly<Record<string, string>> = { receipt_email: TO }): PaidEvent {
  const [event] = eventsOfPaid('receipt', metadata);
  if (event === undefined) throw new Error('it was paid');
  return event;
}

describe('a receipt', () => {
  test('is sent once, for any number of deliveries at any time', async () => {
    const desk = new ReceiptDesk();
    expect(await desk.send(paid())).toEqual({ kind: 'done' });
    desk.clock.advance(400 * 24 * 60 * 60 * 1000);
    desk.records.forgetExpired(desk.clock.nowMs());
    expect(await desk.send(paid())).toEqual({ kind: 'done_before' });
    expect(desk.mailer.outbox).toMatchObject([{ to: TO, tag: 'payment-receipt', subject: 'Your receipt' }]);
    expect(desk.mailer.outbox[0]?.text).toContain('Paid: 10.00 EUR');
    expect(desk.told).toEqual([]);
  });

  test('that was not requested is neither sent nor recorded', async () => {
    const desk = new ReceiptDesk();
    expect(await desk.send(paid({}))).toEqual({ kind: 'done' });
    expect(desk.mailer.calls).toBe(0);
    expect(desk.records.allRecords()).toEqual([]);
  });

  test.each([
    ['that is refused', 'refuses', 'refused'],
    ['whose outcome is undecidable', 'doubts', 'needs_review'],
  ] as const)('%s is recorded as done, and reported once', async (_what, trouble, why) => {
    const desk = new ReceiptDesk();
    desk.mailer.trouble = trouble;
    expect(await desk.send(paid())).toEqual({ kind: 'done' });
    desk.mailer.trouble = undefined;
    expect(await desk.send(paid())).toEqual({ kind: 'done_before' });
    expect(desk.told).toEqual([`${paid().payment.id} ${why}`]);
    expect(desk.mailer.calls).toBe(1);
  });

  test('to a malformed address is recorded as done, and the mailer is not called', async () => {
    const desk = new ReceiptDesk();
    expect(await desk.send(paid({ receipt_email: 'ada' }))).toEqual({ kind: 'done' });
    expect(await desk.send(paid({ receipt_email: 'ada' }))).toEqual({ kind: 'done_before' });
    expect(desk.told).toEqual([`${paid().payment.id} malformed`]);
    expect(desk.mailer.calls).toBe(0);
  });

  test.each([
    ['is down', 'down', 'mailer_down'],
    ['does not answer', 'sends_in_silence', 'mailer_timeout'],
  ] as const)('is redelivered when the mailer %s, and sent once', async (_what, trouble, code) => {
    const desk = new ReceiptDesk();
    desk.mailer.trouble = trouble;
    await expect(desk.send(paid())).rejects.toMatchObject({ code });
    desk.mailer.trouble = undefined;
    expect(await desk.send(paid())).toEqual({ kind: 'done' });
    expect(desk.mailer.outbox).toHaveLength(1);
    expect(desk.told).toEqual([]);
  });

  test('that needs an operator is redelivered, and is not lost when its dead letter could not be stored', async () => {
    const desk = new ReceiptDesk();
    const send = async () => {
      throw new TerminalError('postmark_unauthorized', 'Who are you?');
    };
    await expect(desk.send(paid(), { mailer: { send } })).rejects.toMatchObject({ code: 'postmark_unauthorized' });
    expect(await desk.send(paid())).toEqual({ kind: 'done' });
    expect(desk.mailer.outbox).toHaveLength(1);
  });
});
