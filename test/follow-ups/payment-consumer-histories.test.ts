/** Tests the guarantee "one consumption". */
import { describe, expect, test } from '@jest/globals';
import type { LedgerEventName } from '../../lambdas/events/contract.ts';
import { nameOfEvent, orderEventOf } from '../../lambdas/events/domain/event.ts';
import { type EventOf, type PaymentEventOf, readEvent } from '../../lambdas/events/http/event-schemas.ts';
import { commissionAfter } from '../../lambdas/follow-ups/commission.ts';
import { commissionWrites, keepCommission } from '../../lambdas/follow-ups/keep-commission.ts';
import { sendReceipt } from '../../lambdas/follow-ups/send-receipt.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { businessOperation } from '../../lambdas/once/ids.ts';
import { createOrderDraft } from '../../lambdas/orders/domain/order.ts';
import { firstOrderTransition, nextOrderTransitions } from '../../lambdas/orders/domain/order-transition.ts';
import type { Mailer } from '../../lambdas/orders/use/order-parties.ts';
import { ConsumerWorld, RECORD_CALLS } from '../once/consumer-world.ts';
import { MemoryMailer } from '../orders/memory-mailer.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { chainOfPaid, eventsOfPaid, ledgerOf, refunded } from '../payments/paid-chain.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';
import { requestedAt } from '../support/causes.ts';
import {
  beforeEachCall,
  type HistoryRun,
  type Story,
  type SurveyOptions,
  surveyFaults,
} from '../support/fault-histories.ts';
import { Actor, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { PORT_ERRORS, portWithFaults } from '../support/faulty-ports.ts';
import { whole } from '../support/slice.ts';
import { Stores } from '../world/stores.ts';

/** After these deliveries, the queue moves a message to its dead-letter queue. */
const MAX_DELIVERIES = 5;
/** Longer than a lease. */
const VISIBILITY_MS = 180_000;
const RACES = [{ rivalAt: undefined }, ...beforeEachCall(4, [{}])];

type Delivered = EventOf<LedgerEventName>;

/** `violations` is called after each delivery. */
interface Harness {
  readonly world: ConsumerWorld;
  readonly take: (actor: Actor, event: Delivered) => Promise<{ readonly kind: string }>;
  readonly violations: (acknowledged: ReadonlySet<Delivered>) => readonly string[];
}

async function runHistory(
  harness: Harness,
  events: readonly Delivered[],
  faults: readonly PlannedFault[],
  rivalAt?: number,
): Promise<HistoryRun> {
  const plan = new FaultPlan(faults);
  const acknowledged = new Set<Delivered>();
  const violations: string[] = [];
  const deliver = async (name: string, event: Delivered): Promise<void> => {
    const actor = new Actor(name, plan);
    try {
      const { kind } = await harness.take(actor, event);
      if (!actor.crashed && kind !== 'busy') acknowledged.add(event);
    } catch {
      // The message is not acknowledged.
    }
    if (!acknowledged.has(event)) harness.world.clock.advance(VISIBILITY_MS);
    violations.push(...harness.violations(acknowledged));
  };
  const deliverAll = async (name: string, wanted: readonly Delivered[]): Promise<void> => {
    for (const event of wanted) await deliver(name, event);
  };
  plan.holdAt(rivalAt, () => deliverAll('rival', events));
  await deliverAll('first', events);
  await deliverAll('redelivery', events);
  const calls = plan.calm();
  for (let delivery = 3; delivery <= MAX_DELIVERIES; delivery += 1) {
    const open = events.filter((event) => !acknowledged.has(event));
    await deliverAll(`delivery ${delivery}`, open);
  }
  await deliverAll('after all', events);
  if (acknowledged.size < events.length) violations.push('an event is never processed');
  return { calls, violations };
}

type Extent = Pick<SurveyOptions, 'faults' | 'oneOf' | 'until'>;

function survey(make: () => Harness, events: readonly Delivered[], extent: Extent) {
  const story: Story<{ readonly rivalAt: number | undefined }> = (planned, { rivalAt }) =>
    runHistory(make(), events, planned, rivalAt);
  return surveyFaults(story, { ...extent, races: RACES });
}

const RECEIPT = eventsOfPaid('receipt-history', { receipt_email: 'ada@example.com' });

function mailerOf(actor: Actor, mailer: Mailer): Mailer {
  return { send: (email, limit) => actor.call('mailer', PORT_ERRORS, () => mailer.send(email, limit)) };
}

/** @param key maps the consumer's idempotency key to the key that the mailer receives */
function receiptHarness(key: (operationId: string) => string = (own) => own): Harness {
  const world = new ConsumerWorld();
  const mailer = new MemoryMailer();
  const rekeyed: Mailer = {
    send: (email) => mailer.send({ ...email, operationId: key(email.operationId) as typeof email.operationId }),
  };
  const unsent: string[] = [];
  return {
    world,
    take: (actor, event) =>
      sendReceipt(
        {
          ...world.consumeTools(actor),
          mailer: mailerOf(actor, rekeyed),
          payments: ledgerOf(chainOfPaid('receipt-history', { receipt_email: 'ada@example.com' })),
          unsent: (_payment, why) => void unsent.push(why),
        },
        event as PaymentEventOf,
      ),
    violations: (acknowledged) => [
      ...(mailer.outbox.length > 1 ? [`I5: ${mailer.outbox.length} receipts`] : []),
      ...(acknowledged.size > 0 && mailer.outbox.length === 0 ? ['I5: acknowledged without a receipt'] : []),
      ...unsent,
    ],
  };
}

describe('the receipt consumer', () => {
  test('sends one receipt despite a concurrent delivery and a single fault at any call', async () => {
    const { histories, findings } = await survey(() => receiptHarness(), RECEIPT, { faults: 1, oneOf: 3 });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(60, { slice: 20 }));
  });

  test('sends one receipt despite a pair of faults at any two calls', async () => {
    const { histories, findings } = await survey(() => receiptHarness(), RECEIPT, { faults: 2, oneOf: [1, 7, 4] });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(500, { slice: 40 }));
  });

  test('sends two receipts if it uses a new key for each call', async () => {
    let asked = 0;
    const make = () =>
      receiptHarness(() => {
        asked += 1;
        return `key-${asked}`;
      });
    const until = 'I5: 2 receipts';
    const { findings } = await survey(make, RECEIPT, { faults: 1, until });
    expect(findings.flatMap(({ violations }) => violations)).toContain(until);
  });
});

