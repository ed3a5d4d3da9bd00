import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { OUTBOUND_SERVICE, type OutboundMetric, VENDOR_DIMENSION } from '../kernel/contract/metrics.ts';
import type { Instruments } from '../kernel/platform/instruments.ts';

/** Each count is one line in CloudWatch's embedded metric format in the caller's log. */
export function outboundTelemetry(instruments: Instruments): {
  readonly count: (vendor: string, count: OutboundMetric) => void;
} {
  const metrics = instruments.metrics(OUTBOUND_SERVICE);
  return {
    count: (vendor, count) => {
      const one = metrics.singleMetric();
      one.addDimension(VENDOR_DIMENSION, vendor);
      one.addMetric(count, MetricUnit.Count, 1);
    },
  };
}
