import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { invariant } from '../lambdas/kernel/invariant.ts';
import type { Charge } from '../lambdas/processors/sandbox/sandbox-api.ts';
import { HOLD } from './contract.ts';
import type { Subject } from './counts.ts';
import { kill, type Side } from './side.ts';
import type { Finding } from './verdict.ts';

/** One failure scenario, caused in the same way on both sides. */
export interface Scenario {
  /** Part of its idempotency keys. */
  readonly id: string;
  readonly trouble: string;
  readonly moves: Finding['moves'];
  /** The expected value of each count: 0 when the processor refuses. @default 1 */
  readonly expected?: 0;
  /** Order of the start: the scenarios with the longest waits start first. @default 3 */
  readonly turn?: 1 | 2;
  /** Whether it is excluded from `npm run demo`, because it takes long or has no effect to count. @default false */
  readonly isOnlyInLab?: true;
  /**
   * Causes the failure and returns what to count. Its later effects can continue in the background.
   *
   * @throws Error when the failure could not be caused
   */
  readonly provoke: (side: Side, key: string) => Promise<Subject & { readonly rest?: Promise<unknown> }>;
}

const POLL_INTERVAL_MS = 20;
/** Maximum number of polls: ten minutes, longer than any wait on a busy machine. */
const MAX_POLLS = 30_000;
/** A slow charge takes seconds, and it is polled every 20 ms: even a busy machine is in time at some attempt. */
const MAX_ATTEMPTS = 20;
const AT_ONCE = 50;
const REFUND = 7_000;
/** Small enough to be refunded twice. */
const PART = 3_000;

export const SCENARIOS: readonly Scenario[] = [
  {
    id: 'three',
    trouble: 'three sequential requests with one key',
    moves: 'charge',
    provoke: async (side, key) => {
      for (let post = 0; post < 3; post += 1) await side.payUntilAnswered(key);
      return paymentSubject(side.config.paymentOf(key));
    },
  },
  {
    id: 'fifty',
    trouble: `${AT_ONCE} concurrent requests with one key`,
    moves: 'charge',
    provoke: async (side, key) => {
      // The charge is slow, so that the requests overlap on any machine.
      await Promise.all(Array.from({ length: AT_ONCE }, () => side.payUntilAnswered(key, { source: 'tok_slow' })));
      return paymentSubject(side.config.paymentOf(key));
    },
  },
  {
    id: 'lost-answer',
    trouble: 'the client times out before the answer and retries',
    moves: 'charge',
    provoke: (side, name) =>
      inTime(name, async (key) => {
        const body = { source: 'tok_slow' };
        const payment = side.config.paymentOf(key);
        const patience = new AbortController();
        const first = givenUp(side.pay(key, body, patience.signal));
        await until(`the charge of ${key}`, async () => (await side.charges(payment)).length > 0);
        patience.abort();
        if (!(await first)) return undefined;
        await side.payUntilAnswered(key, body);
        return paymentSubject(payment);
      }),
  },
  {
    id: 'crash',
    trouble: 'the function is killed between charge and save, and the client retries',
    moves: 'charge',
    turn: 2,
    provoke: (side, name) =>
      inTime(name, async (key) => {
        const body = { source: 'tok_slow' };
        const payment = side.config.paymentOf(key);
        const cut = side.pay(key, body);
        await until(`the charge of ${key}`, async () => (await side.charges(payment)).length > 0);
        invariant(kill(side.config.paymentsFunction) > 0, 'there was no process to kill');
        if ((await cut).status < 500) return undefined;
        return { ...paymentSubject(payment), rest: side.payUntilAnswered(key, body) };
      }),
  },
  {
    id: 'callback',
    trouble: 'the processor sends two concurrent callbacks',
    moves: 'charge',
    provoke: async (side, key) => {
      const payment = side.config.paymentOf(key);
      await side.payUntilAnswered(key, { source: 'tok_callback_twice' });
      await until(`the callbacks of ${key}`, async () => {
        const [charge] = await side.charges(payment);
        return charge !== undefined && (await side.callbacks(charge)) >= 2;
      });
      return paymentSubject(payment);
    },
  },
  {
    id: 'early-callback',
    trouble: 'the processor sends its callback before it answers',
    moves: 'charge',
    provoke: async (side, key) => {
      await side.payUntilAnswered(key, { source: 'tok_callback_first' });
      return paymentSubject(side.config.paymentOf(key));
    },
  },
  {
    id: 'late-callback',
    trouble: 'the processor sends its callback again, later, as a new event',
    moves: 'charge',
    provoke: async (side, key) => {
      const { payment, charge } = await paidWithEffect(side, key);
      await side.resend(charge);
      await until(`the second callback of ${key}`, async () => (await side.callbacks(charge)) >= 2);
      return paymentSubject(payment);
    },
  },
  {
    id: 'forged-callback',
    trouble: 'a forged callback names a charge that is paid',
    moves: 'charge',
    provoke: async (side, key) => {
      const { payment, charge } = await paidWithEffect(side, key);
      await side.forgeCallback(charge);
      return paymentSubject(payment);
    },
  },
  {
    id: 'published-again',
    trouble: 'the event is published again, as after a crash of the publisher',
    moves: 'charge',
    provoke: async (side, key) => {
      const payment = side.config.paymentOf(key);
      await side.payUntilAnswered(key);
      await untilEffect(side, payment);
      await side.config.publishAgain(payment);
      return { ...paymentSubject(payment), deliveries: 2 };
    },
  },
  {
    id: 'redelivery',
    trouble: 'the consumer is killed between its effect and its acknowledgement, and the event is redelivered',
    moves: 'charge',
    // A killed consumer loses all messages that it holds. At this point it holds no other.
    turn: 1,
    provoke: async (side, key) => {
      const payment = side.config.paymentOf(key);
      await side.payUntilAnswered(key, { metadata: { [HOLD.name]: HOLD.acknowledgement } });
      await untilEffect(side, payment);
      invariant(kill(side.config.receiptsFunction) > 0, 'there was no consumer to kill');
      return { ...paymentSubject(payment), deliveries: 2 };
    },
  },
  {
    id: 'relay-stopped',
    trouble: 'the process that publishes events is stopped between save and publication, and starts again',
    moves: 'charge',
    // The shop's other payments would lose their events, too. At this point there are none.
    turn: 1,
    provoke: async (side, key) => {
      const payment = side.config.paymentOf(key);
      await side.config.withoutPublisher(async () => {
        await side.payUntilAnswered(key, { metadata: { [HOLD.name]: HOLD.publication } });
        await untilPosted(side, payment);
        invariant((await side.config.receipts(payment)).length === 0, 'the event was published too soon');
      });
      return paymentSubject(payment);
    },
  },
  {
    id: 'lost-acknowledgement',
    trouble: 'the acknowledgement of a Kafka consumer is lost, and the event that requests a payment is redelivered',
    moves: 'charge',
    provoke: async (side) => {
      const eventId = randomUUID();
      for (let delivery = 0; delivery < 2; delivery += 1) await side.config.consume(eventId);
      return paymentSubject(side.config.paymentOfEvent(eventId));
    },
  },
  {
    id: 'refunds',
    trouble: 'two concurrent refunds of 70 out of 100',
    moves: 'refund',
    provoke: async (side, key) => {
      const payment = side.config.paymentOf(key);
      await side.payUntilAnswered(key);
      // Only a posted payment can be refunded.
      await untilPosted(side, payment);
      await Promise.all(['a', 'b'].map((each) => side.refund(payment, `${key}-${each}`, REFUND)));
      return { payment, kind: 'refund.completed' };
    },
  },
  {
    id: 'dispute-during-refund',
    trouble: 'the processor refunds without an answer, the payer then disputes the charge, and the client retries',
    moves: 'refund',
    turn: 2,
    provoke: (side, name) =>
      inTime(name, async (key) => {
        const { payment, charge } = await paidWithEffect(side, key);
        const refund = (signal?: AbortSignal) => side.refund(payment, `${key}-refund`, PART, signal);
        const patience = new AbortController();
        const isAnswerLost = await side.withSilentProcessor('change-failures', async () => {
          const first = givenUp(refund(patience.signal));
          await until(`the refund of ${key}`, async () =>
            (await side.charges(payment)).some(({ refunds }) => refunds.length > 0),
          );
          await side.dispute(charge);
          patience.abort();
          return first;
        });
        if (!isAnswerLost) return undefined;
        const rest = side.untilAnswered(key, refund);
        return { payment, kind: 'refund.completed', rest };
      }),
  },
];

