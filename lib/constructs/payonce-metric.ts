import type { Duration } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { METRIC_NAMESPACE, OUTBOUND_SERVICE, VENDOR_DIMENSION } from '../../lambdas/kernel/contract/metrics.ts';

export interface PayonceMetricProps {
  /** The name under which the functions count it. */
  readonly service: string;
  readonly name: string;
  /** @default Sum */
  readonly statistic?: 'Sum' | 'Maximum';
  readonly period: Duration;
  /** Further dimensions besides the service. @default none */
  readonly of?: Readonly<Record<string, string>>;
}

/** A metric that the functions of Payonce count. */
export function payonceMetric({ service, name, statistic = 'Sum', period, of = {} }: PayonceMetricProps): Metric {
  return new Metric({
    namespace: METRIC_NAMESPACE,
    metricName: name,
    dimensionsMap: { service, ...of },
    statistic,
    period,
  });
}

/** A metric of the calls of all functions to one vendor or processor. */
export function vendorMetric(vendor: string, name: string, period: Duration): Metric {
  return payonceMetric({ service: OUTBOUND_SERVICE, name, period, of: { [VENDOR_DIMENSION]: vendor } });
}
