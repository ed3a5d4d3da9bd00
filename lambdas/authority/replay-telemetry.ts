import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { codeOf } from '../kernel/faults.ts';
import type { Instruments } from '../kernel/platform/instruments.ts';
import { REPLAY_CACHE_SERVICE, ReplayCacheMetric } from './contract.ts';
import type { ReplayCacheObserver } from './store/replay-cache.ts';

/**
 * Hits and misses are published together, zeros included: CloudWatch cannot compute the ratio for a period in which one
 * of them has no data (Amazon CloudWatch user guide, "Using metric math").
 */
export function replayTelemetry(instruments: Instruments): ReplayCacheObserver {
  const logger = instruments.logger(REPLAY_CACHE_SERVICE);
  const metrics = instruments.metrics(REPLAY_CACHE_SERVICE);
  const publish = (counts: Readonly<Record<string, number>>): void => {
    for (const [name, count] of Object.entries(counts)) metrics.addMetric(name, MetricUnit.Count, count);
    metrics.publishStoredMetrics();
  };
  return {
    hit: () => publish({ [ReplayCacheMetric.hits]: 1, [ReplayCacheMetric.missed]: 0 }),
    missed: () => publish({ [ReplayCacheMetric.hits]: 0, [ReplayCacheMetric.missed]: 1 }),
    notStored: (error) => {
      logger.warn('replay_not_cached', { error: codeOf(error) });
      publish({ [ReplayCacheMetric.notStored]: 1 });
    },
  };
}
