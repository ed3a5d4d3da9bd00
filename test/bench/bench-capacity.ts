import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { type CreatePayment, createPayment } from '../../lambdas/payments/use/create-payment.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { fanOut } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { MemoryDynamoDb } from '../world/memory-dynamodb.ts';
import { TABLE_SHAPES } from '../world/tables.ts';
import type { EventUnits } from './bench-event-units.ts';
import { PartitionMeter } from './bench-partition-meter.ts';
import { typicalPayment, typicalTools } from './bench-typical-payment.ts';

/** The meter counts all writes, and the reads by key. */
export async function paidCapacity(payments: number, more: Partial<CreatePayment> = {}): Promise<PartitionMeter> {
  const clock = new SimulatedClock();
  const database = new MemoryDynamoDb({ tables: TABLE_SHAPES, nowMs: () => clock.nowMs() });
  const meter = new PartitionMeter(TABLE_SHAPES);
  const client = database.clientWith((command, apply, sent) => {
    meter.transaction = command === 'TransactWriteCommand';
    meter.noteReads(sent);
    return apply();
  });
  database.listen((changes) => meter.note(changes));
  const pacing = { clock, entropy: countingEntropy() };
  const { tools, deliver } = await typicalTools(client, pacing);
  meter.clear();
  for (let index = 0; index < payments; index += 1) {
    meter.payment = index;
    const request = typicalPayment(`hot-${index}`, { reference: `order-${index}`, ...more });
    await createPayment(tools, request);
    const chain = await tools.store.listTransitions(request.paymentId, { afterSequence: 0, limit: 10 });
    for (const event of eventsOf(systemDigest, chain)) {
      await projectEvent(tools, event);
      await fanOut(tools, event);
    }
    await deliver();
  }
  return meter;
}

/** A place is a table or index, optionally followed by a partition prefix. */
const busiestOf = (meter: PartitionMeter, ...places: readonly string[]): number =>
  Math.max(
    ...meter.busiest().flatMap(([place, units]) => (places.some((each) => place.startsWith(each)) ? [units] : [])),
  );

/**
 * docs/proof/benchmarks.md contains the table.
 *
 * @param one meter of one payment
 * @param many meter of a thousand payments in one second
 */
export function capacityTable(one: PartitionMeter, many: PartitionMeter, events: readonly EventUnits[]): string {
  const references = one.of('Registry', 'REF#');
  const rows: readonly (readonly [string, number, number, string])[] = [
    ['a payment with a reference', one.of('Idempotency') + one.of('Ledger') + references, 13, 'units'],
    ['its event in the Views', one.of('Views'), 9, 'units'],
    ...events.map(({ event, units, limit }) => [`\`${event}\` in the Views`, units, limit, 'units'] as const),
    ['a delivery, at first success', one.of('Registry') - references, 8, 'units'],
    ['busiest partition of references', busiestOf(many, 'Registry REF#', 'Views REFERENCE#'), 500, 'units/s'],
    ['… of the deliveries of the endpoint', busiestOf(many, 'Registry WEBHOOK_DELIVERY#'), 500, 'units/s'],
    ['… of due webhooks', busiestOf(many, 'Registry/webhook-due'), 500, 'units/s'],
    ['… of a list of payments', busiestOf(many, 'Views PAYMENT#', 'Views/lists PAYMENT#'), 500, 'units/s'],
    [
      '… of lists of events and entries',
      busiestOf(many, 'Views EVENT#', 'Views/lists EVENT#', 'Views BOOK#'),
      500,
      'units/s',
    ],
    ['… of the indexes of open claims and recent outcomes', busiestOf(many, 'Idempotency/', 'Ledger/'), 500, 'units/s'],
  ];
  const lines = rows.map(([what, count, limit, unit]) => `| ${what} | ${count} ${unit} | ${limit} |`);
  return ['| what | counted | limit |', '|---|---|---|', ...lines].join('\n');
}
