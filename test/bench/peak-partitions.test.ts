/** Tests the guarantee "constant calls". */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute, LedgerTable, RegistryTable } from '../../lambdas/kernel/contract/tables.ts';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { createdSortKey } from '../../lambdas/kernel/places.ts';
import { shardOf } from '../../lambdas/kernel/platform/items.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { openRecordItem } from '../../lambdas/once/store/record-items.ts';
import { outcomeAttributes } from '../../lambdas/payments/store/items.ts';
import { HOLDS } from '../../lambdas/payments/store/queue-items.ts';
import {
  bookPartition,
  entrySortKey,
  eventPartition,
  eventSortKey,
  paymentPartition,
} from '../../lambdas/views/domain/lists.ts';
import { storedPartition } from '../../lambdas/views/store/list-parts.ts';
import { newDelivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { deliveryRow } from '../../lambdas/webhooks/store/webhook-items.ts';
import { webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { openRecord, paymentIdFor } from '../payments/payment-fixtures.ts';
import { PEAK, setPeakRates } from '../support/peak-rates.ts';
import { inTurn } from '../support/slice.ts';
import { endpointNamed, eventNamed, OWNER } from '../webhooks/webhook-fixtures.ts';
import { paidCapacity } from './bench-capacity.ts';
import { PartitionMeter } from './bench-partition-meter.ts';

/** Half of a partition's maximum write units per second, as in test/bench/hot-partitions.test.ts. */
const MAX_UNITS = 500;
/**
 * The sample is large enough to show a new list whose partitions exceed `MAX_UNITS` because payments share them: at
 * 20,000 payments a second with 13 units each, about ten pairs of the sample would share a partition.
 */
const SAMPLE = 100;
const NOW = Date.UTC(2026, 2, 1, 12);

interface Shared {
  /** Matches keys of `PartitionMeter.units`. */
  readonly names: RegExp;
  /** Payments per second. */
  readonly rate: number;
  /** The stores place a payment in this partition. */
  readonly partitionOf: (id: PaymentId) => unknown;
}

const ofAll = (names: RegExp, partitionOf: Shared['partitionOf']): Shared => ({
  names,
  partitionOf,
  rate: PEAK.payments,
});
const ofTenant = (names: RegExp, partitionOf: Shared['partitionOf']): Shared => ({
  names,
  partitionOf,
  rate: PEAK.tenantPayments,
});
const endpoint = endpointNamed('peak');
const message = webhookMessage(eventNamed('peak', NOW));
const delivery = (id: PaymentId) => {
  const ofPayment = { ...message, eventId: `evt_${id.slice(4)}` };
  return deliveryRow(newDelivery(systemDigest, OWNER, endpoint, ofPayment, NOW));
};

const SHARED: readonly Shared[] = [
  ofAll(
    /^Idempotency\/open-claims \d+$/,
    (id) => openRecordItem(openRecord(id, { claimedAtMs: NOW }))[IdempotencyTable.openClaimsIndex.partitionKey],
  ),
  ofAll(
    /^Ledger\/recent-outcomes \d+#/,
    (id) => outcomeAttributes(id, { sequence: 2, occurredAtMs: NOW })[LedgerTable.recentOutcomesIndex.partitionKey],
  ),
  ofAll(/^Registry HOLD#/, (paymentId) => HOLDS.keyOf({ paymentId, authorizedAtMs: NOW })[KeyAttribute.partition]),
  ofAll(/^Registry\/webhook-due \d+$/, (id) => delivery(id)[RegistryTable.dueIndex.partitionKey]),
  ofTenant(/^Registry WEBHOOK_DELIVERY#/, (id) => delivery(id)[KeyAttribute.partition]),
  ofTenant(/^Views(?:\/lists)? PAYMENT#/, (id) =>
    storedPartition({ partition: paymentPartition(OWNER, id), sort: createdSortKey(NOW / 1_000, id) }),
  ),
  ofTenant(/^Views(?:\/lists)? EVENT#/, (id) =>
    storedPartition({
      partition: eventPartition(OWNER, id),
      sort: eventSortKey({ occurredAtMs: NOW, id: `evt_${id.slice(4)}` }),
    }),
  ),
  ofTenant(/^Views BOOK#/, (paymentId) =>
    storedPartition({
      partition: bookPartition(OWNER, 'all', paymentId),
      sort: entrySortKey({ occurredAtMs: NOW, paymentId, sequence: 2 }),
    }),
  ),
];

const sometimes = inTurn(test, { place: 3, of: 4, otherwise: test.skip });

let ids: readonly PaymentId[];
beforeAll(() => {
  setPeakRates({ from: '2026-01-01', ...PEAK });
  ids = Array.from({ length: PEAK.payments }, (_, index) => paymentIdFor(`peak-${index}`));
});
afterAll(() => setPeakRates());

const listOf = (place: string): string => place.replace(/(?:\d+(?:\.\d+)?|\d+#[\d-]+)$/, '');

/** In payments per second and partition. */
function loadsOf({ rate, partitionOf }: Shared): readonly number[] {
  const counts = new Map<unknown, number>();
  for (const id of ids.slice(0, rate)) {
    const partition = partitionOf(id);
    counts.set(partition, (counts.get(partition) ?? 0) + 1);
  }
  return [...counts.values()];
}

/**
 * Payments that write to the same partition are a pair.
 * @param loads number of payments in each partition
 */
function pairsOf(loads: readonly number[]): number {
  return loads.reduce((sum, load) => sum + (load * (load - 1)) / 2, 0);
}

interface Counted {
  readonly shared: Shared | undefined;
  units: number;
  readonly writers: number[];
}

/**
 * A list breaks a rule if its busiest partition gets too many units a second, the stores spread the payments less
 * evenly than `partitionOf` does, or several payments write to a partition that is in no shared list.
 */
function tooBusy(meter: PartitionMeter): readonly unknown[] {
  const lists = new Map<string, Counted>();
  for (const [place, units] of meter.units) {
    const list = lists.get(listOf(place)) ?? {
      shared: SHARED.find(({ names }) => names.test(place)),
      units: 0,
      writers: [],
    };
    list.units += units;
    list.writers.push(meter.writers.get(place)?.size ?? 0);
    lists.set(listOf(place), list);
  }
  return [...lists].flatMap(([name, { shared, units, writers }]) => {
    const pairs = pairsOf(writers);
    if (shared === undefined) return pairs > 0 ? [[name, 'pairs', pairs]] : [];
    const loads = loadsOf(shared);
    const ofPartition = (units / SAMPLE) * Math.max(...loads);
    const expected = (pairsOf(loads) / pairsOf([shared.rate])) * pairsOf([SAMPLE]);
    return [
      ...(ofPartition <= MAX_UNITS ? [] : [[name, 'units', ofPartition]]),
      ...(pairs <= expected + 4 * Math.sqrt(expected) ? [] : [[name, 'pairs', pairs, expected]]),
    ];
  });
}

/** One meter has payments with automatic capture, and the other has payments with manual capture. */
let meters: readonly PartitionMeter[];
const metered = async (): Promise<typeof meters> => {
  meters ??= [await paidCapacity(SAMPLE), await paidCapacity(SAMPLE, { capture: 'manual' })];
  return meters;
};

sometimes(
  '20,000 payments a second, 5,000 of them of one tenant, write at most 500 units a second to any partition',
  async () => {
    const places = (await metered()).flatMap(({ units }) => [...units.keys()]);
    expect((await metered()).flatMap(tooBusy)).toEqual([]);
    expect(SHARED.filter(({ names }) => !places.some((place) => names.test(place)))).toEqual([]);
  },
);

/** Works as if the stores wrote to the partition `to(place)` instead of `place`. */
function moved(meter: PartitionMeter, to: (place: string) => string): PartitionMeter {
  const other = new PartitionMeter([]);
  for (const [place, units] of meter.units) {
    other.units.set(to(place), (other.units.get(to(place)) ?? 0) + units);
    const writers = [...(other.writers.get(to(place)) ?? []), ...(meter.writers.get(place) ?? [])];
    other.writers.set(to(place), new Set(writers));
  }
  return other;
}

sometimes.each<[string, RegExp, (found: string) => string]>([
  [
    'half of the partitions of open claims',
    /(?<=^Idempotency\/open-claims )\d+$/,
    (shard) => String(Number(shard) % 50),
  ],
  ['partitions of events without parts', /(?<=^Views EVENT#.*)\.\d+$/, () => ''],
  ['a partition for each day of deliveries', /(?<=^Registry WEBHOOK_DELIVERY#.*)\d+$/, () => '0'],
  ['500 partitions of references', /(?<=^Registry )REF#.*$/, (name) => `REFS#${shardOf(paymentIdFor(name), 500)}`],
  ['a partition for each minute of records', /(?<=^Idempotency )OP#.*$/, () => 'MINUTE#1'],
])('if the stores wrote to %s, too many units or payments would share a partition', async (_fault, name, to) => {
  const [first] = await metered();
  const places = [...(first?.units.keys() ?? [])];
  expect(places.some((place) => name.test(place))).toBe(true);
  expect(first && tooBusy(moved(first, (place) => place.replace(name, to)))).not.toEqual([]);
});

sometimes(
  'a payment reads no row that other payments read, except the list of webhook endpoints, which it reads twice',
  async () => {
    const [first] = await metered();
    const shared = [...(first?.reads ?? [])].filter(([, count]) => count >= SAMPLE);
    expect(shared).toEqual([[expect.stringContaining(`Registry ${RegistryRow.webhookEndpoints}`), 2 * SAMPLE]]);
  },
);

sometimes('without the peakRates setting, the same rates exceed the limit', () => {
  setPeakRates();
  const over = SHARED.filter((shared) => Math.max(...loadsOf(shared)) > MAX_UNITS);
  setPeakRates({ from: '2026-01-01', ...PEAK });
  expect(over).toHaveLength(SHARED.length);
});
