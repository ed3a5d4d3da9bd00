import { accessTo } from '../local/emulator-environment.ts';
import type { LocalAws } from '../local/local-aws.ts';
import { capacityTable, paidCapacity } from '../test/bench/bench-capacity.ts';
import { deployedSettings, eventRateTable } from '../test/bench/bench-event-rate.ts';
import { eventUnits } from '../test/bench/bench-event-units.ts';
import { reconcileTable } from '../test/bench/bench-reconcile.ts';
import { measureByHand, measureEngine, measureOthers } from './paths.ts';
import { report } from './report.ts';
import { measureSpeed, type Size } from './speed.ts';
import { measureStart, measureWarm } from './start.ts';
import { measureWeight } from './weight.ts';

interface MeasureOptions {
  readonly size: Size;
  readonly progress: (text: string) => void;
}

/**
 * Runs all benchmarks on a running local AWS.
 * @returns the contents of docs/proof/benchmarks.md
 */
export async function measure(aws: LocalAws, { size, progress }: MeasureOptions): Promise<string> {
  const config = accessTo(aws);
  progress('calls and capacity of every path');
  const engine = await measureEngine(config, aws.tables);
  const byHand = await measureByHand(config, aws.tables);
  const others = await measureOthers(config, aws.tables);
  const speed = await measureSpeed(config, aws.tables, { size, progress });
  progress('bundle sizes');
  const kilobytes = measureWeight();
  progress(`the start, ${size.starts} processes each`);
  const start = await measureStart(size.starts);
  progress('payments of warm processes');
  const warm = await measureWarm({ rounds: size.warmRounds, payments: size.warmPayments });
  const capacity = capacityTable(await paidCapacity(1), await paidCapacity(1_000), await eventUnits());
  return report({
    engine,
    capacity,
    reconciling: await reconcileTable(),
    events: await eventRateTable(deployedSettings()),
    byHand,
    others,
    ...speed,
    kilobytes,
    start,
    warm,
  });
}