const METADATA = { affiliate: 'aff_7', order: 'o1' };
const PAID_AND_BACK = eventsOfPaid('commission-history', METADATA, [refunded('re_1', 1000)]);

function eventsOfCanceledOrder(): readonly Delivered[] {
  const request = orderRequest('commission-history', { affiliate: 'aff_7' });
  const { orderId: id, tenantId, mode, amountMinor, currency, items, email, requestId, source } = request;
  const paymentId = paymentIdFor('commission-history');
  const createdAtMs = 1_772_366_400_000;
  const placed = createOrderDraft({ id, tenantId, mode, amountMinor, currency, paymentId, createdAtMs }, undefined);
  const details = { requestId, source, items, email, affiliate: 'aff_7', commitment: new Uint8Array() };
  const first = firstOrderTransition(systemDigest, placed, details, requestedAt(createdAtMs));
  const canceled = { type: 'order.canceled', order: { ...placed.order, status: 'canceled' } } as const;
  const ofOrder = [first, ...nextOrderTransitions(systemDigest, first, [canceled], requestedAt(createdAtMs + 60_000))];
  const [begins, ends] = ofOrder.map((transition) => {
    const detail = orderEventOf(systemDigest, transition, details);
    const read = readEvent(nameOfEvent(detail.event), JSON.parse(JSON.stringify(detail)));
    invariant(read.kind === 'event', 'the event cannot be read');
    return read.event;
  });
  invariant(begins !== undefined && ends !== undefined, 'the order was not placed and canceled');
  const metadata = { affiliate: 'aff_7', order: id };
  return [begins, ...eventsOfPaid('commission-history', metadata, [refunded('re_1', 1000)]), ends];
}

