import { expect, test } from '@jest/globals';
import { sendReceipt } from '../../lambdas/follow-ups/send-receipt.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { createMailer } from '../../lambdas/orders/parties/mailer.ts';
import { DEFAULT_MAX_LAG_MS } from '../../lambdas/orders/parties/postmark.ts';
import { sendOnce } from '../../lambdas/outbound/send-once.ts';
import { policyOf } from '../outbound/email-story.ts';
import { chainOfPaid, eventsOfPaid, ledgerOf } from '../payments/paid-chain.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { Actor, FAULT_KINDS, FaultPlan } from '../support/fault-plan.ts';
import { PORT_ERRORS } from '../support/faulty-ports.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';

/** The deliveries must take longer than 15 minutes, because an unknown outcome can be resolved only after that time. */
const MAX_ATTEMPTS = 8;

const VISIBILITY_MS = 180_000;

const unsent = (payment: string, why: string): never => {
  throw new Error(`${payment}: ${why}`);
};

/** The mailer is not idempotent, and the look-up finds a sent e-mail only after the default maximum lag. */
async function sentAfter(strike: (typeof FAULT_KINDS)[number]) {
  const clock = new SimulatedClock();
  const entropy = countingEntropy();
  const stores = new Stores(clock);
  const records = stores.consumed;
  const claims = stores.sendingClaims('mailer');
  const sent: number[] = [];
  const plan = new FaultPlan([{ point: 1, kind: strike }]);
  const metadata = { receipt_email: 'ada@example.com' };
  const [event] = eventsOfPaid('receipt', metadata);
  const payments = ledgerOf(chainOfPaid('receipt', metadata));
  if (event === undefined) throw new Error('the payment has no event');
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const actor = new Actor(`delivery-${attempt}`, plan);
    const mailer = createMailer(
      {
        sendEmail: ({ messageId }, { deadlineMs }) =>
          sendOnce(
            { policy: policyOf(clock), claims, clock },
            {
              key: messageId,
              operation: 'email.send',
              deadlineMs,
              send: () =>
                actor.call('send', PORT_ERRORS, async () => {
                  sent.push(clock.nowMs());
                  return { kind: 'sent', vendorId: `message-${sent.length}` };
                }),
              lookUp: {
                find: async () =>
                  sent.some((atMs) => atMs + DEFAULT_MAX_LAG_MS <= clock.nowMs())
                    ? { kind: 'found', answer: { kind: 'sent', vendorId: 'message-1' } }
                    : { kind: 'absent' },
                maxLagMs: DEFAULT_MAX_LAG_MS,
              },
              withinCall: 'by_lookup',
              payload: {},
            },
          ),
      },
      { clock, counts: stores.emailCounts(1), capped: () => undefined, isSandbox: true },
    );
    const tools = { records, runner: idempotentRunner, clock, entropy, digest: systemDigest, mailer, payments };
    try {
      const { kind } = await sendReceipt({ ...tools, unsent }, event);
      if (kind !== 'busy' && !actor.crashed) return { acknowledged: true, emails: sent.length };
    } catch {
      // The message is redelivered.
    }
    clock.advance(VISIBILITY_MS);
  }
  return { acknowledged: false, emails: sent.length };
}

test.each(FAULT_KINDS)(
  'a receipt whose first attempt fails (%s) is sent exactly once, without an operator, before the queue gives up',
  async (strike) => {
    expect(await sentAfter(strike)).toEqual({ acknowledged: true, emails: 1 });
  },
);
