/** Tests the guarantee "constant calls". */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute, LedgerTable, RegistryTable } from '../../lambdas/kernel/contract/tables.ts';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { createdSortKey } from '../../lambdas/kernel/places.ts';
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

/** Half of a partition's maximum write units per second, as in test/bench/hot-partitions.test.ts. */
const MAX_UNITS = 500;
/** Number of payments whose write units are counted. */
const SAMPLE = 30;
/** Write units that no partition of a single payment exceeds, but each shared partition does. */
const UNITS_OF_ONE_PAYMENT = 12;
const NOW = Date.UTC(2026, 2, 1, 12);

/** Partitions that many payments share. */
interface Shared {
  /** Matches the names of the partitions in `PartitionMeter.units`. */
  readonly names: RegExp;
  /** Payments per second. */
  readonly rate: number;
  /** Returns the partition of a payment, as the stores place it. */
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

/** Returns the name of the list, index or queue to which a partition belongs. */
const listOf = (place: string): string => place.replace(/(?:\d+(?:\.\d+)?|\d+#[\d-]+)$/, '');

/** Returns the largest number of payments per second that one partition receives. */
function busiestOf({ rate, partitionOf }: Shared): number {
  const counts = new Map<unknown, number>();
  for (const id of ids.slice(0, rate)) {
    const partition = partitionOf(id);
    counts.set(partition, (counts.get(partition) ?? 0) + 1);
  }
  return Math.max(...counts.values());
}

sometimes(
  '20,000 payments a second, 5,000 of them of one tenant, write at most 500 units a second to any partition',
  async () => {
    const meters = [await paidCapacity(SAMPLE), await paidCapacity(SAMPLE, { capture: 'manual' })];
    const busiest = SHARED.map(busiestOf);
    const tooMany: unknown[] = [];
    const met = new Set<Shared>();
    for (const meter of meters) {
      const units = new Map<string, number>();
      for (const [place, each] of meter.units) {
        const at = SHARED.findIndex(({ names }) => names.test(place));
        const shared = SHARED[at];
        if (shared === undefined) {
          if (each > UNITS_OF_ONE_PAYMENT) tooMany.push([place, each]);
          continue;
        }
        met.add(shared);
        units.set(listOf(place), (units.get(listOf(place)) ?? 0) + each);
        const ofPartition = ((units.get(listOf(place)) ?? 0) / SAMPLE) * (busiest[at] ?? Number.NaN);
        if (!(ofPartition <= MAX_UNITS)) tooMany.push([listOf(place), ofPartition]);
      }
    }
    expect(tooMany).toEqual([]);
    expect(SHARED.filter((shared) => !met.has(shared))).toEqual([]);
  },
);

sometimes('a payment reads no row that other payments read, except the list of webhook endpoints, twice', async () => {
  const { reads } = await paidCapacity(SAMPLE);
  const shared = [...reads].filter(([, count]) => count >= SAMPLE);
  expect(shared).toEqual([[expect.stringContaining(`Registry ${RegistryRow.webhookEndpoints}`), 2 * SAMPLE]]);
});

sometimes('without the peakRates setting, the same rates exceed this limit', () => {
  setPeakRates();
  const over = SHARED.filter((shared) => busiestOf(shared) > MAX_UNITS);
  setPeakRates({ from: '2026-01-01', ...PEAK });
  expect(over).toHaveLength(SHARED.length);
});
