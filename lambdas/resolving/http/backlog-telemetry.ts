import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { METRIC_NAMESPACE } from '../../kernel/contract/metrics.ts';
import { BACKLOG_SERVICE, BacklogMetric } from '../contract.ts';

const AGES: readonly string[] = [BacklogMetric.oldestClaim, BacklogMetric.oldestUnknown];

/** Publishes the backlog in the CloudWatch embedded metric format, also when it is zero, so that missing data means that no run read the queues. */
export function backlogTelemetry(): (backlog: Readonly<Record<string, number>>) => void {
  const metrics = new Metrics({ namespace: METRIC_NAMESPACE, serviceName: BACKLOG_SERVICE });
  return (backlog) => {
    for (const [name, value] of Object.entries(backlog)) {
      metrics.addMetric(name, AGES.includes(name) ? MetricUnit.Milliseconds : MetricUnit.Count, value);
    }
    metrics.publishStoredMetrics();
  };
}
