import { setTimeout as sleep } from 'node:timers/promises';
import { invariant } from '../lambdas/kernel/invariant.ts';
import type { Charge } from '../lambdas/processors/sandbox/sandbox-api.ts';
import { HOLD } from './contract.ts';
import { kill, type Side } from './side.ts';
import type { Trouble } from './verdict.ts';

/** The failure is caused in the same way on both sides. */
export interface Scenario extends Trouble {
  /** Part of the scenario's idempotency keys. */
  readonly id: string;
  /** The counts are valid only after this number of deliveries of the event. @default 1 */
  readonly deliveries?: 2;
  /** Scenarios with a lower number start first. @default 3 */
  readonly turn?: 1 | 2;
  /**
   * True if the scenario is excluded from `npm run demo`, because it takes a long time or has no effect to count.
   * @default false
   */
  readonly isOnlyInLab?: true;
  /**
   * True if a Kafka event requests the payment. The event's id replaces the idempotency key.
   * @default false: an HTTP request
   */
  readonly isByEvent?: true;
  /**
   * @throws TooLate when the response arrived before the failure; the caller then retries with a fresh key
   * @throws Error when the failure could not be caused
   */
  readonly provoke: (side: Side, key: string, payment: string) => Promise<void>;
  /** @default there is no retry */
  readonly retry?: (side: Side, key: string, payment: string) => Promise<unknown>;
}

/** Thrown when the response arrived before the failure was caused, which can happen on a busy machine. */
export class TooLate extends Error {}

const POLL_INTERVAL_MS = 20;
/** Ten minutes. No wait takes so long, even on a busy machine. */
const MAX_POLLS = 30_000;
const AT_ONCE = 50;
/** A charge that is slow enough to be interrupted, and to overlap with other charges on any machine. */
const SLOW = { source: 'tok_slow' };
const REFUND = 7_000;
/** A duplicate of this refund would also succeed. */
const PART = 3_000;

