import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Instruments } from '../../kernel/platform/instruments.ts';
import { BACKLOG_SERVICE, BacklogMetric } from '../contract.ts';

const AGES: readonly string[] = [BacklogMetric.oldestClaim, BacklogMetric.oldestUnknown];

/** Zeros are published too, so missing data means that no run has read the queues. */
export function backlogTelemetry(instruments: Instruments): (backlog: Readonly<Record<string, number>>) => void {
  const metrics = instruments.metrics(BACKLOG_SERVICE);
  return (backlog) => {
    for (const [name, value] of Object.entries(backlog)) {
      metrics.addMetric(name, AGES.includes(name) ? MetricUnit.Milliseconds : MetricUnit.Count, value);
    }
    metrics.publishStoredMetrics();
  };
}
