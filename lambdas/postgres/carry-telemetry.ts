import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { defined } from '../kernel/defined.ts';
import { codeOf } from '../kernel/faults.ts';
import type { Instruments } from '../kernel/platform/instruments.ts';
import type { CarryObserver } from './carry.ts';
import { CARRY_SERVICE, CarryMetric, COPIES_LATE_MS } from './contract.ts';

/**
 * Zeros are published too, so missing data means that no pass read the outbox.
 *
 * @param shard the name of the database in the log @default there is one database
 */
export function carryTelemetry(instruments: Instruments, shard?: string): CarryObserver {
  const logger = instruments.logger(CARRY_SERVICE);
  const metrics = instruments.metrics(CARRY_SERVICE);
  const named = defined({ shard });
  return {
    stopped: (chain, sequence) => logger.error('copy_stopped', { chain, sequence, ...named }),
    failed: (chain, error) => logger.warn('copy_failed', { chain, error: codeOf(error), ...named }),
    observed: ({ oldestMs, stopped }, nowMs) => {
      const ageMs = oldestMs === undefined ? 0 : Math.max(0, nowMs - oldestMs);
      if (ageMs > COPIES_LATE_MS) logger.error('copies_late', { ageMs, ...named });
      metrics.addMetric(CarryMetric.oldest, MetricUnit.Milliseconds, ageMs);
      metrics.addMetric(CarryMetric.stopped, MetricUnit.Count, stopped);
      metrics.publishStoredMetrics();
    },
  };
}