export const SCENARIOS: readonly Scenario[] = [
  {
    id: 'three',
    trouble: 'three sequential requests with one key',
    moves: 'charge',
    provoke: async (side, key) => {
      for (let post = 0; post < 3; post += 1) await side.payUntilAnswered(key);
    },
  },
  {
    id: 'fifty',
    trouble: `${AT_ONCE} concurrent requests with one key`,
    moves: 'charge',
    provoke: async (side, key) => {
      await Promise.all(Array.from({ length: AT_ONCE }, () => side.payUntilAnswered(key, SLOW)));
    },
  },
  {
    id: 'lost-answer',
    trouble: 'the client times out before the response and retries',
    moves: 'charge',
    provoke: async (side, key, payment) => {
      const patience = new AbortController();
      const first = givenUp(side.pay(key, SLOW, patience.signal));
      await untilCharged(side, payment);
      patience.abort();
      if (!(await first)) throw new TooLate();
      await side.payUntilAnswered(key, SLOW);
    },
  },
  {
    id: 'crash',
    trouble: 'the function is killed between charge and save, and the client retries',
    moves: 'charge',
    turn: 2,
    provoke: async (side, key, payment) => {
      const cut = side.pay(key, SLOW);
      await untilCharged(side, payment);
      invariant(kill(side.config.paymentsFunction, side.config.keeperPid) > 0, 'there was no process to kill');
      if ((await cut).status < 500) throw new TooLate();
    },
    retry: (side, key) => side.payUntilAnswered(key, SLOW),
  },
  {
    id: 'callback',
    trouble: 'the processor sends two concurrent callbacks',
    moves: 'charge',
    provoke: async (side, key, payment) => {
      await side.payUntilAnswered(key, { source: 'tok_callback_twice' });
      await until(`the callbacks of ${key}`, async () => {
        const [charge] = await side.charges(payment);
        return charge !== undefined && (await side.callbacks(charge)) >= 2;
      });
    },
  },
  {
    id: 'early-callback',
    trouble: 'the processor sends its callback before it responds',
    moves: 'charge',
    provoke: async (side, key) => {
      await side.payUntilAnswered(key, { source: 'tok_callback_first' });
    },
  },
  {
    id: 'late-callback',
    trouble: 'the processor sends its callback again, later, as a new event',
    moves: 'charge',
    provoke: async (side, key, payment) => {
      const charge = await paidWithEffect(side, key, payment);
      await side.resend(charge);
      await until(`the second callback of ${key}`, async () => (await side.callbacks(charge)) >= 2);
    },
  },
  {
    id: 'forged-callback',
    trouble: 'a forged callback names a charge that is paid',
    moves: 'charge',
    provoke: async (side, key, payment) => {
      await side.forgeCallback(await paidWithEffect(side, key, payment));
    },
  },
  {
    id: 'published-again',
    trouble: 'the event is published again, as after a crash of the publisher',
    moves: 'charge',
    deliveries: 2,
    provoke: async (side, key, payment) => {
      await side.payUntilAnswered(key);
      await untilEffect(side, payment);
      await side.config.publishAgain(payment);
    },
  },
  {
    id: 'redelivery',
    trouble: 'the consumer is killed between its effect and its acknowledgement, and the event is redelivered',
    moves: 'charge',
    deliveries: 2,
    // This is one of the first scenarios: a killed consumer loses all messages that it holds, and at the start it holds
    // no messages of other scenarios.
    turn: 1,
    provoke: async (side, key, payment) => {
      await side.payUntilAnswered(key, { metadata: { [HOLD.name]: HOLD.acknowledgement } });
      await untilEffect(side, payment);
      invariant(kill(side.config.receiptsFunction, side.config.keeperPid) > 0, 'there was no consumer to kill');
    },
  },
  {
    id: 'relay-stopped',
    trouble: 'the process that publishes events is stopped between save and publication, and starts again',
    moves: 'charge',
    // This is one of the first scenarios: later, the shop's other payments would lose their events, too.
    turn: 1,
    provoke: async (side, key, payment) => {
      await side.config.withoutPublisher(async () => {
        await side.payUntilAnswered(key, { metadata: { [HOLD.name]: HOLD.publication } });
        await untilPosted(side, payment);
        invariant((await side.config.receipts(payment)).length === 0, 'the event was published too soon');
      });
    },
  },
  {
    id: 'lost-acknowledgement',
    trouble: 'the acknowledgement of a Kafka consumer is lost, and the event that requests a payment is redelivered',
    moves: 'charge',
    isByEvent: true,
    provoke: async (side, eventId) => {
      for (let delivery = 0; delivery < 2; delivery += 1) await side.config.consume(eventId);
    },
  },
  {
    id: 'refunds',
    trouble: 'two concurrent refunds of 70 out of 100',
    moves: 'refund',
    provoke: async (side, key, payment) => {
      await side.payUntilAnswered(key);
      // Only a posted payment can be refunded.
      await untilPosted(side, payment);
      await Promise.all(['a', 'b'].map((each) => side.refund(payment, `${key}-${each}`, REFUND)));
    },
  },
  {
    id: 'dispute-during-refund',
    trouble: 'the processor refunds without a response, the payer then disputes the charge, and the client retries',
    moves: 'refund',
    turn: 2,
    provoke: async (side, key, payment) => {
      const charge = await paidWithEffect(side, key, payment);
      await side.withSilentProcessor('change-failures', async () => {
        const patience = new AbortController();
        const first = givenUp(side.refund(payment, `${key}-refund`, PART, patience.signal));
        await until(`the refund of ${key}`, async () =>
          (await side.charges(payment)).some(({ refunds }) => refunds.length > 0),
        );
        await side.dispute(charge);
        patience.abort();
        if (!(await first)) throw new TooLate();
      });
    },
    retry: (side, key, payment) => side.untilAnswered(key, () => side.refund(payment, `${key}-refund`, PART)),
  },
];

export const LAB_SCENARIOS: readonly Scenario[] = [
  ...SCENARIOS,
  {
    id: 'silent-processor',
    trouble: 'the processor charges and never responds, and the client retries',
    moves: 'charge',
    isOnlyInLab: true,
    provoke: async (side, key) => {
      await side.withSilentProcessor('failures', () => side.payUntilAnswered(key));
    },
  },
  {
    id: 'disputed-refund',
    trouble: 'the payer disputes a charge in full, and the shop refunds it, so the processor refuses',
    moves: 'refund',
    isOnlyInLab: true,
    expected: 0,
    provoke: async (side, key, payment) => {
      await side.dispute(await paidWithEffect(side, key, payment));
      await side.refund(payment, `${key}-refund`, REFUND);
    },
  },
];

async function paidWithEffect(side: Side, key: string, payment: string): Promise<Charge> {
  await side.payUntilAnswered(key);
  await untilEffect(side, payment);
  const [charge] = await side.charges(payment);
  invariant(charge !== undefined, 'the charge is not in the books');
  return charge;
}

function givenUp(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => false,
    () => true,
  );
}

async function untilCharged(side: Side, payment: string): Promise<void> {
  await until(`the charge of ${payment}`, async () => (await side.charges(payment)).length > 0);
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
