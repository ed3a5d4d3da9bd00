import type { Duration } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { METRIC_NAMESPACE, OUTBOUND_SERVICE, VENDOR_DIMENSION } from '../../lambdas/kernel/contract/metrics.ts';

export interface PayonceMetricProps {
  /** Under which name the functions count it. */
  readonly service: string;
  readonly name: string;
  /** @default Sum */
  readonly statistic?: 'Sum' | 'Maximum';
  readonly period: Duration;
  /** What it is counted of, beside the service. @default nothing */
  readonly of?: Readonly<Record<string, string>>;
}

/** A metric as the functions of Payonce count it. */
export function payonceMetric({ service, name, statistic = 'Sum', period, of = {} }: PayonceMetricProps): Metric {
  return new Metric({
    namespace: METRIC_NAMESPACE,
    metricName: name,
    dimensionsMap: { service, ...of },
    statistic,
    period,
  });
}

/** A metric of the calls to one vendor or processor, whichever function made them. */
export function vendorMetric(vendor: string, name: string, period: Duration): Metric {
  return payonceMetric({ service: OUTBOUND_SERVICE, name, period, of: { [VENDOR_DIMENSION]: vendor } });
}
