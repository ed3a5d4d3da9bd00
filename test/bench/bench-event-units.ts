import type { PayonceEvent } from '../../lambdas/events/domain/event.ts';
import { orderEventOf } from '../../lambdas/events/domain/event.ts';
import type { OrderId } from '../../lambdas/kernel/ids.ts';
import { systemClock, systemDigest, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import { sealOf } from '../../lambdas/kernel/sealed-details.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { createOrderDraft, type OrderDraft, type OrderOutcomeType } from '../../lambdas/orders/domain/order.ts';
import { firstOrderTransition, nextOrderTransitions } from '../../lambdas/orders/domain/order-transition.ts';
import { paymentOfOrder } from '../../lambdas/orders/ids.ts';
import type { DisputeFact, Fact } from '../../lambdas/payments/domain/facts.ts';
import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { requestedAt } from '../support/causes.ts';
import { chainFor } from '../views/view-histories.ts';
import { MemoryDynamoDb } from '../world/memory-dynamodb.ts';
import { TABLE_SHAPES, TABLES } from '../world/tables.ts';
import { PartitionMeter } from './bench-partition-meter.ts';
import { typicalPayment } from './bench-typical-payment.ts';

/** Cost of a history's last event in the Views, in write units including indexes. */
export interface EventUnits {
  /** Also names the outcome of a dispute. */
  readonly event: string;
  readonly units: number;
  readonly limit: number;
}

const MAX_OF_ORDER = 6;
const MAX_OF_DISPUTE = 9;
/** An event that begins or ends a review also writes the list of reviews. */
const MAX_OF_REVIEW = 9;
const OF_REVIEW: ReadonlySet<string> = new Set(['order.review_required', 'order.reopened']);

/** Counts the write units of the last event of each history. */
export async function eventUnits(): Promise<readonly EventUnits[]> {
  const histories = [...ORDERS.map(orderHistory), ...DISPUTES.map(disputeHistory)];
  return Promise.all(histories.map(counted));
}

async function counted(events: readonly PayonceEvent[]): Promise<EventUnits> {
  const last = events.at(-1);
  if (last === undefined) throw new Error('the history has no event');
  const database = new MemoryDynamoDb({ tables: TABLE_SHAPES, nowMs: () => systemClock.nowMs() });
  const meter = new PartitionMeter(TABLE_SHAPES);
  const client = database.clientWith((command, apply) => {
    meter.transaction = command === 'TransactWriteCommand';
    return apply();
  });
  database.listen((changes) => meter.note(changes));
  const views = new DynamoDbViews(client, TABLES.views, { clock: systemClock, entropy: systemEntropy });
  for (const event of events) {
    meter.units.clear();
    await projectEvent({ runner: idempotentRunner, views }, event);
  }
  const { type, data } = last.event;
  const limitOfOrder = OF_REVIEW.has(type) ? MAX_OF_REVIEW : MAX_OF_ORDER;
  const how = type === 'dispute.closed' ? ` (${String(data.object['status'])})` : '';
  return {
    event: `${type}${how}`,
    units: meter.of(TABLES.views),
    limit: 'order' in last ? limitOfOrder : MAX_OF_DISPUTE,
  };
}

const ORDERS: readonly (readonly OrderOutcomeType[])[] = [
  ['order.placed'],
  ['order.placed', 'order.completed'],
  ['order.placed', 'order.canceled'],
  ['order.placed', 'order.review_required'],
  ['order.placed', 'order.review_required', 'order.reopened'],
];
const STATUS_AFTER = {
  'order.placed': 'processing',
  'order.reopened': 'processing',
  'order.completed': 'completed',
  'order.canceled': 'canceled',
  'order.review_required': 'needs_review',
} as const satisfies Record<OrderOutcomeType, string>;

function orderHistory([, ...later]: readonly OrderOutcomeType[]): readonly PayonceEvent[] {
  const { tenantId, mode, currency, amountMinor, fingerprint, requestId, source } = typicalPayment('order');
  const id = `ord_${'abcdefgh'.repeat(4)}` as OrderId;
  const createdAtMs = Date.UTC(2026, 2, 1);
  const order = { id, tenantId, mode, amountMinor, currency, createdAtMs, paymentId: paymentOfOrder(systemDigest, id) };
  const placed = createOrderDraft(order, undefined);
  const contacts = { email: 'ada@example.com' };
  const items = [{ sku: 'sku_tea', quantity: 2 }];
  const seal = sealOf(systemDigest, contacts, new Uint8Array(16));
  const details = { requestId, fingerprint, source, items, ...contacts, ...seal };
  const first = firstOrderTransition(systemDigest, placed, details, requestedAt(createdAtMs));
  const drafts = later.map((type): OrderDraft => ({ type, order: { ...placed.order, status: STATUS_AFTER[type] } }));
  const rest = nextOrderTransitions(systemDigest, first, drafts, requestedAt(createdAtMs));
  return [first, ...rest].map((transition) => orderEventOf(systemDigest, transition, details));
}

const DISPUTE: DisputeFact = {
  kind: 'dispute',
  createdAtMs: Date.UTC(2026, 2, 1),
  disputeId: 'dp_1',
  chargeId: 'ch_1',
  amountMinor: 12_500,
  status: 'open',
};
const DISPUTES: readonly (readonly Fact[])[] = [
  [DISPUTE],
  [DISPUTE, { ...DISPUTE, status: 'won' }],
  [DISPUTE, { ...DISPUTE, status: 'lost' }],
];

function disputeHistory(facts: readonly Fact[]): readonly PayonceEvent[] {
  const chain = chainFor({
    key: 'disputed',
    tenant: 'ten_units',
    mode: 'test',
    reference: 'order-1',
    amountMinor: 12_500,
    currency: 'EUR',
    hours: [0, 1, 2, 3],
    steps: [{ kind: 'succeeded', chargeId: 'ch_1', feeMinor: 5 }, ...facts],
  });
  return eventsOf(systemDigest, chain);
}
