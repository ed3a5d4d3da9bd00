import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { accessTo } from '../local/emulator-environment.ts';
import type { LocalAws } from '../local/local-aws.ts';
import { capacityTable, paidCapacity } from '../test/bench/bench-capacity.ts';
import { deployedSettings, eventRateTable } from '../test/bench/bench-event-rate.ts';
import { eventUnits } from '../test/bench/bench-event-units.ts';
import { reconcileTable } from '../test/bench/bench-reconcile.ts';
import { refundCost } from '../test/bench/bench-refund.ts';
import { mostListCalls } from '../test/http/listed-pages.ts';
import { cloneTables } from '../test/support/cloned-tables.ts';
import { measureAuthority } from './authority.ts';
import { measureEvents } from './events.ts';
import { needsTable, quotaTable } from './needs.ts';
import { measureByHand, measureEngine } from './paths.ts';
import { profilePayments } from './profile.ts';
import { report } from './report.ts';
import { type Result, resultsOf } from './results.ts';
import { measureSpeed, type Size } from './speed.ts';
import { measureStart, measureWarm } from './start.ts';
import { measureWeight } from './weight.ts';

interface MeasureOptions {
  readonly size: Size;
  readonly progress: (text: string) => void;
}

/**
 * Runs the benchmarks on a running local AWS, on tables without Streams, so that no relay or job runs at the same time.
 *
 * @returns the contents of docs/proof/benchmarks.md, and the results that have a goal
 */
export async function measure(
  aws: LocalAws,
  { size, progress }: MeasureOptions,
): Promise<{ readonly page: string; readonly results: readonly Result[] }> {
  const config = accessTo(aws);
  const client = new DynamoDBClient(config);
  const tables = await cloneTables(client, aws.tables, (table) => `bench-${table}-${process.pid}`);
  client.destroy();
  progress('calls and capacity of every path');
  const engine = await measureEngine(config, tables);
  const byHand = await measureByHand(config, tables);
  const speed = await measureSpeed(config, tables, { size, emulator: aws.keeperPid, progress });
  progress(`refund number ${size.refunds} of a payment`);
  const refund = await refundCost(size.refunds);
  progress(`lists of ${size.listRows} rows with every filter`);
  const listCalls = await mostListCalls(size.listRows);
  progress('PostgreSQL as the authority');
  const authority = await measureAuthority(config, tables, { size, emulator: aws.keeperPid });
  progress('bundle sizes');
  const weight = measureWeight();
  progress(`the start, ${size.starts} processes each`);
  const start = await measureStart(size.starts);
  progress('payments of warm processes');
  const warm = await measureWarm({ rounds: size.warmRounds, payments: size.warmPayments });
  progress('CPU time of events');
  const settings = deployedSettings();
  const events = await measureEvents(settings, { rounds: size.eventRounds, events: size.events });
  const eventCpu = events.cpu;
  progress('profiles of the payments function');
  const profiles = {
    import: await profilePayments({ rounds: size.starts, payments: 0 }),
    payments: await profilePayments({ rounds: 1, payments: size.warmPayments }),
    projector: events.projector,
  };
  const units = await paidCapacity(1);
  const needs = { payment: warm.payment, events: eventCpu, settings, units };
  const capacity = capacityTable(units, await paidCapacity(1_000), await eventUnits());
  const measured = { ...speed, authority, refund, listCalls, weight, start, warm, profiles, eventCpu };
  const results = resultsOf(measured);
  const page = report(
    {
      ...measured,
      engine,
      capacity,
      reconciling: await reconcileTable(),
      events: await eventRateTable(settings, eventCpu),
      needs: needsTable(needs),
      quotas: quotaTable(needs),
      byHand,
    },
    results,
  );
  return { page, results };
}
