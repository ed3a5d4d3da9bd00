import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import {
  METRIC_NAMESPACE,
  OUTBOUND_SERVICE,
  type OutboundMetric,
  VENDOR_DIMENSION,
} from '../kernel/contract/metrics.ts';

/** Counts calls per vendor. Each count is one line in CloudWatch's embedded metric format in the caller's log. */
export function outboundTelemetry(): { readonly count: (vendor: string, count: OutboundMetric) => void } {
  const metrics = new Metrics({ namespace: METRIC_NAMESPACE, serviceName: OUTBOUND_SERVICE });
  return {
    count: (vendor, count) => {
      const one = metrics.singleMetric();
      one.addDimension(VENDOR_DIMENSION, vendor);
      one.addMetric(count, MetricUnit.Count, 1);
    },
  };
}