const OF_ORDER = eventsOfCanceledOrder();

type Keep = (world: ConsumerWorld, actor: Actor, event: Delivered) => Promise<{ readonly kind: string }>;

const keep: Keep = (world, actor, event) => keepCommission(world.consumeTools(actor), event);

/** Deliberately faulty: each event overwrites the commission, in the order of delivery. */
const naiveKeep: Keep = async (world, actor, delivered) => {
  const event = delivered as PaymentEventOf;
  const commission = commissionAfter(event, event.payment);
  invariant(commission !== undefined, 'the commission does not exist');
  const { records, digest, entropy } = world.consumeTools(actor);
  const { tenant: tenantId, mode } = event;
  const operationId = businessOperation(digest, 'naive', { tenantId, mode, businessKey: event.event.id });
  const writes = commissionWrites(commission).map(({ when: _when, ...write }) => write);
  await records.recordOnce({ operationId, owner: entropy.ownerToken(), recordedAtMs: 0 }, writes);
  return { kind: 'done' };
};

function commissionHarness(how: Keep): Harness {
  const memory = new Stores();
  const world = new ConsumerWorld({
    recordsFor: (actor) => portWithFaults(actor, memory.consumed, ...RECORD_CALLS),
    rowsOf: async () => 0,
  });
  return {
    world,
    take: (actor, event) => how(world, actor, event),
    violations: (acknowledged) => {
      const status = memory.allRows().find((row) => 'amountMinor' in row)?.['status'];
      const isBack = [...acknowledged].some(({ event }) => event.type === 'refund.completed');
      if (isBack && status !== 'canceled') return [`given back, and ${JSON.stringify(status)}`];
      return acknowledged.size > 0 && status === undefined ? ['acknowledged without a commission'] : [];
    },
  };
}

const OF_PAYMENT: readonly (readonly [string, readonly Delivered[]])[] = [
  ['in order', PAID_AND_BACK],
  ['in reverse', PAID_AND_BACK.toReversed()],
];
const WITH_ORDER: typeof OF_PAYMENT = [
  ['among the events of its canceled order', OF_ORDER],
  ['among the events of its canceled order, in reverse', OF_ORDER.toReversed()],
];

describe('a commission of a refunded payment', () => {
  test.each([...OF_PAYMENT, ...WITH_ORDER])(
    'is canceled despite a concurrent delivery and a single fault at any call, if its events arrive %s',
    async (_order, events) => {
      const { histories, findings } = await survey(() => commissionHarness(keep), events, { faults: 1, oneOf: 13 });
      expect(findings.slice(0, 3)).toEqual([]);
      expect(histories).toBeGreaterThan(whole(60, { slice: 12 }));
    },
  );

  test.each([...OF_PAYMENT, ...WITH_ORDER])(
    'is canceled despite a pair of faults at any two calls, if its events arrive %s',
    async (_order, events) => {
      const { histories, findings } = await survey(() => commissionHarness(keep), events, {
        faults: 2,
        oneOf: [1, 11, 37],
      });
      expect(findings.slice(0, 3)).toEqual([]);
      expect(histories).toBeGreaterThan(whole(500, { slice: 20 }));
    },
  );
});

test('a consumer that overwrites the commission with every event leaves it locked after a refund', async () => {
  const until = 'given back, and "locked"';
  const { findings } = await survey(() => commissionHarness(naiveKeep), PAID_AND_BACK.toReversed(), {
    faults: 1,
    until,
  });
  expect(findings.flatMap(({ violations }) => violations)).toContain(until);
});