/** The scenarios of the lab: those of the demonstration, and slower ones. */
export const LAB_SCENARIOS: readonly Scenario[] = [
  ...SCENARIOS,
  {
    id: 'silent-processor',
    trouble: 'the processor charges and never answers, and the client retries',
    moves: 'charge',
    isOnlyInLab: true,
    provoke: async (side, key) => {
      await side.withSilentProcessor('failures', () => side.payUntilAnswered(key));
      return paymentSubject(side.config.paymentOf(key));
    },
  },
  {
    id: 'disputed-refund',
    trouble: 'the payer disputes a charge in full, and the shop refunds it, so the processor refuses',
    moves: 'refund',
    isOnlyInLab: true,
    expected: 0,
    provoke: async (side, key) => {
      const { payment, charge } = await paidWithEffect(side, key);
      await side.dispute(charge);
      await side.refund(payment, `${key}-refund`, REFUND);
      return { payment, kind: 'refund.completed' };
    },
  },
];

/**
 * Repeats a trouble with fresh keys until it is in time. On a busy machine the answer can arrive before the trouble does.
 *
 * @param provoke returns undefined when it was too late
 * @throws Error when it was always too late
 */
async function inTime<Result>(name: string, provoke: (key: string) => Promise<Result | undefined>): Promise<Result> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const result = await provoke(attempt === 1 ? name : `${name}-${attempt}`);
    if (result !== undefined) return result;
  }
  throw new Error(`${name} was too late ${MAX_ATTEMPTS} times: this machine is too busy to cause this trouble`);
}

async function paidWithEffect(side: Side, key: string): Promise<{ readonly payment: string; readonly charge: Charge }> {
  const payment = side.config.paymentOf(key);
  await side.payUntilAnswered(key);
  await untilEffect(side, payment);
  const [charge] = await side.charges(payment);
  invariant(charge !== undefined, 'the charge is not in the books');
  return { payment, charge };
}

function paymentSubject(payment: string): Subject {
  return { payment, kind: 'payment.completed' };
}

/** Whether a call ends without an answer. */
function givenUp(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => false,
    () => true,
  );
}

async function untilPosted({ config }: Side, payment: string): Promise<void> {
  await until(`the posting of ${payment}`, async () => (await config.postings(payment, 'payment.completed')) > 0);
}

async function untilEffect({ config }: Side, payment: string): Promise<void> {
  await until(`the effect of ${payment}`, async () =>
    (await config.receipts(payment)).some(({ row }) => row === 'effect'),
  );
}

async function until(what: string, isThere: () => Promise<boolean>): Promise<void> {
  for (let polls = 0; polls < MAX_POLLS; polls += 1) {
    if (await isThere()) return;
    await sleep(POLL_INTERVAL_MS);
  }
  throw new Error(`timed out waiting for ${what}`);
}
