import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { codeOf } from '../kernel/faults.ts';
import type { Instruments } from '../kernel/platform/instruments.ts';
import { REPLAY_CACHE_SERVICE, ReplayCacheMetric } from './contract.ts';
import type { ReplayCacheObserver } from './store/replay-cache.ts';

/** Creates the publisher of the cache's metrics. */
export function replayTelemetry(instruments: Instruments): ReplayCacheObserver {
  const logger = instruments.logger(REPLAY_CACHE_SERVICE);
  const metrics = instruments.metrics(REPLAY_CACHE_SERVICE);
  const count = (name: string): void => {
    metrics.addMetric(name, MetricUnit.Count, 1);
    metrics.publishStoredMetrics();
  };
  return {
    hit: () => count(ReplayCacheMetric.hits),
    missed: () => count(ReplayCacheMetric.missed),
    notStored: (error) => {
      logger.warn('replay_not_cached', { error: codeOf(error) });
      count(ReplayCacheMetric.notStored);
    },
  };
}
