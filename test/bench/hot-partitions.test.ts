import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { inTurn } from '../support/slice.ts';
import { capacityTable, paidCapacity } from './bench-capacity.ts';
import { eventUnits } from './bench-event-units.ts';

const PAYMENTS = 1_000;
/**
 * Half of a partition's maximum write units per second (Amazon DynamoDB developer guide, "Burst and adaptive
 * capacity").
 */
const MAX_UNITS = 500;
const PAGE = resolve(import.meta.dirname, '..', '..', 'docs', 'proof', 'benchmarks.md');

inTurn(test, { place: 4, of: 8, otherwise: test.skip })(
  '1,000 payments of one tenant, each with a reference and a webhook, write at most 500 units to any partition',
  async () => {
    const many = await paidCapacity(PAYMENTS);
    expect(many.busiest().filter(([, units]) => units > MAX_UNITS)).toEqual([]);
    expect(readFileSync(PAGE, 'utf8')).toContain(capacityTable(await paidCapacity(1), many, await eventUnits()));
  },
);

test('a payment with a reference costs 13 write units, plus at most 9 in the views for its event and at most 8 for its delivery', async () => {
  const meter = await paidCapacity(1);
  expect(meter.of('Idempotency') + meter.of('Ledger') + meter.of('Registry', 'REF#')).toBe(13);
  expect(meter.of('Views')).toBeLessThanOrEqual(9);
  expect(meter.of('Registry') - meter.of('Registry', 'REF#')).toBeLessThanOrEqual(8);
});

test('in the views, an order event costs at most 6 write units (9 if it begins or ends a review), and a dispute event at most 9', async () => {
  const counted = await eventUnits();
  expect(counted.map(({ event }) => event).filter((event) => event.startsWith('order.'))).toHaveLength(5);
  expect(counted.map(({ event }) => event).filter((event) => event.startsWith('dispute.'))).toHaveLength(3);
  expect(counted.filter(({ units, limit }) => units > limit || units < 5)).toEqual([]);
});
